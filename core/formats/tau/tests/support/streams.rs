//! Streams that are read while they are written, with writers in processes of their own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use callgrove_adios2_sys::{Library, LibraryOnDemand};
use callgrove_model::Warnings;
use callgrove_source::{EventStream, Next};
use callgrove_tau::{LiveEngine, LiveOptions, QueueFull, SstWriter, TauStep, WriterEngine};

/// Longest wait of a test before it fails, longer than any operation here takes.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) const SST: WriterEngine = WriterEngine::Sst(SstWriter {
    num_readers: 1,
    queue_limit: 0,
    queue_full: QueueFull::Block,
});

pub(crate) fn adios2() -> LibraryOnDemand {
    LibraryOnDemand::of_this_machine()
}

pub(crate) fn library() -> Library {
    adios2().get().unwrap()
}

pub(crate) fn live(engine: LiveEngine) -> LiveOptions {
    LiveOptions {
        connect_timeout: TIMEOUT,
        ..LiveOptions::new(engine)
    }
}

pub(crate) fn spawn<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let builder = thread::Builder::new().name("reader".to_owned());
    builder.spawn(read).unwrap()
}

pub(crate) fn texts(warnings: &Warnings) -> Vec<String> {
    warnings
        .iter()
        .map(|warning| {
            format!(
                "{:?} x{} {}",
                warning.kind,
                warning.count,
                warning.first.since(None)
            )
        })
        .collect()
}

/// A step of rank 0 with one call of function 0.
pub(crate) fn one_call(number: u64) -> TauStep {
    let time_us = 1_795_231_715_000_000 + number * 1_000;
    let mut step = TauStep {
        num_ranks: 1,
        num_threads: 1,
        num_timers: 1,
        funcs: vec![[0, 0, 0, 0, 0, time_us], [0, 0, 0, 1, 0, time_us + 5]],
        ..TauStep::default()
    };
    if number == 0 {
        step.attributes
            .push(("timer 0".to_owned(), "work".to_owned()));
    }
    step
}

/// Returns the numbers of the steps that arrive, and the warnings.
pub(crate) fn step_numbers(mut source: Box<dyn EventStream>) -> (Vec<u32>, Vec<String>) {
    let start = Instant::now();
    let mut numbers = Vec::new();
    loop {
        match source.next_step(Duration::from_millis(20)).unwrap() {
            Next::Step(batch) => numbers.push(batch.step.0),
            Next::NotReady | Next::Reading => assert!(start.elapsed() < TIMEOUT, "{numbers:?}"),
            Next::End => return (numbers, texts(&source.take_warnings())),
        }
    }
}

pub(crate) fn wait_for(file: &Path) {
    let start = Instant::now();
    while !file.exists() {
        assert!(start.elapsed() < TIMEOUT, "{}", file.display());
        thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a test again in a separate process, which writes to the path. As with TAU, the writer is another process than
/// the reader.
pub(crate) fn start_writer(test: &str, path: &Path, engine: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("CALLGROVE_TEST_WRITER", path)
        .env("CALLGROVE_TEST_ENGINE", engine)
        .spawn()
        .unwrap()
}

/// Returns the path and the engine to write with, in the process of a writer.
pub(crate) fn writer_arguments() -> Option<(PathBuf, String)> {
    let path = std::env::var_os("CALLGROVE_TEST_WRITER")?;
    Some((path.into(), std::env::var("CALLGROVE_TEST_ENGINE").unwrap()))
}

/// Waits for the end of a process, which is killed at the timeout of the test.
pub(crate) fn wait_for_end(process: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > TIMEOUT {
            process.kill().unwrap();
        }
        thread::sleep(Duration::from_millis(5));
    }
}
