//! The steps of a BP folder or a live stream, one after another, whatever they hold.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_adios2_sys::{
    Adios, Adios2Error, AdiosEngine, Io, Library, LibraryOnDemand, OpenMode, StepStatus,
};
use callgrove_model::{StepId, fnv1a};

use super::index::BpIndex;
use super::namesakes::library_for;
use super::step_origin::StepOrigin;
use super::stored_rows::StoredRows;
use crate::{LiveEngine, LiveOptions, TraceError};

/// The name under which TAU's plugin declares its stream.
pub(super) const IO_NAME: &str = "TAU trace data";
/// How often a folder is looked into.
const FILE_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How often SST, which has the step in memory already, is asked for it.
const SST_POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The answer to a request for the next step.
pub(crate) enum Begun {
    /// A step with its number: read it, then [`BpStream::end_step`]. Before it, so many are missing.
    Step(StepId, usize),
    /// None within the time given.
    NotReady,
    /// There will be none.
    End,
    /// There will be none, though the writer has not said so; the text says how that shows.
    Truncated(String),
}

/// A stream that is open for reading.
#[derive(Debug)]
pub(crate) struct BpStream {
    pub(crate) path: PathBuf,
    pub(super) origin: StepOrigin,
    /// Over SST, what the writer says of itself, which no other writer says.
    pub(crate) contact: Option<String>,
    /// What the files said when the stream was opened; `None` if it has none.
    index: Option<BpIndex>,
    /// `data.0`, if there are arrays that are read from there.
    data: Option<File>,
    is_live: bool,
    /// When the last step came.
    last_step: Instant,
    silence_timeout: Option<Duration>,
    steps_read: usize,
    /// Number of the step that should come next.
    next_step: usize,
}

/// Whether the files of a folder tell all that TAU writes.
pub(crate) fn is_read_without_adios2(path: &Path) -> bool {
    BpIndex::read(path).is_ok_and(|index| index.attributes.is_some())
}

impl BpStream {
    /// Checks the folder's files against each other, then opens it with ADIOS2, so that whatever is in it can be read.
    ///
    /// # Errors
    /// Any [`TraceError`] that concerns one stream.
    pub(crate) fn open(path: &Path, library: &Library) -> Result<Self, TraceError> {
        let index = BpIndex::read(path)?.for_adios2()?;
        Self::of_folder(path, index, open_engine(path, library, set_file)?)
    }

    /// The same to read what TAU writes: without ADIOS2 if the files alone tell it.
    ///
    /// # Errors
    /// Any [`TraceError`] that concerns one stream.
    pub(crate) fn open_for_tau(path: &Path, adios2: &LibraryOnDemand) -> Result<Self, TraceError> {
        let mut index = BpIndex::read(path)?;
        let origin = match index.take_attributes()? {
            Some(attributes) => StepOrigin::Files(attributes),
            None => open_engine(path, &adios2.get()?, set_file)?,
        };
        Self::of_folder(path, index, origin)
    }

    fn of_folder(path: &Path, index: BpIndex, origin: StepOrigin) -> Result<Self, TraceError> {
        let mut data = None;
        if index.stored(0).is_some() {
            let path = path.join("data.0");
            data = Some(File::open(&path).map_err(|source| TraceError::Io { source, path })?);
        }
        Ok(Self {
            data,
            ..Self::new(path, origin, Some(index), None)
        })
    }

