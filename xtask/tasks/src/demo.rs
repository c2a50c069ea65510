//! The task `demo`: from a fresh checkout to a window with a real trace.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::steps::Steps;
use crate::workspace::Workspace;
use crate::{adios2, shell, web};

/// Sets up, builds and runs `callgrove demo`; returns its exit code.
///
/// # Errors
/// The set-up or the build fails. A failure of the demo itself is not an error here.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    let mut steps = Steps::new(4);
    let adios2 = steps.run("ADIOS2", || adios2::ensure(workspace))?;
    // The demo only needs the window, so a machine that cannot build the page runs it anyway.
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
