//! Processes apart from the terminal, and the request to end.

use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};

/// Starts a process that signals of the terminal do not reach.
pub(crate) fn spawn_apart(command: &mut Command) -> io::Result<Child> {
    command.process_group(0).spawn()
}

/// Replaces this process by another program; signals and the exit code are that program's. Returns only an error.
pub fn replace_process(command: &mut Command) -> io::Error {
    command.exec()
}

/// Asks the process with a number to end.
pub(crate) fn terminate(number: u32) -> io::Result<()> {
    let process = i32::try_from(number).ok().and_then(Pid::from_raw);
    let unknown = || io::Error::new(ErrorKind::InvalidData, format!("{number} is no process"));
    Ok(kill_process(process.ok_or_else(unknown)?, Signal::TERM)?)
}
