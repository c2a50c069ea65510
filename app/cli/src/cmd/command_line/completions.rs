//! `callgrove completions`: completes the command line in a shell.

use anyhow::Result;
use clap::Command;
use clap_complete::{Shell, generate};

use crate::output::print;

/// Prints the completions of a shell.
pub(crate) fn run(shell: Shell, cli: &Command) -> Result<()> {
    // The library panics where it cannot write, such as to a closed pipe.
    let mut script = Vec::new();
    generate(shell, &mut cli.clone(), "callgrove", &mut script);
    print(|out| out.write_all(&script))
}
