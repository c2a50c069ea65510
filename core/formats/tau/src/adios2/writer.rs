//! Writes streams in the format of TAU's plugin, for generated traces, replays and tests.

use std::path::Path;

use callgrove_adios2_sys::{
    Adios, Adios2Error, AdiosEngine, DataType, Io, Library, OpenMode, StepStatus,
};

use super::decode::{COMM_COLUMNS, COUNTER_COLUMNS, FUNC_COLUMNS};
use super::stream::IO_NAME;
use crate::error::TauError;

/// The names of the event types, by the index that rows state.
pub const EVENT_TYPES: [&str; 4] = ["ENTRY", "EXIT", "SEND", "RECV"];

/// The engine of ADIOS2 that writes a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriterEngine {
    /// A BP4 folder.
    Bp4,
    /// A BP5 folder.
    Bp5,
    /// A stream over SST to readers that run at the same time.
    Sst(SstWriter),
}

/// The way in which a stream over SST treats its readers. The default is that of TAU's plugin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SstWriter {
    /// Number of readers that opening waits for; 0 does not wait.
    pub num_readers: u32,
    /// Number of steps that are kept until readers have taken them; 0 is unlimited.
    pub queue_limit: u32,
    /// The behaviour when the queue is full.
    pub queue_full: QueueFull,
}

/// The behaviour of a writer whose queue is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueFull {
    /// Wait until the queue has space for the step, so that nothing is lost.
    Block,
    /// Drop the step, so that the readers find a gap in the numbers.
    Discard,
}

impl Default for SstWriter {
    fn default() -> Self {
        Self {
            num_readers: 1,
            queue_limit: 0,
            queue_full: QueueFull::Block,
        }
    }
}

impl WriterEngine {
    /// Opens a stream for writing, with the name that TAU uses.
    pub(crate) fn open(
        self,
        path: &Path,
        library: &Library,
        define: impl FnOnce(&Io) -> Result<(), Adios2Error>,
    ) -> Result<AdiosEngine, TauError> {
        let open = || {
            let io = Adios::new(library)?.declare_io(IO_NAME)?;
            match self {
                Self::Bp4 => io.set_engine("BP4")?,
                Self::Bp5 => io.set_engine("BP5")?,
                Self::Sst(sst) => sst.set(&io)?,
            }
            define(&io)?;
            io.open(path, OpenMode::Write)
        };
        open().map_err(|source| write_error(source, path))
    }
}

impl SstWriter {
    fn set(self, io: &Io) -> Result<(), Adios2Error> {
        io.set_engine("SST")?;
        let queue_full = match self.queue_full {
            QueueFull::Block => "Block",
            QueueFull::Discard => "Discard",
        };
        io.set_parameters([
            (
                "RendezvousReaderCount",
                self.num_readers.to_string().as_str(),
            ),
            ("QueueLimit", &self.queue_limit.to_string()),
            ("QueueFullPolicy", queue_full),
        ])
    }
}

/// The data that TAU writes in one step of one rank. The columns of the rows are those of `event_timestamps`,
/// `counter_values` and `comm_timestamps` in the stream, with times in microseconds since the epoch.
#[derive(Clone, Debug, Default)]
pub struct TauStep {
    /// New attributes of this step, with name and text: `timer 3`, `counter 0`, `MetaData:<rank>:<thread>:<key>`.
    pub attributes: Vec<(String, String)>,
    /// Size of the communicator.
    pub num_ranks: i32,
    /// Highest thread id so far, plus one.
    pub num_threads: i32,
    /// Number of timers named so far.
    pub num_timers: i32,
    /// Number of counters named so far.
    pub num_counters: i32,
    /// Function events: program, rank, thread, event type, timer, time.
    pub funcs: Vec<[u64; FUNC_COLUMNS]>,
    /// Counter samples: program, rank, thread, counter, value, time.
    pub counters: Vec<[u64; COUNTER_COLUMNS]>,
    /// Messages: program, rank, thread, event type, tag, partner, bytes, time.
    pub comms: Vec<[u64; COMM_COLUMNS]>,
}

/// A stream that is being written step by step, and is closed when dropped. It announces the event types itself,
/// [`EVENT_TYPES`].
#[derive(Debug)]
pub struct TauWriter {
    pub(super) engine: AdiosEngine,
}

impl TauWriter {
    /// Opens the stream. With SST, readers find it by the file `<path>.sst`.
    ///
    /// # Errors
    /// [`TauError::Write`].
    pub fn open(path: &Path, engine: WriterEngine, library: &Library) -> Result<Self, TauError> {
        let engine = engine.open(path, library, define)?;
        Ok(Self { engine })
    }

