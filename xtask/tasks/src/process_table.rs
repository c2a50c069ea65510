//! The processes of this machine, as Linux lists them in `/proc`. Elsewhere the list is empty.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Seconds after which a debugger that prints no stack is ended.
const DEBUGGER_SECONDS: &str = "60";

/// A process: its id and the time of its start, because ids are used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct StartedProcess {
    pub(crate) pid: u32,
    start: u64,
}

/// The processes that run, with their parents.
pub(crate) struct ProcessTable(BTreeMap<u32, (StartedProcess, u32)>);

impl ProcessTable {
    /// Reads the table. Processes that have ended and wait for their parents are no part of it.
    pub(crate) fn read() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        Self(
            pids.filter_map(|pid: u32| Some((pid, status(pid)?)))
                .collect(),
        )
    }

    /// Returns the processes without children below `root`, or `root` itself, in order of their ids.
    pub(crate) fn leaves(&self, root: u32) -> Vec<StartedProcess> {
        let below: Vec<StartedProcess> = self.0.values().map(|(key, _)| *key).collect();
        let below: Vec<_> = below
            .into_iter()
            .filter(|key| self.is_below(key.pid, root))
            .collect();
        let parents: BTreeSet<u32> = below
            .iter()
            .filter_map(|key| self.parent(key.pid))
            .collect();
        below
            .into_iter()
            .filter(|key| !parents.contains(&key.pid))
            .collect()
    }

    pub(crate) fn parent(&self, pid: u32) -> Option<u32> {
        self.0.get(&pid).map(|(_, parent)| *parent)
    }

    fn is_below(&self, pid: u32, root: u32) -> bool {
        let mut ancestors = std::iter::successors(Some(pid), |pid| self.parent(*pid));
        // Ids that were used again could form a circle.
        ancestors.by_ref().take(self.0.len()).any(|pid| pid == root)
    }
}

/// Returns a process and its parent from `/proc/<pid>/stat`, whose second field is a name in parentheses.
fn status(pid: u32) -> Option<(StartedProcess, u32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    if *fields.first()? == "Z" {
        return None;
    }
    let start = fields.get(19)?.parse().ok()?;
    Some((StartedProcess { pid, start }, fields.get(1)?.parse().ok()?))
}

/// Returns the command line of a process.
pub(crate) fn command_line(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).replace('\0', " ");
    text.trim_end().to_owned()
}

/// Returns the stacks of all threads of a process from gdb, or else where the system says that its threads wait.
pub(crate) fn stacks(pid: u32) -> String {
    let mut gdb = Command::new("timeout");
    gdb.args([
        DEBUGGER_SECONDS,
        "gdb",
        "--batch",
        "--nx",
        "--quiet",
        "--pid",
        &pid.to_string(),
    ])
    .args(["--eval-command", "thread apply all backtrace 40"])
    .env_remove("DEBUGINFOD_URLS")
    .stdin(Stdio::null())
    .stderr(Stdio::null());
    let output = gdb
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    match output {
        Ok(text) if text.contains("\nThread ") => text,
        _ => waiting_threads(pid),
    }
}

/// Returns the name of each thread, the function of the kernel in which it waits and its system call, if they may be
/// read.
fn waiting_threads(pid: u32) -> String {
    let entries = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let mut tasks: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    tasks.sort();
    let line = |task: &PathBuf| {
        let words = ["comm", "wchan", "syscall"].map(|file| {
            let text = fs::read_to_string(task.join(file)).unwrap_or_else(|_| "?".to_owned());
            text.trim().to_owned()
        });
        format!("{}: {}\n", task.display(), words.join(" | "))
    };
    tasks.iter().map(line).collect()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_found_below_their_root() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 30; true"])
            .spawn()
            .unwrap();
        let leaf = loop {
            let leaves = ProcessTable::read().leaves(shell.id());
            match leaves[..] {
                [leaf] if command_line(leaf.pid) == "sleep 30" => break leaf,
                _ => std::thread::sleep(std::time::Duration::from_millis(5)),
            }
        };
        assert_eq!(ProcessTable::read().parent(leaf.pid), Some(shell.id()));
        let threads = waiting_threads(leaf.pid);
        assert!(
            threads.contains("sleep") && threads.lines().count() == 1,
            "{threads}"
        );
        // Before its child, as the shell would otherwise go on.
        shell.kill().unwrap();
        shell.wait().unwrap();
        let killed = Command::new("kill")
            .arg(leaf.pid.to_string())
            .status()
            .unwrap();
        assert!(killed.success());
    }
}
