//! `cargo xtask <task>`: prints the steps and the duration of the task, checks the requirements of the machine, and
//! then compiles and runs the task itself, which is in `xtask/tasks`.
//!
//! This crate has no dependencies, so that it compiles and prints within seconds even on a new machine.

mod check;
mod install;
mod requirements;
mod tasks;

use std::process::{Command, ExitCode};

use tasks::Task;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match perform(&args) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn perform(args: &[String]) -> Result<ExitCode, String> {
    let name = args.first().map_or("help", String::as_str);
    if ["help", "--help", "-h"].contains(&name) {
        print!("{}", tasks::help());
        return Ok(ExitCode::SUCCESS);
    }
    let task = Task::named(name)
        .ok_or_else(|| format!("there is no task `{name}`; `cargo xtask help` lists the tasks"))?;
    eprintln!("{}", task.announcement());
    requirements::ensure(task)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["run", "--package", "xtask-tasks", "--"])
        .args(args)
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    // A signal has no exit code.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
