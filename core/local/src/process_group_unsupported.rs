//! Processes where the system has no groups and signals like those of Unix.

use std::io::{self, ErrorKind};
use std::process::{Child, Command};

pub(crate) fn spawn_apart(_: &mut Command) -> io::Result<Child> {
    Err(unsupported())
}

pub fn replace_process(_: &mut Command) -> io::Error {
    unsupported()
}

pub(crate) fn terminate(_: u32) -> io::Result<()> {
    Err(unsupported())
}

fn unsupported() -> io::Error {
    let remedy = "this system has no background processes: start each server in a terminal";
    io::Error::new(ErrorKind::Unsupported, remedy)
}
