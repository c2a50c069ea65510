//! Publishes a recorded trace again, step by step, as TAU published it: a live source without the program.

mod copy;
mod messages;
mod publisher;
mod publisher_process;
mod relay;
mod relay_file;
mod replay_clock;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_adios2_sys::LibraryOnDemand;
use callgrove_model::{Cancelled, Progress, Warnings};

use crate::adios2::WriterEngine;
use crate::error::TauError;
use publisher::StreamCopy;
use publisher_process::{END_TIMEOUT, PublisherProcess, Report};
use replay_clock::ReplayClock;

pub use publisher::publish;
pub use publisher_process::PublisherProgram;
pub use relay::{RelayOptions, RelaySummary, relay};
pub use relay_file::RelayState;

/// Interval between two requests to the caller whether to go on.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Number of reports that can wait to be counted.
const QUEUE_LEN: usize = 64;

/// The options of a replay.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// The folder for the streams, which keep their names. It is made if it does not exist.
    pub out: PathBuf,
    /// The engine that writes.
    pub engine: WriterEngine,
    /// Ratio of the recorded to the replayed time; 0 or infinity does not wait between steps.
    pub speed: f64,
    /// The program that publishes one stream.
    pub publisher: PublisherProgram,
    /// The ADIOS2 that must exist. The processes use their own.
    pub adios2: LibraryOnDemand,
}

impl ReplayOptions {
    /// Returns options that replay at recorded speed with the ADIOS2 of this machine.
    pub fn new(out: &Path, engine: WriterEngine, publisher: PublisherProgram) -> Self {
        Self {
            out: out.to_owned(),
            engine,
            speed: 1.0,
            publisher,
            adios2: LibraryOnDemand::of_this_machine(),
        }
    }
}

/// The result of a replay.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ReplaySummary {
    /// Number of steps of all streams together.
    pub num_steps: u64,
    /// The streams that ended early because the recorded one is damaged.
    pub warnings: Warnings,
}

/// Publishes recorded streams again, each from a process of its own, as in the recorded job: an SST writer waits for its
/// reader inside ADIOS2, without limit, and nothing but the end of its process ends that wait.
///
/// Everything that the wrapper of ADIOS2 can read is copied unchanged: variables with their types and shapes, without
/// arrays that have no rows, and attributes in the step in which reading showed them first. (A finished BP4 folder
/// shows all of them in its first step.) The delay of a step after the first step of all streams is the time between
/// the newest events of the two, divided by the speed. Nothing is published before all streams have their readers,
/// which may come in any order.
///
/// When this returns, all processes and threads of the replay have ended. A cancelled replay lets its processes close
/// their streams; one that still waits for its reader ends without. If the process of the replay is killed, its streams
/// look like those of a killed job.
///
/// # Errors
/// [`TauError::Publisher`] for the first stream that cannot be read or written, which stops the others;
/// [`TauError::NoPublisher`] if a process cannot be started; [`TauError::SameFolder`]; [`TauError::Io`];
/// [`TauError::Adios2`]; [`TauError::Common`] with [`callgrove_source::SourceError::Cancelled`].
pub fn replay(
    streams: &[PathBuf],
    options: &ReplayOptions,
    progress: Progress<'_>,
) -> Result<ReplaySummary, TauError> {
    options.adios2.get()?;
    check_folder(streams, &options.out)?;
    let start = |path: &PathBuf| {
        options.publisher.start(StreamCopy {
            path: path.clone(),
            out: options.out.join(path.file_name().unwrap_or_default()),
            engine: options.engine,
        })
    };
    let processes: Vec<_> = streams.iter().map(start).collect::<Result<_, _>>()?;
    let clock = ReplayClock::new(streams.len(), options.speed);
    let (sender, reports) = mpsc::sync_channel(QUEUE_LEN);
    thread::scope(|scope| {
        let mut followed = Ok(());
        for process in &processes {
            let (clock, sender) = (&clock, sender.clone());
            let started = thread::Builder::new()
                .name("replay".to_owned())
                .spawn_scoped(scope, move || {
                    // The receiver lives until all senders are gone.
                    process.follow(clock, &|report| drop(sender.send(report)));
                });
            if let Err(source) = started {
                let path = options.out.clone();
                followed = Err(TauError::Io { source, path });
            }
        }
        drop(sender);
        let outcome = followed.and_then(|()| follow(&reports, progress));
        if outcome.is_err() {
            clock.stop();
            end(&processes, &reports);
        }
        outcome
    })
}

/// Checks that no input would be overwritten, and makes the folder.
fn check_folder(streams: &[PathBuf], out: &Path) -> Result<(), TauError> {
    let io_error = |source| TauError::Io {
        source,
        path: out.to_owned(),
    };
    fs::create_dir_all(out).map_err(io_error)?;
    let folder = out.canonicalize().map_err(io_error)?;
    for stream in streams {
        let source = stream.canonicalize();
        if source.is_ok_and(|source| source.parent() == Some(&folder)) {
            return Err(TauError::SameFolder {
                path: out.to_owned(),
            });
        }
    }
    Ok(())
}

/// Counts the reports of the processes until all have ended.
fn follow(reports: &Receiver<Report>, progress: Progress<'_>) -> Result<ReplaySummary, TauError> {
    let mut summary = ReplaySummary::default();
    let mut total = 0;
    loop {
        match reports.recv_timeout(POLL_INTERVAL) {
            Ok(Report::Opened(num_steps)) => total += num_steps,
            Ok(Report::Step) => summary.num_steps += 1,
            Ok(Report::Done(outcome)) => summary.warnings.join(outcome?),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                progress.at(1.0)?;
                return Ok(summary);
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "progress is only shown")]
        progress.at(summary.num_steps as f32 / total.max(1) as f32)?;
    }
}

/// Lets the processes close their streams, and waits until all have ended.
fn end(processes: &[PublisherProcess], reports: &Receiver<Report>) {
    processes.iter().for_each(PublisherProcess::stop);
    let deadline = Instant::now() + END_TIMEOUT;
    let next = || reports.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    while next().is_ok() {}
    processes.iter().for_each(PublisherProcess::kill);
    reports.iter().for_each(drop);
}

impl From<replay_clock::Stopped> for TauError {
    fn from(_: replay_clock::Stopped) -> Self {
        Cancelled.into()
    }
}
