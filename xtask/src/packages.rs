//! System packages that the window and the tests need at run time.
//!
//! A need is recognised by the library or program itself, not by the package that ships it, so that any
//! distribution will do; the packages' names are Debian's.

use std::process::Command;

use anyhow::{Result, bail};

use crate::shell;

/// One thing that must be there, and the Debian packages that bring it.
pub(crate) struct Need {
    sign: Sign,
    packages: &'static [&'static str],
}

/// By what a need is known to be met.
enum Sign {
    /// The dynamic linker knows a library of this name.
    Library(&'static str),
    /// A program of this name can be started.
    Program(&'static str),
}

/// What `winit` and `glutin` load when a window opens under X11.
pub(crate) const WINDOW: &[Need] = &[
    library("libGL.so.1", &["libgl1", "libgl1-mesa-dri"]),
    library("libEGL.so.1", &["libegl1"]),
    library("libX11-xcb.so.1", &["libx11-xcb1"]),
    library("libXcursor.so.1", &["libxcursor1"]),
    library("libXi.so.6", &["libxi6"]),
    library("libXrandr.so.2", &["libxrandr2"]),
    library("libxkbcommon-x11.so.0", &["libxkbcommon-x11-0"]),
];

/// What the tests start besides: a display of their own, hands and eyes for it, a browser and what drives it, a
/// database server, an unpacker of test data, and a counter of instructions.
pub(crate) const TESTS: &[Need] = &[
    program("Xvfb", &["xvfb"]),
    program("xdotool", &["xdotool"]),
    program("import", &["imagemagick"]),
    program("display", &["imagemagick"]),
    program("chromium", &["chromium"]),
    program("node", &["nodejs"]),
    program("npm", &["npm"]),
    program("initdb", &["postgresql"]),
    ZSTD,
    program("valgrind", &["valgrind"]),
];

/// What packed traces are unpacked with.
pub(crate) const UNPACKER: &[Need] = &[ZSTD];

const ZSTD: Need = program("zstd", &["zstd"]);

/// What brings ADIOS2's library when the machine has no Python to install it with.
pub(crate) const PYTHON: &[&str] = &["python3", "python3-pip"];

/// Installs what is missing as root on Debian, and otherwise says what to install. Windows and macOS bring
/// what the window needs, and the tests that need a display of their own are Linux's.
///
/// # Errors
/// Something is missing and cannot be installed from here.
pub(crate) fn ensure(purpose: &str, needs: &[&[Need]]) -> Result<()> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let libraries = known_libraries();
    let missing = missing_packages(
        needs.iter().copied().flatten(),
        |name| libraries.as_ref().is_none_or(|list| lists(list, name)),
        |name| shell::find_program(name).is_some() || is_of_postgresql(name),
    );
    if missing.is_empty() {
        return Ok(());
    }
    install(purpose, &missing)
}

/// Installs Debian packages as root, and otherwise says which to install.
///
/// # Errors
/// Not root, not Debian, or `apt-get` fails.
pub(crate) fn install(purpose: &str, packages: &[&str]) -> Result<()> {
    if !is_root() || shell::find_program("apt-get").is_none() {
        bail!(
            "{purpose} needs system packages that are not installed; on Debian or Ubuntu, as root:\n  \
             apt-get install {}",
            packages.join(" ")
        );
    }
    shell::heading(&format!("installing {}", packages.join(" ")));
    if apt_get(
        &["install", "--quiet", "--yes", "--no-install-recommends"],
        packages,
    )
    .is_ok()
    {
        return Ok(());
    }
    // The package lists are missing (a fresh image) or name versions that are gone.
    apt_get(&["update", "--quiet"], &[])?;
    apt_get(
        &["install", "--quiet", "--yes", "--no-install-recommends"],
        packages,
    )
}

const fn library(name: &'static str, packages: &'static [&'static str]) -> Need {
    Need {
        sign: Sign::Library(name),
        packages,
    }
}

const fn program(name: &'static str, packages: &'static [&'static str]) -> Need {
    Need {
        sign: Sign::Program(name),
        packages,
    }
}

fn apt_get(args: &[&str], packages: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    shell::run(command.args(args).args(packages))
}

fn is_root() -> bool {
    shell::output(Command::new("id").arg("-u")).is_ok_and(|uid| uid.trim() == "0")
}

/// The dynamic linker's own list; none where there is no such list (musl), and then nothing is known to miss.
fn known_libraries() -> Option<String> {
    let ldconfig = shell::find_program("ldconfig")?;
    shell::output(Command::new(ldconfig).arg("-p")).ok()
}

/// Whether it is a program of PostgreSQL's server: Debian keeps those off the search path, by release.
fn is_of_postgresql(program: &str) -> bool {
    std::fs::read_dir("/usr/lib/postgresql").is_ok_and(|mut releases| {
        releases.any(|release| {
            release.is_ok_and(|release| release.path().join("bin").join(program).is_file())
        })
    })
}

/// Whether `ldconfig -p` lists a library of exactly this name.
fn lists(ldconfig: &str, library: &str) -> bool {
    ldconfig
        .lines()
        .any(|line| line.split_whitespace().next() == Some(library))
}

/// The packages of all unmet needs, each once, in the order of the needs.
fn missing_packages<'a>(
    needs: impl IntoIterator<Item = &'a Need>,
    has_library: impl Fn(&str) -> bool,
    has_program: impl Fn(&str) -> bool,
) -> Vec<&'static str> {
    let mut missing: Vec<&'static str> = Vec::new();
    for need in needs {
        let met = match need.sign {
            Sign::Library(name) => has_library(name),
            Sign::Program(name) => has_program(name),
        };
        if !met {
            missing.extend(
                need.packages
                    .iter()
                    .filter(|name| !missing.contains(name))
                    .copied()
                    .collect::<Vec<_>>(),
            );
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    const LDCONFIG: &str = "3 libs found in cache `/etc/ld.so.cache'\n\
        \tlibXi.so.6 (libc6,x86-64) => /lib/x86_64-linux-gnu/libXi.so.6\n\
        \tlibGL.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libGL.so.1\n\
        \tlibEGL_mesa.so.0 (libc6,x86-64) => /lib/x86_64-linux-gnu/libEGL_mesa.so.0\n";

    #[test]
    fn finds_libraries_by_their_whole_name() {
        assert!(lists(LDCONFIG, "libGL.so.1"));
        assert!(!lists(LDCONFIG, "libGL.so"));
        assert!(!lists(LDCONFIG, "libEGL.so.1"));
    }

    #[test]
    fn names_the_packages_of_what_is_missing_each_once() {
        let needs = WINDOW.iter().chain(TESTS);
        let missing = missing_packages(
            needs,
            |name| lists(LDCONFIG, name) || name.starts_with("libX") || name.starts_with("libxkb"),
            |name| name == "Xvfb",
        );
        assert_eq!(
            missing,
            [
                "libegl1",
                "xdotool",
                "imagemagick",
                "chromium",
                "nodejs",
                "npm",
                "postgresql",
                "zstd",
                "valgrind"
            ]
        );
    }

    #[test]
    fn nothing_is_missing_where_everything_is_there() {
        let needs = WINDOW.iter().chain(TESTS);
        assert!(missing_packages(needs, |_| true, |_| true).is_empty());
    }
}
