//! The binary: the desktop window and every subcommand, over the same library calls.

mod args;
mod cmd;
mod connect;
mod exit;
mod follow;
mod host;
mod journal_file;
mod output;
mod platform;
mod stop;
mod streams;
mod window;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use exit::Exit;

fn main() -> ExitCode {
    let command = Cli::parse().command.unwrap_or_else(Command::start);
    let result = match command {
        Command::Info(args) => cmd::info::run(&args),
        Command::Analyze(args) => cmd::analyze::run(&args),
        Command::Evaluate(args) => cmd::evaluate::run(&args),
        Command::Open(args) => cmd::open::run(&args),
        Command::Run(args) => cmd::run::run(&args),
        Command::Ad(args) => cmd::ad::run(&args),
        Command::Pserver(args) => cmd::pserver::run(&args),
        Command::Provdb(args) => cmd::provdb::run(&args),
        Command::Query(args) => cmd::query::run(&args),
        Command::Replay(args) => cmd::replay::run(&args),
        Command::Demo => cmd::demo::run(),
    };
    match result {
        Ok(()) => Exit::Success.into(),
        // Whoever read our output has seen enough, as `head` does.
        Err(error) if output::is_broken_pipe(&error) => Exit::Success.into(),
        Err(error) => {
            output::complain(&format!("{error:#}"));
            Exit::Failure.into()
        }
    }
}
