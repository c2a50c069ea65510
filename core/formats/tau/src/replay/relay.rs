//! Copies the streams of a running job to files as they arrive: a reader that the job can rely on, even if the
//! detecting readers fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use callgrove_adios2_sys::{AdiosEngine, Library, LibraryOnDemand};
use callgrove_local::create_private_folder;
use callgrove_model::{Progress, RankId, WarningKind, Warnings};

use super::copy::Copier;
use super::relay_file::RelayFile;
use super::{POLL_INTERVAL, QUEUE_LEN};
use crate::adios2::{BeginResult, BpStream, WriterEngine, write_error};
use crate::error::TauError;
use crate::live_options::{LiveEngine, LiveOptions};
use callgrove_source::rank_in_name;

/// The options of a relay.
#[derive(Clone, Debug)]
pub struct RelayOptions {
    /// The folder for the files, which get the names of the streams. It is made, for this user alone, if it does not
    /// exist.
    pub out: PathBuf,
    /// Longest wait for the streams of the job.
    pub connect_timeout: Duration,
    /// Size of all files together above which steps are dropped, in bytes; `None` drops them when the disk is full.
    pub max_bytes: Option<u64>,
    /// The ADIOS2 that reads and writes.
    pub adios2: LibraryOnDemand,
}

/// The result of a relay.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RelaySummary {
    /// Number of steps of all streams together that are in the files.
    pub num_steps: u64,
    /// Number of steps that were read from the job and are in no file.
    pub num_dropped: u64,
    /// The damage of the streams and files.
    pub warnings: Warnings,
}

/// Copies live streams over SST to BP5 files, each on its own thread, until all have ended or the caller stops. A step
/// is read from the job as soon as it arrives. A step that the files cannot store is dropped as a whole and counted.
/// The names that it announced are written with the next stored step. The folder states which streams come, what was
/// dropped, and whether the relay still runs ([`super::RelayState`]).
///
/// # Errors
/// [`TauError::Folder`] if the folder for the files cannot be made, belongs to another user or to another relay; the
/// error of the first stream if none can be opened.
pub fn relay(
    streams: &[PathBuf],
    options: &RelayOptions,
    progress: Progress<'_>,
) -> Result<RelaySummary, TauError> {
    let library = options.adios2.get()?;
    let of_folder = |source| TauError::Folder {
        source,
        path: options.out.clone(),
    };
    create_private_folder(&options.out).map_err(of_folder)?;
    let names = streams.iter().map(PathBuf::as_path);
    let file = RelayFile::create(&options.out, names).map_err(of_folder)?;
    let shared = Arc::new(Shared {
        is_stopped: AtomicBool::default(),
        max_bytes: options.max_bytes.unwrap_or(u64::MAX),
        num_bytes: AtomicU64::default(),
        num_steps: AtomicU64::default(),
        num_dropped: AtomicU64::default(),
        file: Mutex::new(file),
    });
    let (sender, reports) = mpsc::sync_channel(QUEUE_LEN);
    for path in streams {
        let link = Link {
            path: path.clone(),
            out: options.out.join(path.file_name().unwrap_or_default()),
            connect_timeout: options.connect_timeout,
            library: library.clone(),
            shared: Arc::clone(&shared),
        };
        let sender: SyncSender<LinkOutcome> = sender.clone();
        let started = thread::Builder::new()
            .name("relay".to_owned())
            .spawn(move || {
                let outcome = link.run();
                // The receiver lives until all links have ended.
                sender.send((link.path, outcome)).ok();
            });
        if let Err(source) = started {
            shared.is_stopped.store(true, Ordering::Relaxed);
            return Err(TauError::Io {
                source,
                path: path.clone(),
            });
        }
    }
    drop(sender);
    let summary = collect(&reports, &shared, streams.len(), progress)?;
    shared.file().end().map_err(of_folder)?;
    Ok(summary)
}

/// The stream of a link, and its result.
type LinkOutcome = (PathBuf, Result<Warnings, TauError>);

