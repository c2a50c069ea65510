//! `callgrove completions`: completes the command line in a shell.

use anyhow::Result;
use clap::Command;
use clap_complete::{Shell, generate};

use crate::output::print;

/// Prints the completions of a shell.
pub(crate) fn run(shell: Shell, cli: &Command) -> Result<()> {
    // The library panics where it cannot write, such as to a closed pipe.
    let mut script = Vec::new();
    generate(shell, &mut without_hidden(cli), "callgrove", &mut script);
    print(|out| out.write_all(&script))
}

/// Returns the command line without hidden commands, which shells would complete, too.
fn without_hidden(cli: &Command) -> Command {
    // These are added again when the copy is built.
    let is_added = |name: &str| ["help", "version"].contains(&name);
    let options = cli
        .get_arguments()
        .filter(|it| !is_added(it.get_id().as_str()));
    let commands = cli.get_subcommands();
    let shown = commands.filter(|it| !it.is_hide_set() && !is_added(it.get_name()));
    Command::new("callgrove")
        .version(env!("CARGO_PKG_VERSION"))
        .args(options.cloned().collect::<Vec<_>>())
        .subcommands(shown.cloned().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, ValueEnum as _};

    use super::*;
    use callgrove_args::Cli;

    #[test]
    fn every_shell_completes_all_commands_but_hidden_ones() {
        let mut cli = Cli::command();
        cli.build();
        for shell in Shell::value_variants() {
            let mut script = Vec::new();
            generate(*shell, &mut without_hidden(&cli), "callgrove", &mut script);
            let script = String::from_utf8(script).unwrap();
            for name in ["analyze", "log-format", "false-alarms", "rollback"] {
                assert!(script.contains(name), "{shell}: {name}");
            }
            assert!(!script.contains("read-through"), "{shell}");
        }
    }
}
