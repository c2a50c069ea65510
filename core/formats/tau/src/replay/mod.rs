//! Publishes a recorded trace again, step by step, as TAU published it: a live source without the program.

mod copy;
mod relay;
mod replay_clock;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_adios2_sys::{AdiosEngine, Library, LibraryOnDemand};
use callgrove_model::{Cancelled, Progress, WarningKind, Warnings};

use crate::adios2::{BeginResult, BpStream, WriterEngine, write_error};
use crate::error::TauError;
use callgrove_source::rank_in_name;
use copy::Copier;
use replay_clock::ReplayClock;

pub use relay::{RelayOptions, RelaySummary, relay};

/// Interval between two requests to the caller whether to go on.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Number of reports that can wait to be counted.
const QUEUE_LEN: usize = 64;
/// Time allowed for streams to close after the caller asked to stop.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// The options of a replay.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// The folder for the streams, which keep their names. It is made if it does not exist.
    pub out: PathBuf,
    /// The engine that writes.
    pub engine: WriterEngine,
    /// Ratio of the recorded to the replayed time; 0 or infinity does not wait between steps.
    pub speed: f64,
    /// The ADIOS2 that reads and writes.
    pub adios2: LibraryOnDemand,
}

impl ReplayOptions {
    /// Returns options that replay at recorded speed with the ADIOS2 of this machine.
    pub fn new(out: &Path, engine: WriterEngine) -> Self {
        Self {
            out: out.to_owned(),
            engine,
            speed: 1.0,
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

/// Publishes recorded streams again, each from its own thread, because an SST writer waits for its reader.
///
/// Everything that the wrapper of ADIOS2 can read is copied unchanged: variables with their types and shapes, without
/// arrays that have no rows, and attributes in the step in which reading showed them first. (A finished BP4 folder
/// shows all of them in its first step.) The delay of a step after the first step of all streams is the time between
/// the newest events of the two, divided by the speed. Nothing is published before all streams have their readers.
///
/// Over SST, the streams wait for their readers one after another, in the given order. So a process that reads several
/// must open them in this order, or in parallel. It must not be the process of the replay, where ADIOS2 is not safe. Of
/// several reading processes, each should start at least a second after the one before. ADIOS2 identifies them by
/// process id plus second, and sends data for one to another with the same sum, which ends that process.
///
/// When the replay is cancelled, a stream that still waits for its reader is left to its thread until the process ends.
///
/// # Errors
/// Any [`TauError`] that concerns reading or writing one stream, which stops the others; [`TauError::SameFolder`];
/// [`TauError::Common`] with [`callgrove_source::SourceError::Cancelled`].
pub fn replay(
    streams: &[PathBuf],
    options: &ReplayOptions,
    progress: Progress<'_>,
) -> Result<ReplaySummary, TauError> {
    let library = options.adios2.get()?;
    check_folder(streams, &options.out)?;
    let clock = Arc::new(ReplayClock::new(streams.len(), options.speed));
    let (sender, reports) = mpsc::sync_channel(QUEUE_LEN);
    for path in streams {
        let publisher = Publisher {
            out: options.out.join(path.file_name().unwrap_or_default()),
            path: path.clone(),
            engine: options.engine,
            library: library.clone(),
            clock: Arc::clone(&clock),
            sender: sender.clone(),
        };
        let started = thread::Builder::new()
            .name("replay".to_owned())
            .spawn(move || publisher.run());
        if let Err(source) = started {
            clock.stop();
            return Err(TauError::Io {
                source,
                path: path.clone(),
            });
        }
    }
    drop(sender);
    let outcome = follow(&reports, progress);
    if outcome.is_err() {
        clock.stop();
        drain(&reports);
    }
    outcome
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

/// A report of a publisher.
enum Report {
    /// The number of steps that it will publish.
    Opened(usize),
    /// One step was published.
    Step,
    /// The publisher has ended.
    Done(Result<Warnings, TauError>),
}

/// Counts the reports of the publishers until all have ended.
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

/// Waits for the publishers to close their streams, up to [`CANCEL_GRACE`].
fn drain(reports: &Receiver<Report>) {
    let end = Instant::now() + CANCEL_GRACE;
    while reports
        .recv_timeout(end.saturating_duration_since(Instant::now()))
        .is_ok()
    {}
}

/// Publishes one stream.
struct Publisher {
    path: PathBuf,
    out: PathBuf,
    engine: WriterEngine,
    library: Library,
    clock: Arc<ReplayClock>,
    sender: SyncSender<Report>,
}

impl Publisher {
    fn run(self) {
        let outcome = self.publish();
        if outcome.is_err() {
            // Ends the wait of the others for this one to open its stream.
            self.clock.stop();
        }
        self.report(Report::Done(outcome));
    }

    fn publish(&self) -> Result<Warnings, TauError> {
        let mut stream = BpStream::open(&self.path, &self.library)?;
        self.report(Report::Opened(stream.num_steps()));
        let mut copier = Copier::default();
        let mut warnings = Warnings::default();
        let mut next = self.read(&mut stream, &mut copier, &mut warnings)?;
        let mut engine = self.engine.open(&self.out, &self.library, |_| Ok(()))?;
        self.clock.start(copier.newest_us())?;
        while next {
            self.clock.wait_for(copier.newest_us())?;
            copier
                .write(&mut engine)
                .map_err(|source| write_error(source, &self.out))?;
            self.report(Report::Step);
            next = self.read(&mut stream, &mut copier, &mut warnings)?;
        }
        self.close(engine)?;
        Ok(warnings)
    }

    /// Reads the next step; returns `false` at the end of the stream.
    fn read(
        &self,
        stream: &mut BpStream,
        copier: &mut Copier,
        warnings: &mut Warnings,
    ) -> Result<bool, TauError> {
        let mut step = || match stream.begin_step(Duration::ZERO)? {
            BeginResult::Step(..) => {
                // There is an engine, because the stream was opened with one.
                let read = stream.engine().map_or(Ok(()), |it| copier.read(it));
                read.map_err(|source| TauError::Stream {
                    source,
                    path: self.path.clone(),
                })?;
                stream.end_step()?;
                Ok(None)
            }
            BeginResult::End => Ok(Some(None)),
            BeginResult::NotReady => Ok(Some(Some(
                "the writer has not closed the stream".to_owned(),
            ))),
            BeginResult::Truncated(reason) => Ok(Some(Some(reason))),
        };
        let outcome: Result<Option<Option<String>>, TauError> = step();
        let reason = match outcome {
            Ok(None) => return Ok(true),
            Ok(Some(reason)) => reason,
            // Damage after the first steps keeps these.
            Err(error) if stream.steps_read() > 0 => Some(error.with_causes()),
            Err(error) => return Err(error),
        };
        if let Some(reason) = reason {
            let rank = rank_in_name(&self.path).map(callgrove_model::RankId);
            warnings.count(WarningKind::StreamTruncated, rank, || {
                format!("{reason}: {}", self.path.display())
            });
        }
        Ok(false)
    }

    fn close(&self, engine: AdiosEngine) -> Result<(), TauError> {
        engine
            .close()
            .map_err(|source| write_error(source, &self.out))
    }

    fn report(&self, report: Report) {
        // A cancelled replay has no receiver, and the report is no longer needed.
        self.sender.send(report).ok();
    }
}

impl From<replay_clock::Stopped> for TauError {
    fn from(_: replay_clock::Stopped) -> Self {
        Cancelled.into()
    }
}
