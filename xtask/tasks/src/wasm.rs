//! Compiles for WebAssembly, and checks that the browser's crates compile for it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell;
use crate::workspace::Workspace;

/// The browser's target.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// Returns a cargo command that compiles for the browser's target.
///
/// # Errors
/// The target's standard library is not available.
pub(crate) fn cargo(workspace: &Workspace, args: &[&str]) -> Result<Command> {
    let mut command = workspace.cargo(args.iter().copied());
    command.args(["--target", TARGET]);
    if !is_installed()? {
        let sysroot = build_standard_library(workspace)?;
        // RUSTFLAGS would replace the target's own flags.
        command.env_remove("RUSTFLAGS").env(
            "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS",
            format!("--sysroot {sysroot}"),
        );
    }
    Ok(command)
}

/// Lints the browser's crates for the browser's target.
///
/// # Errors
/// A crate does not compile there or has a warning, or the target's standard library is not available.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut command = cargo(workspace, &["clippy", "--lib"])?;
    for name in workspace.browser_crates() {
        command.args(["--package", name]);
    }
    shell::run(command.args(["--", "--deny", "warnings"]))
}

/// Returns whether the installed toolchain has the target's standard library.
fn is_installed() -> Result<bool> {
    let folder = shell::output(Command::new("rustc").args([
        "--print",
        "target-libdir",
        "--target",
        TARGET,
    ]))?;
    Ok(Path::new(folder.trim_end()).is_dir())
}

/// Builds the standard library from the distribution's sources; returns its sysroot.
fn build_standard_library(workspace: &Workspace) -> Result<String> {
    let script = workspace.root().join("xtask/tasks/wasm-std.sh");
    let work = workspace.target_dir().join("wasm-std");
    let sysroot = shell::output(Command::new("bash").arg(script).arg(work)).with_context(|| {
        format!(
            "the toolchain has no {TARGET}; with rustup, install it: rustup target add {TARGET}"
        )
    })?;
    Ok(sysroot.trim_end().to_owned())
}