    /// Writes one step.
    ///
    /// # Errors
    /// [`TauError::Write`], after which the stream is no longer usable.
    pub fn write(&mut self, step: &TauStep) -> Result<(), TauError> {
        let path = Path::new(self.engine.name()).to_owned();
        begin_step(&mut self.engine)
            .and_then(|()| put_step(&self.engine, step))
            .and_then(|()| self.engine.end_step())
            .map_err(|source| write_error(source, &path))
    }

    /// Closes the stream, as dropping it does, but returns the error.
    ///
    /// # Errors
    /// [`TauError::Write`].
    pub fn close(self) -> Result<(), TauError> {
        let path = Path::new(self.engine.name()).to_owned();
        self.engine
            .close()
            .map_err(|source| write_error(source, &path))
    }
}

/// Begins a step; for a writer, the status states only that there is one.
pub(crate) fn begin_step(engine: &mut AdiosEngine) -> Result<(), Adios2Error> {
    match engine.begin_step_to_write()? {
        StepStatus::Ok => Ok(()),
        _ => Err(Adios2Error::Poisoned {
            name: engine.name().to_owned(),
        }),
    }
}

pub(crate) fn write_error(source: Adios2Error, path: &Path) -> TauError {
    TauError::Write {
        source,
        path: path.to_owned(),
    }
}

fn define(io: &Io) -> Result<(), Adios2Error> {
    let scalars = [
        ("program_count", DataType::I32),
        ("comm_rank_count", DataType::I32),
        ("thread_count", DataType::I32),
        ("event_type_count", DataType::I32),
        ("timer_count", DataType::I32),
        ("timer_event_count", DataType::U64),
        ("counter_count", DataType::I32),
        ("counter_event_count", DataType::U64),
        ("comm_count", DataType::U64),
    ];
    for (name, data_type) in scalars {
        io.define_variable(name, data_type, &[], &[], &[])?;
    }
    let arrays = [
        ("event_timestamps", FUNC_COLUMNS),
        ("counter_values", COUNTER_COLUMNS),
        ("comm_timestamps", COMM_COLUMNS),
    ];
    for (name, columns) in arrays {
        io.define_variable(name, DataType::U64, &[1, columns], &[0, 0], &[1, columns])?;
    }
    for (index, name) in EVENT_TYPES.into_iter().enumerate() {
        io.define_text_attribute(&format!("event_type {index}"), name)?;
    }
    Ok(())
}

fn put_step(engine: &AdiosEngine, step: &TauStep) -> Result<(), Adios2Error> {
    for (name, text) in &step.attributes {
        engine.io().define_text_attribute(name, text)?;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "they are a handful"
    )]
    let counts = [
        ("program_count", 1),
        ("comm_rank_count", step.num_ranks),
        ("thread_count", step.num_threads),
        ("event_type_count", EVENT_TYPES.len() as i32),
        ("timer_count", step.num_timers),
        ("counter_count", step.num_counters),
    ];
    for (name, count) in counts {
        put(engine, name, &[count], &[])?;
    }
    put_rows(engine, "timer_event_count", "event_timestamps", &step.funcs)?;
    put_rows(
        engine,
        "counter_event_count",
        "counter_values",
        &step.counters,
    )?;
    put_rows(engine, "comm_count", "comm_timestamps", &step.comms)
}

/// Puts an array, unless it has no rows.
fn put_rows<const N: usize>(
    engine: &AdiosEngine,
    count: &str,
    name: &str,
    rows: &[[u64; N]],
) -> Result<(), Adios2Error> {
    put(engine, count, &[rows.len() as u64], &[])?;
    if rows.is_empty() {
        return Ok(());
    }
    put(engine, name, rows.as_flattened(), &[rows.len(), N])
}

/// Puts all values of a variable; `shape` is empty for a single value.
pub(crate) fn put<T: callgrove_adios2_sys::Element>(
    engine: &AdiosEngine,
    name: &str,
    values: &[T],
    shape: &[usize],
) -> Result<(), Adios2Error> {
    let variable = engine
        .io()
        .variable(name)?
        .ok_or_else(|| Adios2Error::WrongLength {
            name: name.to_owned(),
            expected: values.len(),
            found: 0,
        })?;
    if !shape.is_empty() {
        variable.set_shape(shape)?;
        variable.set_selection(&vec![0; shape.len()], shape)?;
    }
    engine.put(&variable, values)
}
