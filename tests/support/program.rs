//! The program `callgrove` under test.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The environment variable that names the program to test, such as a release build.
pub const VARIABLE: &str = "CALLGROVE_PROGRAM";

/// The token of servers and clients in tests.
pub const TOKEN: &str = "a-token-for-tests-only";

/// Returns the path of the program: the value of [`VARIABLE`] (`cargo xtask test` builds the program once and sets it),
/// or else what cargo builds now. So no test runs a stale program: cargo does not inform tests of other packages where
/// the program is, or that they need it.
///
/// # Errors
/// The program does not compile.
pub fn path() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(VARIABLE) {
        return Ok(path.into());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = Command::new(cargo)
        .args(["build", "--package", "callgrove", "--bin", "callgrove"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    ensure!(build.status.success(), "callgrove does not compile");
    executable(&String::from_utf8(build.stdout)?).context("cargo named no executable")
}

/// Returns a command of the program. All servers and clients use [`TOKEN`], so that no test touches the configuration
/// of the user who runs it.
///
/// # Errors
/// The program does not compile.
pub fn command() -> Result<Command> {
    let mut command = Command::new(path()?);
    command.env("CALLGROVE_TOKEN", TOKEN);
    Ok(command)
}

/// Returns the executable named in cargo's messages (one JSON object per line).
fn executable(messages: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_found_among_the_messages() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"model"},"executable":null}
            {"reason":"compiler-artifact","target":{"name":"callgrove"},"executable":"/t/debug/callgrove"}
            {"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages), Some("/t/debug/callgrove".into()));
        assert_eq!(executable(r#"{"reason":"build-finished"}"#), None);
    }
}
