//! The workspace, as described by `cargo metadata`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::shell;

/// The workspace of the current folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Workspace {
    root: PathBuf,
    target_dir: PathBuf,
    browser_crates: Vec<String>,
}

impl Workspace {
    /// Loads it from cargo, which knows every way of choosing a target folder.
    ///
    /// # Errors
    /// The current folder is in no workspace, or a manifest is invalid.
    pub(crate) fn load() -> Result<Self> {
        let json = shell::output(Command::new(cargo_program()).args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
        ]))?;
        Self::from_metadata(&json)
    }

    /// Returns the folder of the root `Cargo.toml`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder for all outputs: builds, and installations of the tasks.
    pub(crate) fn target_dir(&self) -> &Path {
        &self.target_dir
    }

    /// Returns the crates that also run in a browser, in the order of `workspace.metadata.callgrove.browser-crates` in
    /// the root manifest.
    pub(crate) fn browser_crates(&self) -> &[String] {
        &self.browser_crates
    }

    /// Returns the path of the program `callgrove`, built with `profile` (the name of its folder: `debug`, `release`).
    pub(crate) fn program(&self, profile: &str) -> PathBuf {
        let name = format!("callgrove{}", std::env::consts::EXE_SUFFIX);
        self.target_dir.join(profile).join(name)
    }

    /// Returns a cargo command that works on this workspace.
    pub(crate) fn cargo<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(cargo_program());
        command.current_dir(&self.root).args(args);
        // As on a clean machine: incremental code takes more instructions, which a test counts.
        command.env("CARGO_INCREMENTAL", "0");
        command
    }

    fn from_metadata(json: &str) -> Result<Self> {
        let metadata: Value = serde_json::from_str(json)?;
        let path = |key: &str| {
            let text = metadata[key].as_str();
            text.map(PathBuf::from)
                .with_context(|| format!("no `{key}` from cargo metadata"))
        };
        let browser_crates = strings(&metadata["metadata"]["callgrove"]["browser-crates"]);
        Ok(Self {
            root: path("workspace_root")?,
            target_dir: path("target_directory")?,
            browser_crates,
        })
    }
}

/// Returns the cargo that runs this task, so that its children use the same toolchain.
fn cargo_program() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Returns the strings in a JSON array; empty if it is not an array.
fn strings(array: &Value) -> Vec<String> {
    let elements = array.as_array().into_iter().flatten();
    elements
        .filter_map(|element| element.as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_folders_and_the_browser_crates() {
        let workspace = Workspace::from_metadata(
            r#"{
                "workspace_root": "/src/callgrove",
                "target_directory": "/cache/target",
                "metadata": {"callgrove": {
                    "browser-crates": ["callgrove-model", "callgrove-learn"]
                }}
            }"#,
        )
        .unwrap();
        assert_eq!(workspace.root(), Path::new("/src/callgrove"));
        assert_eq!(workspace.target_dir(), Path::new("/cache/target"));
        assert_eq!(
            workspace.browser_crates(),
            ["callgrove-model", "callgrove-learn"]
        );
    }

    #[test]
    fn says_which_field_is_missing() {
        let message = Workspace::from_metadata(r#"{"workspace_root": "/src"}"#)
            .unwrap_err()
            .to_string();
        assert!(message.contains("target_directory"), "{message}");
    }

    #[test]
    fn this_workspace_has_browser_crates() {
        let workspace = Workspace::load().unwrap();
        assert!(
            workspace
                .browser_crates()
                .contains(&"callgrove-model".to_owned())
        );
        assert!(workspace.root().join("Cargo.toml").is_file());
    }
}
