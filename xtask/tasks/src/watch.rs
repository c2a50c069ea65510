//! A time limit for the processes of a step: one that hangs is a failure with its stack, and not silence.

use std::collections::BTreeMap;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::process_table::{ProcessTable, StartedProcess, command_line, stacks};
use crate::shell;

/// Interval between two checks whether the command has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Interval between two looks at its processes.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Runs a command to its end, with its output on the terminal. A process below it that has had no child for longer than
/// `limit` hangs: its command line and its stacks are printed with those of its parent, then it is killed. With
/// cargo-nextest, the command line names the test; otherwise the stacks do.
///
/// # Errors
/// Those of [`shell::run`]; a process hung.
pub(crate) fn run(command: &mut Command, step: &str, limit: Duration) -> Result<()> {
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start {}", shell::shown(command)))?;
    let mut watch = Watch::default();
    let mut looked = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if looked.elapsed() >= LOOK_INTERVAL {
            looked = Instant::now();
            watch.look(child.id(), step, limit);
        }
        thread::sleep(POLL_INTERVAL);
    };
    ensure!(
        watch.hung.is_empty(),
        "{step}: no end after {} s of: {}",
        limit.as_secs(),
        watch.hung.join("; ")
    );
    ensure!(status.success(), "{status}: {}", shell::shown(command));
    Ok(())
}

#[derive(Default)]
struct Watch {
    /// The processes without children, and since when they have none.
    leaves: BTreeMap<StartedProcess, Instant>,
    /// The command lines of those that hung.
    hung: Vec<String>,
}

impl Watch {
    fn look(&mut self, root: u32, step: &str, limit: Duration) {
        let table = ProcessTable::read();
        let now = Instant::now();
        let before = std::mem::take(&mut self.leaves);
        let since = |leaf| (leaf, before.get(&leaf).copied().unwrap_or(now));
        let leaves = table.leaves(root).into_iter().map(since);
        let (hung, leaves): (BTreeMap<_, _>, _) =
            leaves.partition(|(_, since)| since.elapsed() >= limit);
        self.leaves = leaves;
        for leaf in hung.keys() {
            self.end(leaf.pid, &table, root, step);
        }
    }

    fn end(&mut self, pid: u32, table: &ProcessTable, root: u32, step: &str) {
        let line = command_line(pid);
        shell::heading(&format!("{step}: no end of process {pid}: {line}"));
        eprintln!("{}", stacks(pid));
        let parent = table
            .parent(pid)
            .filter(|parent| pid != root && *parent != root);
        if let Some(parent) = parent {
            eprintln!("its parent, process {parent}: {}", command_line(parent));
            eprintln!("{}", stacks(parent));
        }
        self.hung.push(line);
        // It may have ended meanwhile.
        shell::succeeds(Command::new("kill").args(["-KILL", &pid.to_string()]));
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_hangs_is_killed_and_named() {
        let start = Instant::now();
        let mut command = Command::new("sh");
        let error = run(
            command.args(["-c", "sleep 61; true"]),
            "a step",
            Duration::from_secs(2),
        );
        let text = error.unwrap_err().to_string();
        assert_eq!(text, "a step: no end after 2 s of: sleep 61");
        assert!(start.elapsed() >= Duration::from_secs(2));
    }

    #[test]
    fn short_processes_of_a_long_command_do_not_hang() {
        let limit = Duration::from_secs(3);
        let mut command = Command::new("sh");
        run(
            command.args(["-c", "for i in 1 2 3 4; do sleep 1; done"]),
            "a step",
            limit,
        )
        .unwrap();
        let failed = run(&mut Command::new("false"), "a step", limit).unwrap_err();
        assert!(failed.to_string().ends_with("false"), "{failed}");
    }
}
