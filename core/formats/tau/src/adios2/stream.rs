//! Reads the steps of a BP folder or a live stream, one after another, independent of their contents.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_adios2_sys::{
    Adios, Adios2Error, AdiosEngine, Io, Library, LibraryOnDemand, OpenMode, StepStatus,
};
use callgrove_model::{StepId, fnv1a};
use callgrove_source::SourceError;

use super::bp_index::BpIndex;
use super::colliding_writers::library_for;
use super::step_origin::StepOrigin;
use super::stored_rows::StoredRows;
use crate::error::TauError;
use crate::live_options::{LiveEngine, LiveOptions};

/// The name under which TAU's plugin declares its stream.
pub(super) const IO_NAME: &str = "TAU trace data";
/// Interval between two checks of a folder.
const FILE_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Interval between two attempts to open a stream for which no copy of ADIOS2 is free. Each may load a copy, which
/// takes some 10 ms.
const BUSY_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Number of streams over SST that this process has opened.
static NUM_OPENED: AtomicU64 = AtomicU64::new(0);
/// Interval between two requests to SST, which has the step in memory already.
const SST_POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The answer to a request for the next step.
pub(crate) enum BeginResult {
    /// A step with its number, and the number of steps missing before it. Read it, then call [`BpStream::end_step`].
    Step(StepId, usize),
    /// No step arrived within the given time.
    NotReady,
    /// The stream has ended.
    End,
    /// The stream has ended without a statement of the writer. The text is the evidence.
    Truncated(String),
}

/// A stream that is open for reading.
#[derive(Debug)]
pub(crate) struct BpStream {
    pub(crate) path: PathBuf,
    pub(super) origin: StepOrigin,
    /// The writer's identity over SST, which no other writer has.
    pub(crate) contact: Option<String>,
    /// The index of the files when the stream was opened; `None` over SST.
    index: Option<BpIndex>,
    /// The file `data.0`, if arrays are read from it.
    data: Option<File>,
    is_live: bool,
    /// The time of the last step.
    last_step: Instant,
    silence_timeout: Option<Duration>,
    steps_read: usize,
    /// Number of the next expected step.
    next_step: usize,
}

/// Returns whether the files of a folder describe all of TAU's data.
pub(crate) fn is_read_without_adios2(path: &Path) -> bool {
    BpIndex::read(path).is_ok_and(|index| index.attributes.is_some())
}

impl BpStream {
    /// Checks the folder's files against each other, then opens it with ADIOS2, so that any contents can be read.
    ///
    /// # Errors
    /// Any [`TauError`] that concerns one stream.
    pub(crate) fn open(path: &Path, library: &Library) -> Result<Self, TauError> {
        let index = BpIndex::read(path)?.for_adios2()?;
        Self::of_folder(path, index, open_engine(path, library, set_file)?)
    }

    /// Opens a folder to read TAU's data: without ADIOS2 if the files alone describe it.
    ///
    /// # Errors
    /// Any [`TauError`] that concerns one stream.
    pub(crate) fn open_for_tau(path: &Path, adios2: &LibraryOnDemand) -> Result<Self, TauError> {
        let mut index = BpIndex::read(path)?;
        let origin = match index.take_attributes()? {
            Some(attributes) => StepOrigin::FileSystem(attributes),
            None => open_engine(path, &adios2.get()?, set_file)?,
        };
        Self::of_folder(path, index, origin)
    }

    fn of_folder(path: &Path, index: BpIndex, origin: StepOrigin) -> Result<Self, TauError> {
        let mut data = None;
        if index.stored(0).is_some() {
            let path = path.join("data.0");
            data = Some(File::open(&path).map_err(|source| TauError::Io { source, path })?);
        }
        Ok(Self {
            data,
            ..Self::new(path, origin, Some(index), None)
        })
    }