/// Waits for all links, and asks them to end once the caller stops.
fn collect(
    reports: &Receiver<LinkOutcome>,
    shared: &Shared,
    num_streams: usize,
    progress: Progress<'_>,
) -> Result<RelaySummary, TauError> {
    let (mut warnings, mut failures) = (Warnings::default(), Vec::new());
    loop {
        match reports.recv_timeout(POLL_INTERVAL) {
            Ok((_, Ok(of_link))) => warnings.join(of_link),
            Ok((path, Err(error))) => {
                let rank = rank_in_name(&path).map(RankId);
                warnings.count(WarningKind::RankUnreadable, rank, || error.with_causes());
                failures.push(error);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        shared.state_dropped();
        if progress.at(0.0).is_err() {
            shared.is_stopped.store(true, Ordering::Relaxed);
        }
    }
    if failures.len() == num_streams
        && let Some(error) = failures.into_iter().next()
    {
        return Err(error);
    }
    Ok(RelaySummary {
        num_steps: shared.num_steps.load(Ordering::Relaxed),
        num_dropped: shared.num_dropped.load(Ordering::Relaxed),
        warnings,
    })
}

/// What all links share.
struct Shared {
    is_stopped: AtomicBool,
    max_bytes: u64,
    num_bytes: AtomicU64,
    num_steps: AtomicU64,
    num_dropped: AtomicU64,
    file: Mutex<RelayFile>,
}

impl Shared {
    fn file(&self) -> MutexGuard<'_, RelayFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// States in the folder how many steps were dropped. After a failure, the end states it.
    fn state_dropped(&self) {
        let num_dropped = self.num_dropped.load(Ordering::Relaxed);
        self.file().state_dropped(num_dropped).ok();
    }
}

/// One stream and its files.
struct Link {
    path: PathBuf,
    out: PathBuf,
    connect_timeout: Duration,
    library: Library,
    shared: Arc<Shared>,
}

/// The files of a stream, until they can no longer be written.
struct FileSystem {
    copier: Copier,
    engine: Option<AdiosEngine>,
    num_bytes: u64,
}

impl Link {
    fn run(&self) -> Result<Warnings, TauError> {
        let mut options = LiveOptions::new(LiveEngine::Sst);
        options.connect_timeout = self.connect_timeout;
        let mut stream = BpStream::open_live(&self.path, &options, &self.library)?;
        let mut warnings = Warnings::default();
        let mut files = self.open_files(&mut warnings);
        while !self.shared.is_stopped.load(Ordering::Relaxed) {
            match self.take_step(&mut stream, &mut files.copier, &mut warnings) {
                Ok(StepTransfer::Step) => self.write(&mut files, &mut warnings),
                Ok(StepTransfer::NotReady) => {}
                Ok(StepTransfer::End) => break,
                Err(reason) => {
                    self.warn(&mut warnings, &reason);
                    break;
                }
            }
        }
        // Those who see the end of the file see what is not in it, too.
        self.shared.state_dropped();
        if let Some(Err(source)) = files.engine.map(AdiosEngine::close) {
            self.warn(&mut warnings, &write_error(source, &self.out).with_causes());
        }
        Ok(warnings)
    }

    /// Copies the next step into memory, after which the job can discard it. The error states why no more steps come.
    fn take_step(
        &self,
        stream: &mut BpStream,
        copier: &mut Copier,
        warnings: &mut Warnings,
    ) -> Result<StepTransfer, String> {
        match stream
            .begin_step(POLL_INTERVAL)
            .map_err(|error| error.with_causes())?
        {
            BeginResult::Step(step, missing) => {
                let num_missing = u64::try_from(missing).unwrap_or(u64::MAX);
                let place = || format!("before step {step}: {}", self.path.display());
                warnings.count_many(WarningKind::StepMissing, self.rank(), num_missing, place);
                let read = stream.engine().map_or(Ok(()), |it| copier.read(it));
                read.map_err(|error| error.to_string())?;
                stream.end_step().map_err(|error| error.with_causes())?;
                Ok(StepTransfer::Step)
            }
            BeginResult::NotReady => Ok(StepTransfer::NotReady),
            BeginResult::End => Ok(StepTransfer::End),
            BeginResult::Truncated(reason) => Err(reason),
        }
    }

    fn open_files(&self, warnings: &mut Warnings) -> FileSystem {
        let opened = WriterEngine::Bp5.open(&self.out, &self.library, |_| Ok(()));
        FileSystem {
            copier: Copier::default(),
            engine: opened
                .map_err(|error| self.warn(warnings, &error.with_causes()))
                .ok(),
            num_bytes: 0,
        }
    }

    /// Writes the copied step, or drops it.
    fn write(&self, files: &mut FileSystem, warnings: &mut Warnings) {
        let shared = &*self.shared;
        let is_full = shared.num_bytes.load(Ordering::Relaxed) >= shared.max_bytes;
        let written = match &mut files.engine {
            Some(engine) if !is_full => files.copier.write(engine),
            _ => {
                shared.num_dropped.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        if let Err(source) = written {
            shared.num_dropped.fetch_add(1, Ordering::Relaxed);
            self.warn(warnings, &write_error(source, &self.out).with_causes());
            files.engine = None;
            return;
        }
        shared.num_steps.fetch_add(1, Ordering::Relaxed);
        let num_bytes = bytes_in(&self.out);
        let added = num_bytes.saturating_sub(files.num_bytes);
        shared.num_bytes.fetch_add(added, Ordering::Relaxed);
        files.num_bytes = num_bytes;
    }

    fn rank(&self) -> Option<RankId> {
        rank_in_name(&self.path).map(RankId)
    }

    fn warn(&self, warnings: &mut Warnings, reason: &str) {
        let place = || format!("{reason}: {}", self.path.display());
        warnings.count(WarningKind::StreamTruncated, self.rank(), place);
    }
}

/// The result of a request for the next step.
enum StepTransfer {
    Step,
    NotReady,
    End,
}

/// Returns the size of the files in a folder, in bytes, of those that are readable.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok());
    files.map(|file| file.len()).sum()
}
