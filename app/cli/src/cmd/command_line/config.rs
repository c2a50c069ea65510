//! `callgrove config`: checks and prints a configuration file.

use anyhow::Result;

use crate::output::print;
use callgrove_args::ConfigFile;

pub(crate) fn run(config: &ConfigFile, prints: bool, cli: &clap::Command) -> Result<()> {
    print(|out| {
        if prints {
            write!(out, "{}", config.print(cli))
        } else {
            writeln!(out, "{}", config.summary())
        }
    })
}