    /// Waits for the writer, then opens its stream. The current contents of a folder are checked.
    ///
    /// # Errors
    /// [`SourceError::NoWriter`], [`SourceError::WriterEnded`], and any other [`TauError`] that concerns one stream.
    pub(crate) fn open_live(
        path: &Path,
        options: &LiveOptions,
        library: &Library,
    ) -> Result<Self, TauError> {
        let mut contact = None;
        let (index, origin) = match options.engine {
            LiveEngine::Sst => {
                let origin = open_sst(path, options.connect_timeout, library)?;
                let text = std::fs::read(contact_of(path)).ok();
                contact = text.map(|text| format!("{:016x}", fnv1a(&text)));
                (None, origin)
            }
            LiveEngine::Bp => {
                let index = wait_for_index(path, options.connect_timeout)?;
                (Some(index), open_engine(path, library, set_file)?)
            }
        };
        Ok(Self {
            contact,
            ..Self::new(path, origin, index, Some(options))
        })
    }

    fn new(
        path: &Path,
        origin: StepOrigin,
        index: Option<BpIndex>,
        live: Option<&LiveOptions>,
    ) -> Self {
        Self {
            path: path.to_owned(),
            origin,
            contact: None,
            index,
            data: None,
            is_live: live.is_some(),
            last_step: Instant::now(),
            silence_timeout: live.and_then(|options| options.silence_timeout),
            steps_read: 0,
            next_step: 0,
        }
    }

    /// Returns the number of steps in the files when the stream was opened; 0 over SST.
    pub(crate) fn num_steps(&self) -> usize {
        self.index.as_ref().map_or(0, |index| index.num_steps)
    }

    /// Returns the number of steps read.
    pub(crate) fn steps_read(&self) -> usize {
        self.steps_read
    }

    /// Goes to the next step, and waits for it no longer than `wait`.
    ///
    /// # Errors
    /// [`TauError::Damaged`], [`TauError::Stream`].
    pub(crate) fn begin_step(&mut self, wait: Duration) -> Result<BeginResult, TauError> {
        if let Some(index) = &self.index {
            let step = self.steps_read;
            if index.is_closed && step == index.num_steps {
                let cut = index.cut.clone();
                return Ok(cut.map_or(BeginResult::End, BeginResult::Truncated));
            }
            if !index.may_have_data(step) {
                let bytes = index.data_bytes();
                return Err(TauError::Damaged {
                    reason: format!("{bytes} bytes long, ends before step {step}"),
                    path: self.path.join("data.0"),
                });
            }
        }
        let status = match self.wait_for_step(wait) {
            Ok(status) => status,
            Err(error) if self.is_sst() => {
                return Ok(BeginResult::Truncated(writer_died(&error.to_string())));
            }
            Err(error) => return Err(self.stream_error(error)),
        };
        match status {
            StepStatus::Ok => self.step_number(),
            StepStatus::NotReady => Ok(self.not_ready()),
            StepStatus::EndOfStream => Ok(BeginResult::End),
            StepStatus::OtherError if self.is_sst() => {
                Ok(BeginResult::Truncated(writer_died("connection lost")))
            }
            StepStatus::OtherError => Err(TauError::Damaged {
                reason: format!("ADIOS2 cannot go to step {}", self.next_step),
                path: self.path.clone(),
            }),
        }
    }

    /// Waits here and not in ADIOS2, whose waits have defects: its SST reader frees the timer of a wait twice if the
    /// step arrives as the wait expires (a crash, seen with 2.12.1), and its BP4 reader checks once and returns.
    fn wait_for_step(&mut self, wait: Duration) -> Result<StepStatus, Adios2Error> {
        let start = Instant::now();
        let interval = if self.is_sst() {
            SST_POLL_INTERVAL
        } else {
            FILE_POLL_INTERVAL
        };
        loop {
            let status = self.origin.begin_step()?;
            let left = wait.saturating_sub(start.elapsed());
            if status != StepStatus::NotReady || left.is_zero() {
                return Ok(status);
            }
            thread::sleep(interval.min(left));
        }
    }

    /// Ends the step.
    ///
    /// # Errors
    /// [`TauError::Stream`].
    pub(crate) fn end_step(&mut self) -> Result<(), TauError> {
        self.origin
            .end_step()
            .map_err(|source| self.stream_error(source))?;
        self.steps_read += 1;
        self.last_step = Instant::now();
        Ok(())
    }

    /// Drops the attributes that were read.
    ///
    /// # Errors
    /// [`TauError::Stream`].
    pub(crate) fn forget_attributes(&mut self) -> Result<(), TauError> {
        let forgotten = self.origin.forget_attributes();
        forgotten.map_err(|source| self.stream_error(source))
    }

