//! ADIOS2 for builds and tests: the one that the program finds by itself, or else the Python package, in the target
//! folder.

use std::path::PathBuf;

use anyhow::{Context, Result};
use callgrove_adios2_sys::{Candidate, Library, default_candidates};

use crate::workspace::Workspace;
use crate::{pip, shell};

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
        pip::install(workspace, REQUIREMENT, &folder)?;
        Library::load(&candidates).context("the Python package does not help")?;
    }
    Ok(Some(folder))
}
