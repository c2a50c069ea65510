//! The task `fuzz`: mutated inputs for the readers of all formats, by an example of `callgrove-formats`.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::shell;
use crate::workspace::Workspace;

/// Builds the attacker and runs it with these arguments; returns its exit code, which is 1 if it found anything.
///
/// # Errors
/// The build fails, or the attacker cannot be started.
pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    let build = [
        "build",
        "--package",
        "callgrove-formats",
        "--example",
        "fuzz",
    ];
    shell::run(&mut workspace.cargo(build))?;
    let program = format!("fuzz{}", std::env::consts::EXE_SUFFIX);
    let program = workspace.target_dir().join("debug/examples").join(program);
    let mut fuzz = Command::new(&program);
    fuzz.arg("--out").arg(workspace.target_dir().join("fuzz"));
    let status = fuzz.args(args).status();
    let status = status.with_context(|| format!("cannot start {}", program.display()))?;
    // A signal has no exit code.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
