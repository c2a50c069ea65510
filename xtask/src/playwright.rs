//! What drives the browser in tests, in the target folder; the browser itself is the system's.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::shell;
use crate::workspace::Workspace;

/// The environment variable that tells the tests where it is.
pub(crate) const VARIABLE: &str = "CALLGROVE_PLAYWRIGHT";
/// The one package, which has no dependencies and brings no browser.
const PACKAGE: &str = "playwright-core";
const RELEASE: &str = "1.65.1";

/// Makes sure that it is there; returns its folder.
///
/// # Errors
/// It cannot be installed.
pub(crate) fn ensure(workspace: &Workspace) -> Result<PathBuf> {
    let prefix = workspace.target_dir().join("playwright");
    let folder = prefix.join("node_modules").join(PACKAGE);
    let manifest = fs::read_to_string(folder.join("package.json")).unwrap_or_default();
    let known: Value = serde_json::from_str(&manifest).unwrap_or_default();
    if known["version"] == RELEASE {
        return Ok(folder);
    }
    shell::heading(&format!("installing {PACKAGE} into the target folder"));
    fs::create_dir_all(&prefix).with_context(|| format!("cannot make {}", prefix.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel", "error"])
        .args(["--no-save", "--ignore-scripts", "--prefix"])
        .arg(&prefix)
        .arg(format!("{PACKAGE}@{RELEASE}"));
    shell::run(&mut npm)?;
    Ok(folder)
}
