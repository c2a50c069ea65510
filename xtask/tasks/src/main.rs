//! The tasks of `cargo xtask`, which checks their requirements before it starts this program.
//!
//! Every task may be repeated at any time, and is quick if there is nothing left to do. Tasks install only into the
//! target folder.

mod adios2;
mod demo;
mod docs;
mod fuzz;
mod lab;
mod nats;
mod pip;
mod process_table;
mod python;
mod shell;
mod steps;
mod study;
mod test;
mod wasm;
mod watch;
mod web;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

/// A parsed command line.
#[derive(Debug, PartialEq, Eq)]
enum Task {
    Demo { args: Vec<String> },
    Test,
    Damage { num_traces: u64, seed: Option<u64> },
    Fuzz { args: Vec<String> },
    Lab { args: Vec<String> },
    Setup,
    Study { data: Vec<PathBuf> },
    Docs,
    Screenshots,
    Web,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match parse(&args).and_then(perform) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn parse(args: &[String]) -> Result<Task> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    Ok(match words.as_slice() {
        ["demo", ..] => Task::Demo {
            args: args[1..].to_vec(),
        },
        ["test"] => Task::Test,
        ["damage"] => Task::Damage {
            num_traces: 600,
            seed: None,
        },
        ["damage", number] => Task::Damage {
            num_traces: number.parse()?,
            seed: None,
        },
        ["damage", number, seed] => Task::Damage {
            num_traces: number.parse()?,
            seed: Some(seed.parse()?),
        },
        ["fuzz", ..] => Task::Fuzz {
            args: args[1..].to_vec(),
        },
        ["lab", ..] => Task::Lab {
            args: args[1..].to_vec(),
        },
        ["setup"] => Task::Setup,
        ["docs"] => Task::Docs,
        ["screenshots"] => Task::Screenshots,
        ["web"] => Task::Web,
        ["study", data @ ..] if !data.is_empty() => Task::Study {
            data: data.iter().map(PathBuf::from).collect(),
        },
        _ => bail!(
            "no such task: {}; `cargo xtask help` lists them",
            words.join(" ")
        ),
    })
}

fn perform(task: Task) -> Result<ExitCode> {
    match task {
        Task::Demo { args } => demo::run(&Workspace::load()?, &args),
        Task::Test => test::run(&Workspace::load()?).map(|()| ExitCode::SUCCESS),
        Task::Damage { num_traces, seed } => {
            // The start seed: seconds, which differ enough between runs for their traces.
            let now = || UNIX_EPOCH.elapsed().map_or(0, |it| it.as_secs() * 10_000);
            let seed = seed.unwrap_or_else(now);
            test::damage(&Workspace::load()?, num_traces, seed).map(|()| ExitCode::SUCCESS)
        }
        Task::Fuzz { args } => fuzz::run(&Workspace::load()?, &args),
        Task::Lab { args } => lab::run(&Workspace::load()?, &args),
        Task::Setup => {
            for (name, value) in test::set_up(&Workspace::load()?)? {
                println!("export {name}='{}'", value.display());
            }
            Ok(ExitCode::SUCCESS)
        }
        Task::Study { data } => {
            let tables = study::run(&Workspace::load()?, &data)?;
            println!("{}", tables.display());
            Ok(ExitCode::SUCCESS)
        }
        Task::Docs => docs::write_commands(&Workspace::load()?).map(|()| ExitCode::SUCCESS),
        Task::Screenshots => docs::take_pictures(&Workspace::load()?).map(|()| ExitCode::SUCCESS),
        Task::Web => {
            println!("{}", web::build(&Workspace::load()?)?.summary());
            Ok(ExitCode::SUCCESS)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Task> {
        parse(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn demo_forwards_its_arguments() {
        let args = vec!["--seed".to_owned(), "7".to_owned()];
        assert_eq!(
            parsed(&["demo", "--seed", "7"]).unwrap(),
            Task::Demo { args }
        );
    }

    #[test]
    fn unknown_tasks_and_stray_arguments_are_refused() {
        for words in [&["tset"][..], &["test", "--fast"], &["study"]] {
            let message = parsed(words).unwrap_err().to_string();
            assert!(message.contains(&words.join(" ")), "{message}");
        }
    }

    #[test]
    fn every_task_is_known() {
        for words in [
            &["demo"][..],
            &["test"],
            &["damage", "600", "1"],
            &["fuzz", "--seconds", "5", "csv"],
            &["lab", "--list", "ddp"],
            &["setup"],
            &["study", "data", "forests"],
            &["docs"],
            &["screenshots"],
            &["web"],
        ] {
            assert!(parsed(words).is_ok(), "{words:?}");
        }
    }
}