    /// Returns whether another process sends the steps, so that an error means that it has ended.
    pub(crate) fn is_sst(&self) -> bool {
        self.index.is_none()
    }

    /// Returns the size of the data file in bytes, if there is one. For steps that arrived after the folder was opened,
    /// only the current size is known.
    ///
    /// # Errors
    /// [`TauError::Io`].
    pub(crate) fn data_bytes(&self) -> Result<Option<u64>, TauError> {
        match &self.index {
            Some(index) if self.steps_read >= index.num_steps => {
                let path = self.path.join("data.0");
                match std::fs::metadata(&path) {
                    Ok(metadata) => Ok(Some(metadata.len())),
                    Err(source) => Err(TauError::Io { source, path }),
                }
            }
            index => Ok(index.as_ref().map(BpIndex::data_bytes)),
        }
    }

    /// Returns the engine of ADIOS2, if it is needed.
    pub(crate) fn engine(&self) -> Option<&AdiosEngine> {
        self.origin.engine()
    }

    /// Returns the contents of the step that are known without ADIOS2.
    pub(super) fn stored_rows(&self) -> Option<StoredRows<'_>> {
        let step = self.index.as_ref()?.stored(self.steps_read)?;
        let file = self.data.as_ref()?;
        Some(StoredRows { file, step })
    }

    /// Returns the stream's own number of the current step. Only a live stream can have lost steps.
    fn step_number(&mut self) -> Result<BeginResult, TauError> {
        let mut step = self.next_step;
        if let (true, Some(engine)) = (self.is_live, self.engine()) {
            step = engine
                .current_step()
                .map_err(|source| self.stream_error(source))?;
        }
        let missing = step.saturating_sub(self.next_step);
        self.next_step = step.saturating_add(1);
        let step = StepId(u32::try_from(step).unwrap_or(u32::MAX));
        Ok(BeginResult::Step(step, missing))
    }

    fn not_ready(&self) -> BeginResult {
        match self.silence_timeout {
            Some(timeout) if self.last_step.elapsed() >= timeout => {
                BeginResult::Truncated(format!(
                    "no step for {timeout:?} after {} steps; was the writer killed?",
                    self.steps_read
                ))
            }
            _ => BeginResult::NotReady,
        }
    }

    fn stream_error(&self, source: Adios2Error) -> TauError {
        TauError::Stream {
            source,
            path: self.path.clone(),
        }
    }
}

/// Returns the message that the writer of a live stream died.
pub(crate) fn writer_died(reason: &str) -> String {
    format!("the writer has ended without closing the stream ({reason})")
}

fn open_engine(
    path: &Path,
    library: &Library,
    set: impl FnOnce(&Io) -> Result<(), Adios2Error>,
) -> Result<StepOrigin, TauError> {
    let open = || {
        let io = Adios::new(library)?.declare_io(IO_NAME)?;
        set(&io)?;
        io.open(path, OpenMode::Read)
    };
    let opened = open().map_err(|source| TauError::Stream {
        source,
        path: path.to_owned(),
    });
    opened.map(StepOrigin::Adios2)
}

fn set_file(io: &Io) -> Result<(), Adios2Error> {
    // The file exists, so there is nothing to wait for. One thread reads faster than several, because the rows of one
    // step are one block.
    io.set_parameters([("OpenTimeoutSecs", "0"), ("Threads", "1")])?;
    // With the default, POSIX, a read beyond the end of a file never returns.
    io.add_transport("File", [("Library", "stdio")])
}

/// Returns the path of the file by which readers find the writer.
fn contact_of(path: &Path) -> PathBuf {
    let mut contact = path.as_os_str().to_owned();
    contact.push(".sst");
    PathBuf::from(contact)
}

