//! The program: the desktop window and all subcommands, as thin layers over the library crates.

mod ad_settings;
mod announcement;
mod cmd;
mod connect;
mod example;
mod exit;
mod guard;
mod host;
mod log_lines;
mod output;
mod own_certificate;
mod pages;
mod platform;
mod report_origin;
mod stop;
mod table_output;
mod user_token;
mod window;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use tracing::Level;

use callgrove_local::BackgroundProcess;

use callgrove_args::{Cli, CliCommand, ConfigFile, LogFormat};
use exit::Exit;

fn main() -> ExitCode {
    let mut cli = Cli::command();
    cli.build();
    let (arguments, config) = match with_config(&cli) {
        Ok(read) => read,
        Err(error) => {
            log_lines::start(LogFormat::default());
            log_lines::write_line(Level::ERROR, &format!("{error:#}"));
            return Exit::Failure.into();
        }
    };
    let Cli {
        command,
        log_format,
        process_file,
        ..
    } = Cli::parse_from(arguments);
    log_lines::start(log_format);
    let command = command.unwrap_or_else(CliCommand::start);
    let result = match command {
        CliCommand::Info(args) => cmd::info::run(&args),
        CliCommand::Analyze(args) => cmd::analyze::run(&args),
        CliCommand::Causes(args) => cmd::causes::run(&args),
        CliCommand::Incidents(args) => cmd::causes::run_incidents(&args),
        CliCommand::Nodes(args) => done(cmd::comparison::nodes::run(&args)),
        CliCommand::Patterns(args) => cmd::patterns::run(&args),
        CliCommand::Trends(args) => cmd::trends::run(&args),
        CliCommand::Compare(args) => cmd::comparison::compare::run(&args),
        CliCommand::Check(args) => cmd::comparison::check::run(&args),
        CliCommand::Baseline { command } => cmd::comparison::baseline::run(&command),
        CliCommand::Evaluate(args) => cmd::evaluate::run(&args),
        CliCommand::Open(args) => done(cmd::open::run(&args)),
        CliCommand::Draw(args) => done(cmd::drawing::draw::run(&args)),
        CliCommand::Serve(args) => done(cmd::serve::run(&args)),
        CliCommand::Report(args) => cmd::drawing::report::run(&args),
        CliCommand::Mcp(args) => done(cmd::mcp::run(&args)),
        CliCommand::Export(args) => cmd::export::run(&args),
        CliCommand::Run(args) => cmd::run::run(&args),
        CliCommand::Ad(args) => cmd::ad::run(&args),
        CliCommand::Pserver(args) => cmd::pserver::run(&args),
        CliCommand::Provdb(args) => done(cmd::provdb::run(&args)),
        CliCommand::Query(args) => done(cmd::query::run(&args)),
        CliCommand::Model(args) => done(cmd::model::run(&args)),
        CliCommand::Cluster { command } => cmd::cluster::run(&command),
        CliCommand::Token { command } => done(cmd::token::run(&command)),
        CliCommand::Bus(args) => done(cmd::cluster::run_bus(&args)),
        CliCommand::Merger(args) => done(cmd::cluster::run_merger(&args)),
        CliCommand::Relay(args) => cmd::streams::relay::run(&args),
        CliCommand::Replay(args) => done(cmd::streams::replay::run(&args)),
        CliCommand::Config { print } => done(cmd::command_line::config(&config, print, &cli)),
        CliCommand::Completions { shell } => done(cmd::command_line::completions(shell, &cli)),
        CliCommand::Man { out } => done(cmd::command_line::man(out.as_deref(), &cli)),
        CliCommand::Demo => done(cmd::demo::run()),
        CliCommand::ReadThrough { stream } => done(guard::read_through(&stream)),
        CliCommand::PublishStream { arguments } => done(guard::publish(&arguments)),
    };
    let exit = match result {
        Ok(exit) => exit,
        // A reader such as `head` may close the pipe early.
        Err(error) if output::is_broken_pipe(&error) => Exit::Success,
        Err(error) => {
            log_lines::write_line(Level::ERROR, &output::with_remedy(&format!("{error:#}")));
            Exit::Failure
        }
    };
    if let Some(file) = process_file
        && let Err(error) = BackgroundProcess::new(&file).note_exit(exit.code())
    {
        let text = format!("{error}: cannot write the exit code to {}", file.display());
        log_lines::write_line(Level::ERROR, &text);
    }
    exit.into()
}

/// Returns the arguments of this process, with the settings of the configuration file that they name.
fn with_config(cli: &clap::Command) -> anyhow::Result<(Vec<OsString>, ConfigFile)> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let config = ConfigFile::of_arguments(&arguments, cli)?;
    Ok((config.with_settings(arguments, cli)?, config))
}

fn done(result: anyhow::Result<()>) -> anyhow::Result<Exit> {
    result.map(|()| Exit::Success)
}
