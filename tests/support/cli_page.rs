//! `docs/cli.md`: what the program says of its commands, as one page.

use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};

use crate::program;

/// Path of the page from the root of the repository.
pub const PATH: &str = "docs/cli.md";

/// The text of the page before the first command.
const HEAD: &str = "# Commands

This page is the help of the program. `cargo xtask docs` writes it; a test fails where it differs from the program.
[guide.md](guide.md) shows what the commands are for.

Every command also takes the options of `callgrove` itself: `--config`, `--log-format` and `--help`.
";

/// Options that every command has, and that the page names once.
const COMMON: [&str; 3] = ["--log-format", "--config", "--help"];

/// Returns the text of the page, made from the help of the program under test.
///
/// # Errors
/// The program does not start or has no help.
pub fn text() -> Result<String> {
    let mut page = HEAD.to_owned();
    let top = help(&[])?;
    section(&mut page, &[], &top)?;
    for command in commands(&top) {
        let help_text = help(&[command])?;
        section(&mut page, &[command], &without_common(&help_text))?;
        for nested in commands(&help_text) {
            let words = [command, nested];
            section(&mut page, &words, &without_common(&help(&words)?))?;
        }
    }
    Ok(page)
}

fn section(page: &mut String, words: &[&str], help: &str) -> Result<()> {
    let level = "#".repeat(2 + words.len().saturating_sub(1));
    let name = ["callgrove"].iter().chain(words).copied();
    let name: Vec<&str> = name.collect();
    write!(page, "\n{level} {}\n\n```text\n", name.join(" "))?;
    for line in help.trim_end().lines() {
        writeln!(page, "{}", line.trim_end())?;
    }
    page.push_str("```\n");
    Ok(())
}

/// Returns the long help of a command, in lines of at most 100 characters.
fn help(words: &[&str]) -> Result<String> {
    let mut command = program::command()?;
    let name = command.get_program().to_owned();
    let output = command
        .args(words)
        .arg("--help")
        .env("COLUMNS", "100")
        .output()?;
    ensure!(output.status.success(), "there is no help of {words:?}");
    // The help calls the program by the name of its file.
    let file = std::path::Path::new(&name).file_name();
    let file = file.and_then(|it| it.to_str()).context("an odd name")?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.replace(&format!("{file} "), "callgrove "))
}

/// Returns the commands that a help lists, in its order, without `help`.
fn commands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}

/// Returns a help without the options that every command has.
fn without_common(help: &str) -> String {
    let mut is_left_out = false;
    let mut kept = String::new();
    for line in help.lines() {
        let begins = line.trim_start().starts_with('-') && !line.starts_with("          ");
        if begins {
            is_left_out = COMMON.iter().any(|option| line.contains(option));
        } else if line.ends_with(':') && !line.starts_with(' ') {
            is_left_out = false;
        }
        if !is_left_out {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept.trim_end().trim_end_matches("\nOptions:").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "Does it\n\nUsage: callgrove model [OPTIONS] <COMMAND>\n\nCommands:\n  show  Says\n          more\n  \
                        list  Lists\n  help  Prints\n\nOptions:\n  -n, --limit <N>\n          Most\n\n      --log-format <F>\n          \
                        Form\n\n          - a\n\n  -h, --help\n          Print help\n";

    #[test]
    fn commands_are_those_of_the_list() {
        assert_eq!(commands(HELP), ["show", "list"]);
        assert!(commands("Usage: x\n").is_empty());
    }

    #[test]
    fn options_of_every_command_are_left_out() {
        let text = without_common(HELP);
        assert!(
            text.ends_with("  -n, --limit <N>\n          Most"),
            "{text}"
        );
        assert!(text.contains("Commands:"));
        let only_common = "Does it\n\nOptions:\n      --config <F>\n          File\n";
        assert_eq!(without_common(only_common), "Does it\n");
    }
}
