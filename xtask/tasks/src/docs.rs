//! The files in `docs/` that the program itself produces. The program `callgrove-docs` of the tests writes them, since
//! the tests have a display and know the program.

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{shell, test};

/// Writes the page of the program's commands.
///
/// # Errors
/// The program does not compile, or the page cannot be written.
pub(crate) fn write_commands(workspace: &Workspace) -> Result<()> {
    shell::run(&mut maker(workspace, "commands"))
}

/// Takes the pictures of the program's window.
///
/// # Errors
/// The set-up failed, the program does not compile, or no window came.
pub(crate) fn take_pictures(workspace: &Workspace) -> Result<()> {
    let exports = test::set_up(workspace)?;
    shell::run(maker(workspace, "pictures").envs(exports))
}

fn maker(workspace: &Workspace, what: &str) -> std::process::Command {
    let program = [
        "run",
        "--package",
        "callgrove-tests",
        "--bin",
        "callgrove-docs",
    ];
    let mut command = workspace.cargo(program);
    command.args(["--", what]);
    command
}