    /// Waits for the writer, then opens its stream. Of a folder, what is there then is checked.
    ///
    /// # Errors
    /// [`TraceError::NoWriter`], [`TraceError::WriterEnded`], and any other [`TraceError`] that concerns one stream.
    pub(crate) fn open_live(
        path: &Path,
        options: &LiveOptions,
        library: &Library,
    ) -> Result<Self, TraceError> {
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

    /// Steps that the files held when the stream was opened; 0 if it has none.
    pub(crate) fn num_steps(&self) -> usize {
        self.index.as_ref().map_or(0, |index| index.num_steps)
    }

    /// Number of steps read.
    pub(crate) fn steps_read(&self) -> usize {
        self.steps_read
    }

    /// Goes to the next step, and waits for it no longer than `wait`.
    ///
    /// # Errors
    /// [`TraceError::Damaged`], [`TraceError::Stream`].
    pub(crate) fn begin_step(&mut self, wait: Duration) -> Result<Begun, TraceError> {
        if let Some(index) = &self.index {
            let step = self.steps_read;
            if index.is_closed && step == index.num_steps {
                let cut = index.cut.clone();
                return Ok(cut.map_or(Begun::End, Begun::Truncated));
            }
            if !index.may_have_data(step) {
                let bytes = index.data_bytes();
                return Err(TraceError::Damaged {
                    reason: format!("{bytes} bytes long, ends before step {step}"),
                    path: self.path.join("data.0"),
                });
            }
        }
        let status = match self.wait_for_step(wait) {
            Ok(status) => status,
            Err(error) if self.is_sst() => return Ok(Begun::Truncated(gone(&error.to_string()))),
            Err(error) => return Err(self.stream_error(error)),
        };
        match status {
            StepStatus::Ok => self.step_number(),
            StepStatus::NotReady => Ok(self.not_ready()),
            StepStatus::EndOfStream => Ok(Begun::End),
            StepStatus::OtherError if self.is_sst() => {
                Ok(Begun::Truncated(gone("the stream broke")))
            }
            StepStatus::OtherError => Err(TraceError::Damaged {
                reason: format!("ADIOS2 cannot go to step {}", self.next_step),
                path: self.path.clone(),
            }),
        }
    }

    /// Waits here, not in ADIOS2, which cannot do it well: its SST reader frees the timer of a wait twice if the
    /// step comes as it runs out (a crash, seen with 2.12.1), and its BP4 reader looks once and returns.
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
    /// [`TraceError::Stream`].
    pub(crate) fn end_step(&mut self) -> Result<(), TraceError> {
        self.origin
            .end_step()
            .map_err(|source| self.stream_error(source))?;
        self.steps_read += 1;
        self.last_step = Instant::now();
        Ok(())
    }

    /// Forgets the attributes that were taken in.
    ///
    /// # Errors
    /// [`TraceError::Stream`].
    pub(crate) fn forget_attributes(&mut self) -> Result<(), TraceError> {
        let forgotten = self.origin.forget_attributes();
        forgotten.map_err(|source| self.stream_error(source))
    }

    /// Whether another process hands the steps over, so that an error means that it is gone.
    pub(crate) fn is_sst(&self) -> bool {
        self.index.is_none()
    }

    /// Size of the data file, if the stream is one. Of steps that came after the folder was opened, nothing is
    /// known but what the file is now.
    ///
    /// # Errors
    /// [`TraceError::Io`].
    pub(crate) fn data_bytes(&self) -> Result<Option<u64>, TraceError> {
        match &self.index {
            Some(index) if self.steps_read >= index.num_steps => {
                let path = self.path.join("data.0");
                match std::fs::metadata(&path) {
                    Ok(metadata) => Ok(Some(metadata.len())),
                    Err(source) => Err(TraceError::Io { source, path }),
                }
            }
            index => Ok(index.as_ref().map(BpIndex::data_bytes)),
        }
    }

    /// ADIOS2, if there is anything left to ask of it.
    pub(crate) fn engine(&self) -> Option<&AdiosEngine> {
        self.origin.engine()
    }

    /// What can be told of the step without ADIOS2.
    pub(super) fn stored_rows(&self) -> Option<StoredRows<'_>> {
        let step = self.index.as_ref()?.stored(self.steps_read)?;
        let file = self.data.as_ref()?;
        Some(StoredRows { file, step })
    }

    /// The stream's own number of the step at which the engine is. Only a live stream can have lost some.
    fn step_number(&mut self) -> Result<Begun, TraceError> {
        let mut step = self.next_step;
        if let (true, Some(engine)) = (self.is_live, self.engine()) {
            step = engine
                .current_step()
                .map_err(|source| self.stream_error(source))?;
        }
        let missing = step.saturating_sub(self.next_step);
        self.next_step = step.saturating_add(1);
        let step = StepId(u32::try_from(step).unwrap_or(u32::MAX));
        Ok(Begun::Step(step, missing))
    }

    fn not_ready(&self) -> Begun {
        match self.silence_timeout {
            Some(timeout) if self.last_step.elapsed() >= timeout => Begun::Truncated(format!(
                "no step for {timeout:?} after {} steps; was the writer killed?",
                self.steps_read
            )),
            _ => Begun::NotReady,
        }
    }

