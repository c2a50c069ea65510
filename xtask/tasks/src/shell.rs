//! Running other programs, with their output and errors.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Prints the title of the next step to standard error, like cargo's progress.
pub(crate) fn heading(title: &str) {
    eprintln!("\n== {title}");
}

/// Runs a command to its end, with its output on the terminal.
///
/// # Errors
/// The command cannot be started, or does not succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("{status}: {}", shown(command));
    }
    Ok(())
}

/// Runs a command to its end and returns its output; its standard error goes to the terminal.
///
/// # Errors
/// The command cannot be started, does not succeed, or prints something that is not UTF-8.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| cannot_start(command))?;
    if !output.status.success() {
        bail!("{}: {}", output.status, shown(command));
    }
    String::from_utf8(output.stdout).with_context(|| format!("not UTF-8 from {}", shown(command)))
}

/// Returns whether a command starts and succeeds; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start {}", shown(command))
}

/// Returns the command as one would type it, for messages only.
pub(crate) fn shown(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_command_is_named_with_its_arguments() {
        let message = run(Command::new("cat").arg("no-such-file"))
            .unwrap_err()
            .to_string();
        assert!(message.contains("cat no-such-file"), "{message}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let message = output(&mut Command::new("no-such-program"))
            .unwrap_err()
            .to_string();
        assert_eq!(message, "cannot start no-such-program");
    }
}
