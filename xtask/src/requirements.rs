//! The requirements of the tasks, with minimum versions, and the remedy if one is missing or too old.
//!
//! A requirement is detected by the library or program itself, not by its package, so that any distribution works. The
//! names of packages are Debian's.

use std::path::Path;
use std::process::Command;

use crate::check::{self, Availability};
use crate::install;
use crate::tasks::{Needs, Task};

/// One requirement.
struct Requirement {
    /// Its display name.
    name: &'static str,
    check: Check,
    /// The Debian packages that provide it; empty if they do not help.
    packages: &'static [&'static str],
    /// The remedy if no package can be installed, or if its version is too old.
    remedy: &'static str,
}

/// The check of a requirement.
enum Check {
    /// The dynamic linker knows a library of this name.
    Library(&'static str),
    /// A program of this name exists, in any version.
    Program(&'static str),
    /// A program prints a version that is at least the last argument.
    Version(&'static str, &'static [&'static str], &'static str),
    /// Any other check.
    By(fn() -> Availability),
}

use Check::{By, Library, Program, Version};

/// For every task. Cargo has already checked Rust (`rust-version` in `Cargo.toml`).
const BUILD: &[Requirement] = &[Requirement {
    name: "a C compiler, GCC 8 or Clang 7 or newer (older ones are untested)",
    check: By(c_compiler),
    packages: &["gcc", "libc6-dev"],
    remedy: "install a newer one, and name it in CC",
}];

/// Libraries that `winit` and `glutin` load when a window opens under X11.
const WINDOW: &[Requirement] = &[
    library("libGL.so.1", &["libgl1", "libgl1-mesa-dri"]),
    library("libEGL.so.1", &["libegl1"]),
    library("libX11-xcb.so.1", &["libx11-xcb1"]),
    library("libXcursor.so.1", &["libxcursor1"]),
    library("libXi.so.6", &["libxi6"]),
    library("libXrandr.so.2", &["libxrandr2"]),
    library("libxkbcommon-x11.so.0", &["libxkbcommon-x11-0"]),
];

/// Requirements for installing ADIOS2 if the machine has none.
const ADIOS2: &[Requirement] = &[
    Requirement {
        name: "Python 3.9, the minimum of the package adios2",
        check: Version("python3", &["--version"], "3.9"),
        packages: &["python3"],
        remedy: "install a newer Python, or set CALLGROVE_ADIOS2 to the folder of an ADIOS2",
    },
    Requirement {
        name: "pip 20.3, the first that supports packages for glibc 2.28 (or Python's venv)",
        check: By(pip),
        packages: &["python3-pip"],
        remedy: "run `python3 -m pip install --upgrade pip`, or set CALLGROVE_ADIOS2 to the folder of an ADIOS2",
    },
];

/// Programs that the tests start: a private display with input and pictures, a browser, a database server, an unpacker
/// of test data, an instruction counter, and Python.
const TESTS: &[Requirement] = &[
    program("Xvfb", &["xvfb"]),
    program("xdotool", &["xdotool"]),
    program("import", &["imagemagick"]),
    program("display", &["imagemagick"]),
    Requirement {
        name: "Chromium 112, the first with the new headless mode",
        check: Version("chromium", &["--version"], "112.0"),
        packages: &["chromium"],
        remedy: "install a newer Chromium whose program is called chromium",
    },
    program("initdb", &["postgresql"]),
    ZSTD,
    program("valgrind", &["valgrind"]),
    Requirement {
        name: "Python 3.11 with its module venv, the oldest that the package for Python supports",
        check: By(python_with_venv),
        packages: &["python3", "python3-venv"],
        remedy: "install a newer Python whose program is called python3",
    },
    Requirement {
        name: "rustfmt",
        check: By(|| cargo_command("fmt")),
        packages: &[],
        remedy: "run `rustup component add rustfmt`",
    },
    Requirement {
        name: "clippy",
        check: By(|| cargo_command("clippy")),
        packages: &[],
        remedy: "run `rustup component add clippy`",
    },
    Requirement {
        name: "Rust's standard library for browsers (or apt-get, which provides its sources)",
        check: By(browser_target),
        packages: &[],
        remedy: "run `rustup target add wasm32-unknown-unknown`",
    },
];

const ZSTD: Requirement = program("zstd", &["zstd"]);

const fn library(name: &'static str, packages: &'static [&'static str]) -> Requirement {
    Requirement {
        name,
        check: Library(name),
        packages,
        remedy: "install the package that provides it",
    }
}

const fn program(name: &'static str, packages: &'static [&'static str]) -> Requirement {
    Requirement {
        name,
        check: Program(name),
        packages,
        remedy: "install the package that provides it",
    }
}

/// An unmet requirement.
struct Problem<'a> {
    requirement: &'a Requirement,
    found: Availability,
}

impl Problem<'_> {
    /// Returns one line with the problem and the remedy.
    fn line(&self) -> String {
        let Requirement { name, remedy, .. } = self.requirement;
        match &self.found {
            Availability::Old(version) => {
                format!("too old: found {version}, needs {name}: {remedy}")
            }
            Availability::Unknown => format!("unknown version: needs {name}: {remedy}"),
            Availability::Missing | Availability::Good => format!("missing: {name}: {remedy}"),
        }
    }
}

/// Checks all requirements of a task; installs missing packages, as root on Debian.
///
/// # Errors
/// A requirement is missing or too old. The message has a line with the remedy for each.
pub(crate) fn ensure(task: &Task) -> Result<(), String> {
    let needed = requirements(task.needs);
    let missing: Vec<&str> = packages(&problems(&needed));
    if !missing.is_empty() && install::is_possible() {
        install::install(&missing)?;
    }
    let problems = problems(&needed);
    if problems.is_empty() {
        return Ok(());
    }
    Err(report(task, &problems))
}

/// Windows and macOS provide what a window needs, and only Linux has the displays of the tests.
fn requirements(needs: Needs) -> Vec<&'static Requirement> {
    let adios2 = if has_adios2() { &[][..] } else { ADIOS2 };
    let groups: &[&[Requirement]] = match needs {
        Needs::Build => &[BUILD],
        Needs::Study => &[BUILD, &[ZSTD], adios2],
        Needs::Window if cfg!(target_os = "linux") => &[BUILD, WINDOW, adios2],
        Needs::Tests if cfg!(target_os = "linux") => &[BUILD, WINDOW, TESTS, adios2],
        Needs::Window | Needs::Tests => &[BUILD, adios2],
    };
    groups.iter().copied().flatten().collect()
}

fn problems<'a>(needed: &[&'a Requirement]) -> Vec<Problem<'a>> {
    let checked = needed.iter().map(|requirement| Problem {
        requirement,
        found: match requirement.check {
            Library(name) if check::has_library(name) => Availability::Good,
            Program(name) if check::find_program(name).is_some() => Availability::Good,
            Library(_) | Program(_) => Availability::Missing,
            Version(name, args, minimum) => check::program(name, args, minimum),
            By(check) => check(),
        },
    });
    checked
        .filter(|it| it.found != Availability::Good)
        .collect()
}

