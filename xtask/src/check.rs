//! Checks of requirements: a library that the linker knows, or a program and its version.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A version, compared number by number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(Vec<u64>);

/// The availability of a requirement on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Availability {
    /// Present, and new enough.
    Good,
    /// Missing.
    Missing,
    /// Present in this version, which is too old.
    Old(Version),
    /// Present, but its version is unknown.
    Unknown,
}

impl Version {
    /// Returns the version in the first word of a text that starts with a number and a dot.
    pub(crate) fn in_text(text: &str) -> Option<Self> {
        let words = text.split(|c: char| c.is_whitespace() || c == '(');
        words.filter_map(Self::parse).find(|it| it.0.len() > 1)
    }

    /// Returns the numbers at the beginning of a word: `12.2.0-14+deb12u1` is 12.2.0.
    fn parse(word: &str) -> Option<Self> {
        let end = word.find(|c: char| !c.is_ascii_digit() && c != '.');
        let numbers = word[..end.unwrap_or(word.len())].trim_end_matches('.');
        let numbers: Option<Vec<u64>> = numbers.split('.').map(|it| it.parse().ok()).collect();
        numbers.map(Self)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

/// Checks the version that a program prints against the minimum.
pub(crate) fn program(name: &str, args: &[&str], minimum: &str) -> Availability {
    let Some(path) = find_program(name) else {
        return Availability::Missing;
    };
    let Some(text) = output(Command::new(path).args(args)) else {
        return Availability::Missing;
    };
    version(&text, minimum)
}

/// Checks the version in a text against the minimum.
pub(crate) fn version(text: &str, minimum: &str) -> Availability {
    match (Version::in_text(text), Version::parse(minimum)) {
        (Some(found), Some(minimum)) if found < minimum => Availability::Old(found),
        (Some(_), Some(_)) => Availability::Good,
        _ => Availability::Unknown,
    }
}

/// Returns the path of a program in `PATH` or in the system's own folders, which an ordinary user's `PATH` may lack;
/// for programs of PostgreSQL's server also in Debian's folder for each release, newest first.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut postgresql = releases("/usr/lib/postgresql");
    postgresql.reverse();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .chain(postgresql.into_iter().map(|folder| folder.join("bin")))
        .map(|folder| folder.join(name))
        .find(|file| Path::is_file(file))
}

/// Returns the folders in a folder, ordered by their number, newest first.
fn releases(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort_by_key(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.parse::<u64>().unwrap_or(0)
    });
    folders
}

/// Returns whether the dynamic linker knows a library. Without a list of libraries (musl) none counts as missing.
pub(crate) fn has_library(name: &str) -> bool {
    let list = find_program("ldconfig").and_then(|path| output(Command::new(path).arg("-p")));
    list.is_none_or(|list| lists(&list, name))
}

/// Returns whether `ldconfig -p` lists a library with exactly this name.
fn lists(ldconfig: &str, library: &str) -> bool {
    let mut names = ldconfig.lines().map(|line| line.split_whitespace().next());
    names.any(|name| name == Some(library))
}

/// Returns what a command prints on standard output; `None` if it cannot be started or fails.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_print() {
        for (text, version) in [
            (
                "Chromium 156.0.8078.108 built on Debian GNU/Linux 12 (bookworm)",
                "156.0.8078.108",
            ),
            (
                "initdb (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)",
                "15.18",
            ),
            ("cc (Debian 12.2.0-14+deb12u1) 12.2.0", "12.2.0"),
            ("Debian clang version 14.0.6", "14.0.6"),
            ("Python 3.11.2", "3.11.2"),
            ("pip 23.0.1 from a folder (python 3.11)", "23.0.1"),
        ] {
            let found = Version::in_text(text).map(|it| it.to_string());
            assert_eq!(found.as_deref(), Some(version), "{text}");
        }
        assert_eq!(Version::in_text("no version 7 here"), None);
    }

    #[test]
    fn versions_are_compared_number_by_number() {
        assert_eq!(version("Python 3.11.2", "3.9"), Availability::Good);
        assert_eq!(version("Python 3.9", "3.9"), Availability::Good);
        let old = Version(vec![3, 8, 10]);
        assert_eq!(version("Python 3.8.10", "3.9"), Availability::Old(old));
        assert_eq!(version("Python", "3.9"), Availability::Unknown);
    }

    #[test]
    fn programs_that_are_not_there_are_missing() {
        assert_eq!(
            program("no-such-program", &["--version"], "1.0"),
            Availability::Missing
        );
        assert_eq!(program("cargo", &["--version"], "1.0"), Availability::Good);
        assert!(matches!(
            program("cargo", &["--version"], "99.0"),
            Availability::Old(_)
        ));
    }

    #[test]
    fn libraries_are_found_by_their_whole_name() {
        let ldconfig = "3 libs found in cache `/etc/ld.so.cache'\n\
            \tlibXi.so.6 (libc6,x86-64) => /lib/x86_64-linux-gnu/libXi.so.6\n\
            \tlibGL.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libGL.so.1\n";
        assert!(lists(ldconfig, "libGL.so.1"));
        assert!(!lists(ldconfig, "libGL.so"));
        assert!(!lists(ldconfig, "libEGL.so.1"));
    }
}
