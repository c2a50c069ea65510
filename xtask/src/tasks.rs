//! The tasks: their names, steps and durations.

use std::fmt::Write as _;

/// One task of `cargo xtask`.
#[derive(Debug)]
pub(crate) struct Task {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// Its arguments, for the help.
    arguments: &'static str,
    /// Its description, for the help; one line per string.
    about: &'static [&'static str],
    /// Its steps, printed before it starts.
    steps: &'static [&'static str],
    /// Its duration on two cores.
    duration: &'static str,
    /// Its requirements.
    pub(crate) needs: Needs,
}

/// Groups of requirements; each group but the last includes the previous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// A compiler.
    Build,
    /// A compiler, the libraries of a window, and ADIOS2.
    Window,
    /// All of these, and the programs that tests start.
    Tests,
    /// A compiler, and an unpacker of traces.
    Study,
}

const TASKS: &[Task] = &[
    Task {
        name: "demo",
        arguments: "[ARGS]",
        about: &["sets up what the window needs, builds the program and opens the example in it"],
        steps: &[
            "check the machine, and install system packages that are missing (as root on Debian)",
            "compile the tasks",
            "install ADIOS2 into the target folder, if the machine has none",
            "build the page for browsers",
            "build the program",
            "open the example in a window, until you close it",
        ],
        duration: "15 to 20 minutes on two cores the first time, then some seconds",
        needs: Needs::Window,
    },
    Task {
        name: "test",
        arguments: "",
        about: &[
            "sets up what the tests need, then runs every check: format, lints, documentation, tests",
        ],
        steps: &[
            "check the machine, and install system packages that are missing (as root on Debian)",
            "compile the tasks",
            "install ADIOS2 into the target folder, if the machine has none",
            "format, spelling, licences, lints, lints for the browser, documentation",
            "build the page for browsers, and the program",
            "run the examples of the documentation, and the tests",
        ],
        duration: "30 to 50 minutes on two cores the first time, then about 15",
        needs: Needs::Tests,
    },
    Task {
        name: "damage",
        arguments: "[N [SEED]]",
        about: &[
            "reads N damaged traces (600 without a number) with the program, and runs all property tests with ten",
            "times their cases; without the SEED of the first trace, others each time",
        ],
        steps: &[
            "set up as for `test`",
            "build the program",
            "read damaged traces",
            "run property tests",
        ],
        duration: "an hour on two cores",
        needs: Needs::Tests,
    },
    Task {
        name: "fuzz",
        arguments: "[--seconds N] [--seed N] [--iteration I] [FORMAT..]",
        about: &[
            "attacks the readers of all formats, or of those named, with mutated inputs for N seconds (60), and saves what",
            "crashes, hangs or needs too much memory in target/fuzz; --iteration repeats one input",
        ],
        steps: &[
            "build the readers and their attacker",
            "read mutated inputs in processes with limits",
        ],
        duration: "the time that is given, after some minutes of compilation",
        needs: Needs::Build,
    },
    Task {
        name: "lab",
        arguments: "[--list] [--install] [--seed N] [PROGRAM..]",
        about: &[
            "runs real jobs of PyTorch and MPI with injected faults, all or those named, and prints which faults the",
            "program found and missed and which statements are false; --list says what each needs and whether the machine",
            "has it, --install installs PyTorch into the target folder (6 GB); programs without what they need are left out",
        ],
        steps: &[
            "compile the tasks",
            "look for PyTorch, Open MPI and eztrace; with --install, install PyTorch into the target folder",
            "build the program, unless CALLGROVE_PROGRAM names one",
            "run each program without a fault and with each of its faults, and score what is found",
        ],
        duration: "about 20 seconds per run on two cores, 50 runs of PyTorch and 10 of MPI, after the build",
        needs: Needs::Build,
    },
    Task {
        name: "setup",
        arguments: "",
        about: &["only sets up `test`, and prints what to export to run single tests by hand"],
        steps: &[
            "check the machine, and install system packages that are missing (as root on Debian)",
            "compile the tasks",
            "install ADIOS2 into the target folder, if the machine has none",
        ],
        duration: "some minutes on two cores the first time, then some seconds",
        needs: Needs::Tests,
    },
    Task {
        name: "study",
        arguments: "DATA..",
        about: &[
            "runs the study behind the detector's defaults (ml/STUDY.md) on generated forests and on what is in the",
            "folders DATA, and prints where its tables are. A trace is a folder in DATA with a packed BP trace,",
            "NAME.tar.zst, and its truth, NAME.ground_truth.csv or ground_truth.csv; other folders are left out. The",
            "root function is in its root_function.txt; without one, folders whose names begin with lammps have",
            "PairEAM::compute, those with lulesh LagrangeLeapFrog. A forest is a file in DATA, NAME.jsonl or",
            "NAME.jsonl.gz, whose trees have a label and a kind",
        ],
        steps: &[
            "build the program",
            "generate forests",
            "evaluate all methods on all data",
        ],
        duration: "hours on two cores",
        needs: Needs::Study,
    },
    Task {
        name: "docs",
        arguments: "",
        about: &["writes docs/cli.md from the help of the program"],
        steps: &["compile the tasks", "build the program, and write its help"],
        duration: "about 10 minutes on two cores the first time, then some seconds",
        needs: Needs::Build,
    },
    Task {
        name: "screenshots",
        arguments: "",
        about: &["takes the pictures in docs/pictures from the window on the example"],
        steps: &[
            "set up as for `test`",
            "build the program, and open it on a display without a screen",
        ],
        duration: "about 10 minutes on two cores the first time, then one",
        needs: Needs::Tests,
    },
    Task {
        name: "web",
        arguments: "",
        about: &[
            "builds the page that `callgrove serve` serves, for the next build of the program to include",
        ],
        steps: &["compile the tasks", "build the page for browsers"],
        duration: "about 7 minutes on two cores the first time, then one or two after a change",
        needs: Needs::Build,
    },
];

impl Task {
    /// Returns the task of a name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        TASKS.iter().find(|task| task.name == name)
    }

    /// Returns the numbered steps of the task and its duration.
    pub(crate) fn announcement(&self) -> String {
        let mut text = format!("cargo xtask {}: {}", self.name, self.duration);
        for (index, step) in self.steps.iter().enumerate() {
            // Writing to a string cannot fail.
            write!(text, "\n  {}. {step}", index + 1).ok();
        }
        text
    }
}

/// Returns the list of tasks.
pub(crate) fn help() -> String {
    let mut text = "cargo xtask <task>\n\n".to_owned();
    for task in TASKS {
        let call = format!("{} {}", task.name, task.arguments);
        for (index, line) in task.about.iter().enumerate() {
            let call = if index == 0 { call.trim_end() } else { "" };
            // Writing to a string cannot fail.
            writeln!(text, "  {call:<16} {line}").ok();
        }
    }
    text.push_str("  help             prints this list\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_and_announcements_cover_every_task() {
        let help = help();
        for task in TASKS {
            let begins = |line: &str| line.trim_start().starts_with(task.name);
            assert!(help.lines().any(begins), "{}", task.name);
            let announcement = task.announcement();
            assert!(announcement.contains(task.duration), "{announcement}");
            assert!(
                announcement.lines().count() > task.steps.len(),
                "{announcement}"
            );
        }
    }

    #[test]
    fn tasks_are_found_by_their_whole_name() {
        assert_eq!(
            Task::named("demo").map(|task| task.needs),
            Some(Needs::Window)
        );
        assert!(Task::named("tset").is_none());
    }
}
