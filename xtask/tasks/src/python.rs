//! Python's packages for the tests of our package, in the target folder; and the build of its wheel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell;
use crate::workspace::Workspace;

/// The environment variable that names the folder of the packages for the tests.
pub(crate) const VARIABLE: &str = "CALLGROVE_PYTHON";

/// The environment variable that names the folder of the wheel.
pub(crate) const WHEELS: &str = "CALLGROVE_WHEELS";

/// The file with the packages and their releases.
const REQUIREMENTS: &str = "tests/python/requirements.txt";

/// Ensures that the packages are installed. Returns the value for [`VARIABLE`].
///
/// # Errors
/// They cannot be installed.
pub(crate) fn ensure(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target_dir().join("python");
    let requirements = workspace.root().join(REQUIREMENTS);
    let wanted = fs::read_to_string(&requirements)
        .with_context(|| format!("cannot read {}", requirements.display()))?;
    let stamp = folder.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(folder);
    }
    shell::heading("installing Python's packages for the tests into the target folder");
    // Remains of other releases would be mixed with these.
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let venv = workspace.target_dir().join("python-venv");
    shell::run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    install(&venv.join("bin/python3"), &requirements, &folder)?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(folder)
}

/// Builds the wheel for its test into a folder of its own. Returns the value for [`WHEELS`]. What it compiles has other
/// features than the workspace, which takes minutes at first.
///
/// # Errors
/// It does not compile.
pub(crate) fn build_wheel(workspace: &Workspace) -> Result<PathBuf> {
    let packages = workspace.target_dir().join("python");
    let wheels = workspace.target_dir().join("wheels");
    // A wheel of another version would be tested.
    if wheels.exists() {
        fs::remove_dir_all(&wheels)
            .with_context(|| format!("cannot remove {}", wheels.display()))?;
    }
    let mut maturin = Command::new(packages.join("bin/maturin"));
    maturin
        .args([
            "build",
            "--quiet",
            "--profile",
            "dev",
            "--compatibility",
            "linux",
        ])
        .args(["--manifest-path", "app/python/Cargo.toml", "--out"])
        .arg(&wheels)
        .env("PYTHONPATH", &packages)
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_TARGET_DIR", workspace.target_dir())
        .current_dir(workspace.root());
    shell::run(&mut maturin)?;
    Ok(wheels)
}

fn install(python: &Path, requirements: &Path, folder: &Path) -> Result<()> {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--only-binary", ":all:"])
        .arg("--requirement")
        .arg(requirements)
        .arg("--target")
        .arg(folder)
        .env("PIP_ROOT_USER_ACTION", "ignore");
    shell::run(&mut pip)
}
