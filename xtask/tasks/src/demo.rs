//! From a fresh checkout to a window on a real trace.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::steps::Steps;
use crate::workspace::Workspace;
use crate::{adios2, shell, web};

/// Sets up, builds and runs `callgrove demo`, whose exit code becomes ours.
///
/// # Errors
/// The set-up or the build failed; what the demo itself has to say is no error here.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    let mut steps = Steps::new(4);
    let adios2 = steps.run("ADIOS2", || adios2::ensure(workspace))?;
    // The demo is the window's: a machine that cannot build the page has it all the same.
    if let Err(error) = steps.run("the page for browsers", || web::build(workspace)) {
        eprintln!("warning: `callgrove serve` will have no page: {error:#}");
    }
    steps.run("the program", || {
        shell::run(&mut workspace.cargo(["build", "--release", "--package", "callgrove"]))
    })?;
    let mut demo = Command::new(workspace.program("release"));
    demo.arg("demo").args(args);
    demo.envs(adios2.map(|path| (adios2::VARIABLE, path)));
    let status = steps.run("the window, until you close it", || {
        let program = workspace.program("release");
        demo.status()
            .with_context(|| format!("cannot start {}", program.display()))
    })?;
    // A signal has no exit code.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
