//! Reads Chrome traces: prints what is in them, or reads them to the end for a measurement of time and memory.
//!
//! ```text
//! cargo run --release -p callgrove-chrome --example read_chrome -- calls FILE
//! /usr/bin/time -v read_chrome stream FILE
//! ```

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use callgrove_chrome::ChromeFormat;
use callgrove_local::LocalFiles;
use callgrove_model::Progress;
use callgrove_source::{Next, OneByOne, Projection, Registry, SourceError, call_lines};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let done = match &arguments[..] {
        [_, mode, path] if mode == "calls" => print_calls(Path::new(path)),
        [_, mode, path] if mode == "stream" => stream(Path::new(path)),
        _ => {
            eprintln!("usage: read_chrome calls|stream FILE");
            return ExitCode::FAILURE;
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", error.with_causes());
            ExitCode::FAILURE
        }
    }
}

fn registry() -> Registry {
    Registry::new(Arc::new(LocalFiles), vec![Box::new(ChromeFormat)])
}

fn print_calls(path: &Path) -> Result<(), SourceError> {
    let trace = registry().load(path, &OneByOne, Progress::none())?;
    for line in call_lines(&trace) {
        println!("call {line}");
    }
    for entry in &trace.metadata {
        let (rank, thread) = (entry.rank, entry.thread.0);
        println!("fact {rank}.{thread} {}={}", entry.key, entry.value);
    }
    for it in &trace.launches {
        println!(
            "launch {} {} by {} {}",
            it.lane.0, it.time.0, it.by.0, it.launched.0
        );
    }
    for it in &trace.collectives {
        println!(
            "collective {} {} {:x} {:x}",
            it.lane.0, it.time.0, it.communicator, it.sequence
        );
    }
    println!("messages {}", trace.messages.len());
    for warning in trace.warnings.iter() {
        let first = warning.first.since(None);
        println!("warning {:?} {} {first}", warning.kind, warning.count);
    }
    Ok(())
}

fn stream(path: &Path) -> Result<(), SourceError> {
    for part in registry().open(path)?.into_parts()? {
        let mut stream = part.open(&Projection::default())?;
        let (mut num_steps, mut num_events) = (0_u64, 0_usize);
        loop {
            match stream.next_step(Duration::ZERO)? {
                Next::Step(batch) => {
                    num_steps += 1;
                    num_events += batch.funcs.len();
                }
                Next::Reading => {}
                Next::NotReady | Next::End => break,
            }
        }
        println!("{num_events} events in {num_steps} steps");
    }
    Ok(())
}