/// Returns the packages of the missing requirements, each once, in the order of the requirements.
fn packages(problems: &[Problem<'_>]) -> Vec<&'static str> {
    let missing = problems
        .iter()
        .filter(|it| it.found == Availability::Missing);
    let mut packages: Vec<&str> = Vec::new();
    for package in missing.flat_map(|it| it.requirement.packages) {
        if !packages.contains(package) {
            packages.push(package);
        }
    }
    packages
}

fn report(task: &Task, problems: &[Problem<'_>]) -> String {
    let mut text = format!("`cargo xtask {}` cannot start:", task.name);
    for problem in problems {
        text.push_str("\n  ");
        text.push_str(&problem.line());
    }
    let packages = packages(problems);
    if !packages.is_empty() {
        text.push_str("\non Debian or Ubuntu, as root:\n  apt-get install ");
        text.push_str(&packages.join(" "));
    }
    text
}

/// Returns whether the compiler that C builds use is new enough.
fn c_compiler() -> Availability {
    let name = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let Some(text) = check::output(Command::new(name).arg("--version")) else {
        return Availability::Missing;
    };
    check::version(&text, if text.contains("clang") { "7.0" } else { "8.0" })
}

/// Checks for Python's pip, or the module that creates virtual environments with one.
fn pip() -> Availability {
    let python = |args: &[&str]| check::output(Command::new("python3").args(args));
    match python(&["-m", "pip", "--version"]) {
        Some(text) => check::version(&text, "20.3"),
        None if python(&["-c", "import ensurepip"]).is_some() => Availability::Good,
        None => Availability::Missing,
    }
}

/// Checks for a Python that makes virtual environments with pip.
fn python_with_venv() -> Availability {
    let makes = check::output(Command::new("python3").args(["-c", "import ensurepip, venv"]));
    match makes {
        Some(_) => check::program("python3", &["--version"], "3.11"),
        None => Availability::Missing,
    }
}

/// Checks for a subcommand of cargo that rustup provides.
fn cargo_command(name: &str) -> Availability {
    match check::output(Command::new("cargo").args([name, "--version"])) {
        Some(_) => Availability::Good,
        None => Availability::Missing,
    }
}

fn browser_target() -> Availability {
    let args = [
        "--print",
        "target-libdir",
        "--target",
        "wasm32-unknown-unknown",
    ];
    let folder = check::output(Command::new("rustc").args(args));
    let is_there = folder.is_some_and(|folder| Path::new(folder.trim_end()).is_dir());
    if is_there || check::find_program("apt-get").is_some() {
        return Availability::Good;
    }
    Availability::Missing
}

/// Returns whether there is an ADIOS2: named by a variable, in a library folder, or known to the linker.
fn has_adios2() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_set("CALLGROVE_ADIOS2") || is_set("ADIOS2_DIR") {
        return true;
    }
    let folders = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let files = std::env::split_paths(&folders).filter_map(|folder| folder.read_dir().ok());
    let in_folder = files.flatten().flatten().any(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with("libadios2_c.so")
    });
    in_folder || (check::find_program("ldconfig").is_some() && check::has_library("libadios2_c.so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(requirement: &'static Requirement, found: Availability) -> Problem<'static> {
        Problem { requirement, found }
    }

    #[test]
    fn packages_are_those_of_what_is_missing_each_once() {
        let found: Vec<Problem<'_>> = TESTS
            .iter()
            .map(|it| problem(it, Availability::Missing))
            .collect();
        assert_eq!(
            packages(&found),
            [
                "xvfb",
                "xdotool",
                "imagemagick",
                "chromium",
                "postgresql",
                "zstd",
                "valgrind",
                "python3",
                "python3-venv"
            ]
        );
        let Availability::Old(old) = check::version("Chromium 90.0.1", "112.0") else {
            panic!("it is old");
        };
        assert!(packages(&[problem(&TESTS[4], Availability::Old(old))]).is_empty());
    }

    #[test]
    fn each_problem_has_a_line_with_what_to_do() {
        let task = Task::named("test").unwrap();
        let old = check::version("Python 3.8.10", "3.9");
        let text = report(
            task,
            &[
                problem(&ADIOS2[0], old),
                problem(&TESTS[0], Availability::Missing),
                problem(&TESTS[9], Availability::Missing),
            ],
        );
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[1].contains("too old: found 3.8.10") && lines[1].contains("newer Python"),
            "{text}"
        );
        assert!(lines[2].contains("missing: Xvfb"), "{text}");
        assert!(lines[3].contains("rustup component add rustfmt"), "{text}");
        assert!(lines[5].ends_with("apt-get install xvfb"), "{text}");
    }

    #[test]
    fn this_machine_can_build() {
        assert!(problems(&requirements(Needs::Build)).is_empty());
    }
}
