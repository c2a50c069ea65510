//! Packages from Python's registry that bring programs and libraries.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::shell;
use crate::workspace::Workspace;

/// Installs a package into `folder`, with the system's pip or else that of a virtual environment.
///
/// # Errors
/// It cannot be installed.
pub(crate) fn install(workspace: &Workspace, requirement: &str, folder: &Path) -> Result<()> {
    let pip = has_module("pip");
    if pip && pip_install(Path::new("python3"), requirement, folder).is_ok() {
        return Ok(());
    }
    let venv = workspace.target_dir().join("pip-venv");
    shell::run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    pip_install(&venv.join("bin").join("python3"), requirement, folder)
}

/// `--upgrade` replaces the remains of an interrupted installation; a source package would compile all of it.
fn pip_install(python: &Path, requirement: &str, folder: &Path) -> Result<()> {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--upgrade", "--no-deps"])
        .args(["--only-binary", ":all:", "--target"])
        .arg(folder)
        .arg(requirement)
        .env("PIP_ROOT_USER_ACTION", "ignore");
    shell::run(&mut pip)
}

fn has_module(name: &str) -> bool {
    shell::succeeds(Command::new("python3").args(["-c", &format!("import {name}")]))
}