    fn stream_error(&self, source: Adios2Error) -> TraceError {
        TraceError::Stream {
            source,
            path: self.path.clone(),
        }
    }
}

/// How it shows that the writer of a live stream died.
pub(crate) fn gone(reason: &str) -> String {
    format!("the writer is gone and has not closed it ({reason})")
}

fn open_engine(
    path: &Path,
    library: &Library,
    set: impl FnOnce(&Io) -> Result<(), Adios2Error>,
) -> Result<StepOrigin, TraceError> {
    let open = || {
        let io = Adios::new(library)?.declare_io(IO_NAME)?;
        set(&io)?;
        io.open(path, OpenMode::Read)
    };
    let opened = open().map_err(|source| TraceError::Stream {
        source,
        path: path.to_owned(),
    });
    opened.map(StepOrigin::Adios2)
}

fn set_file(io: &Io) -> Result<(), Adios2Error> {
    // The file is there, so there is nothing to wait for; and one thread reads faster than several, because
    // rows of one step are one block.
    io.set_parameters([("OpenTimeoutSecs", "0"), ("Threads", "1")])?;
    // With the default, POSIX, a read beyond the end of a file never returns.
    io.add_transport("File", [("Library", "stdio")])
}

/// The file by which readers find the writer.
fn contact_of(path: &Path) -> PathBuf {
    let mut contact = path.as_os_str().to_owned();
    contact.push(".sst");
    PathBuf::from(contact)
}

/// Opens are done one at a time, so the writer is waited for outside of them, by the file that it leaves for its
/// readers. One that is there lets a reader in when it opens its stream, or else with its next step; ADIOS2 waits for
/// that without limit, and must: a writer that lets in a reader that is gone hangs or crashes (seen with 2.12.1).
fn open_sst(path: &Path, timeout: Duration, library: &Library) -> Result<StepOrigin, TraceError> {
    let no_writer = |reason| TraceError::NoWriter {
        reason,
        seconds: timeout.as_secs_f32(),
        path: path.to_owned(),
    };
    let start = Instant::now();
    let contact = contact_of(path);
    // The file of a job that died, behind which no writer answers: a new job replaces it.
    let mut dead: Option<(Vec<u8>, Adios2Error)> = None;
    loop {
        let found = fs::read(&contact).ok();
        let is_new = |found: &Vec<u8>| dead.as_ref().is_none_or(|(dead, _)| dead != found);
        if let Some(found) = found.filter(is_new) {
            match open_sst_now(path, &contact, library) {
                Err(TraceError::Stream { source, .. }) => dead = Some((found, source)),
                opened => return opened,
            }
        }
        if start.elapsed() >= timeout {
            let missing = || format!("there is no {}", contact.display());
            return Err(no_writer(
                dead.map_or_else(missing, |(_, why)| why.to_string()),
            ));
        }
        thread::sleep(FILE_POLL_INTERVAL);
    }
}

/// Opens the stream of the writer that left the contact file.
fn open_sst_now(path: &Path, contact: &Path, library: &Library) -> Result<StepOrigin, TraceError> {
    let library = library_for(contact, library).map_err(|source| TraceError::Stream {
        source,
        path: path.to_owned(),
    })?;
    let opened = open_engine(path, &library, |io| {
        io.set_engine("SST")?;
        // For the file, which is gone by now if its writer is.
        io.set_parameter("OpenTimeoutSecs", "1")
    });
    opened.map_err(|error| match error {
        // It takes its file away at its end.
        TraceError::Stream { .. } if !contact.is_file() => TraceError::WriterEnded {
            path: path.to_owned(),
        },
        error => error,
    })
}

/// The index of a folder that its writer may not have made yet, or not whole.
fn wait_for_index(path: &Path, timeout: Duration) -> Result<BpIndex, TraceError> {
    let start = Instant::now();
    loop {
        let error = match BpIndex::read(path).and_then(BpIndex::for_adios2) {
            Ok(index) => return Ok(index),
            Err(error @ (TraceError::NotFound { .. } | TraceError::Damaged { .. })) => error,
            Err(error) => return Err(error),
        };
        if start.elapsed() >= timeout {
            return Err(TraceError::NoWriter {
                reason: error.to_string(),
                seconds: timeout.as_secs_f32(),
                path: path.to_owned(),
            });
        }
        thread::sleep(FILE_POLL_INTERVAL);
    }
}