/// Waits for the contact file outside of ADIOS2, which opens streams one at a time, then opens the stream. A writer
/// admits a reader when it opens its stream, or else with its next step. ADIOS2 waits for that without limit, and must:
/// a writer that admits a reader that has ended hangs or crashes (seen with 2.12.1). Other streams that wait like this
/// may occupy all copies of ADIOS2; the timeout then counts from the last one that was opened.
fn open_sst(path: &Path, timeout: Duration, library: &Library) -> Result<StepOrigin, TauError> {
    let mut start = Instant::now();
    let mut num_opened = NUM_OPENED.load(Ordering::Relaxed);
    let contact = contact_of(path);
    // The contact file of a job that died, which no writer answers. A new job replaces it.
    let mut dead: Option<(Vec<u8>, Adios2Error)> = None;
    loop {
        let mut busy = None;
        let found = fs::read(&contact).ok();
        let is_new = |found: &Vec<u8>| dead.as_ref().is_none_or(|(dead, _)| dead != found);
        if let Some(found) = found.filter(is_new) {
            match open_sst_now(path, &contact, library) {
                Err(TauError::Stream { source, .. }) if is_busy(&source) => busy = Some(source),
                Err(TauError::Stream { source, .. }) => dead = Some((found, source)),
                opened => {
                    NUM_OPENED.fetch_add(1, Ordering::Relaxed);
                    return opened;
                }
            }
        }
        let num_opened_now = NUM_OPENED.load(Ordering::Relaxed);
        if busy.is_some() && num_opened != num_opened_now {
            (start, num_opened) = (Instant::now(), num_opened_now);
        }
        if start.elapsed() >= timeout {
            let reason = busy.or(dead.map(|it| it.1));
            return Err(no_writer(path, timeout, silence(&contact, reason)));
        }
        thread::sleep(if busy.is_some() {
            BUSY_POLL_INTERVAL
        } else {
            FILE_POLL_INTERVAL
        });
    }
}

/// Returns whether all copies of ADIOS2 that this process can load wait for other writers, or cannot distinguish this
/// one from theirs.
fn is_busy(error: &Adios2Error) -> bool {
    matches!(
        error,
        Adios2Error::Busy { .. } | Adios2Error::NotTwice { .. }
    )
}

/// Returns why no writer answered: `dead` is the error of ADIOS2 of the newest contact file.
fn silence(contact: &Path, dead: Option<Adios2Error>) -> String {
    match dead {
        None => format!("there is no {}", contact.display()),
        // The code of a failed call gives no reason: ADIOS2 prints that itself.
        Some(Adios2Error::Call { .. }) => format!(
            "{} is there, but its writer does not answer: the file may be left from a run that has ended, so remove \
             it, or its writer may use another release of ADIOS2, so let CALLGROVE_ADIOS2 name that one",
            contact.display()
        ),
        Some(error) => error.to_string(),
    }
}

/// Opens the stream of the writer that left the contact file.
fn open_sst_now(path: &Path, contact: &Path, library: &Library) -> Result<StepOrigin, TauError> {
    let library = library_for(contact, library).map_err(|source| TauError::Stream {
        source,
        path: path.to_owned(),
    })?;
    let opened = open_engine(path, &library, |io| {
        io.set_engine("SST")?;
        // The timeout for the file, which is missing by now if its writer has ended.
        io.set_parameter("OpenTimeoutSecs", "1")
    });
    opened.map_err(|error| match error {
        // A writer removes its file at its end.
        TauError::Stream { .. } if !contact.is_file() => {
            let path = path.to_owned();
            SourceError::WriterEnded { path }.into()
        }
        error => error,
    })
}

fn no_writer(path: &Path, timeout: Duration, reason: String) -> TauError {
    let error = SourceError::NoWriter {
        reason,
        seconds: timeout.as_secs_f32(),
        path: path.to_owned(),
    };
    error.into()
}

/// Returns the index of a folder, and waits until its writer has written it completely.
fn wait_for_index(path: &Path, timeout: Duration) -> Result<BpIndex, TauError> {
    let start = Instant::now();
    loop {
        let error = match BpIndex::read(path).and_then(BpIndex::for_adios2) {
            Ok(index) => return Ok(index),
            Err(
                error @ (TauError::Common(SourceError::NotFound { .. }) | TauError::Damaged { .. }),
            ) => error,
            Err(error) => return Err(error),
        };
        if start.elapsed() >= timeout {
            return Err(no_writer(path, timeout, error.to_string()));
        }
        thread::sleep(FILE_POLL_INTERVAL);
    }
}
