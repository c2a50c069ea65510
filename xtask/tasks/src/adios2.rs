//! ADIOS2 for builds and tests: the one that the program finds by itself, or else the Python package, in the target
//! folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use callgrove_adios2_sys::{Candidate, Library, default_candidates};

use crate::shell;
use crate::workspace::Workspace;

/// The environment variable that names the ADIOS2 for the program.
pub(crate) const VARIABLE: &str = "CALLGROVE_ADIOS2";

/// The Python package and release to install if no ADIOS2 is found.
const REQUIREMENT: &str = "adios2==2.12.*";

/// Ensures that there is an ADIOS2. Returns the value for [`VARIABLE`]; `None` if the program finds one by itself.
///
/// # Errors
/// No ADIOS2 is found, and it cannot be installed.
pub(crate) fn ensure(workspace: &Workspace) -> Result<Option<PathBuf>> {
    if Library::load(&default_candidates()).is_ok() {
        return Ok(None);
    }
    let folder = workspace.target_dir().join("adios2");
    let candidates = [Candidate::path("target folder", &folder)];
    if Library::load(&candidates).is_err() {
        shell::heading("installing ADIOS2 into the target folder");
        install(&folder, &workspace.target_dir().join("adios2-venv"))?;
        Library::load(&candidates).context("the Python package does not help")?;
    }
    Ok(Some(folder))
}

/// Installs the Python package into `folder`, with the system's pip or else that of a virtual environment.
fn install(folder: &Path, venv: &Path) -> Result<()> {
    if has_module("pip") && pip_install(Path::new("python3"), folder).is_ok() {
        return Ok(());
    }
    shell::run(Command::new("python3").args(["-m", "venv"]).arg(venv))?;
    pip_install(&venv.join("bin").join("python3"), folder)
}

/// `--upgrade` replaces the remains of an interrupted installation; a source package would compile all of ADIOS2.
fn pip_install(python: &Path, folder: &Path) -> Result<()> {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--upgrade", "--no-deps"])
        .args(["--only-binary", ":all:", "--target"])
        .arg(folder)
        .arg(REQUIREMENT)
        .env("PIP_ROOT_USER_ACTION", "ignore");
    shell::run(&mut pip)
}

fn has_module(name: &str) -> bool {
    shell::succeeds(Command::new("python3").args(["-c", &format!("import {name}")]))
}
