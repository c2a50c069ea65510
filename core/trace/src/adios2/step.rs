//! One step of TAU's stream, read from an engine, whichever engine that is.

use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::Path;

use callgrove_adios2_sys::{Adios2Error, AdiosEngine, DataType, ErrorCode, Variable};
use callgrove_model::{Metadata, ProgramId, RankId, StepBatch, StepId, WarningKind, Warnings};

use super::decode::{COMM_COLUMNS, COUNTER_COLUMNS, Decoder, FUNC_COLUMNS};
use super::schema::{AnnouncedNames, Counts, FUNC_ROW_COUNT};
use super::stored_rows::StoredRows;
use crate::TraceError;
use crate::rank_in_name::rank_in_name;

/// A count of rows is damaged if even well compressed rows would need more than the data file has.
const MAX_COMPRESSION: u64 = 1024;
const DATA_FILE: &str = "data.0";
/// Nothing has as many dimensions.
const MAX_DIMENSIONS: usize = 8;
/// What is said of more: ADIOS2 reads the lengths of all when a step begins, from wherever that leads.
pub(crate) const LED_ASTRAY: &str = "leads ADIOS2 out of its memory";
/// Rows are numbered with 32 bits.
const MAX_ROWS: u64 = 1 << 32;

/// The arrays of a step: the variable that counts their rows, their name, their columns, of which the last is
/// the time.
pub(crate) const ARRAYS: [(&str, &str, usize); 3] = [
    (FUNC_ROW_COUNT, "event_timestamps", FUNC_COLUMNS),
    ("counter_event_count", "counter_values", COUNTER_COLUMNS),
    ("comm_count", "comm_timestamps", COMM_COLUMNS),
];

/// ADIOS2 takes memory of the size of what it reads at once: so many rows, which stay in a worker's caches.
const ROWS_AT_ONCE: usize = 1 << 12;

/// Which rows of a step are read: all, unless less is enough.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct WantedRows {
    /// Those of function events alone.
    pub(super) functions_only: bool,
    /// The first and the last of each array.
    pub(super) edges_only: bool,
}

thread_local! {
    /// What the arrays of a step are read into. It belongs to the thread, not to the stream: one that reads many streams
    /// in turn finds it in its caches.
    static ROWS: RefCell<[Vec<u64>; 3]> = const { RefCell::new([const { Vec::new() }; 3]) };
}

/// What the steps read so far have told.
#[derive(Debug)]
pub(super) struct StepReader {
    program: ProgramId,
    pub(super) names: AnnouncedNames,
    /// From the stream's name until the stream states it.
    pub(super) rank: Option<RankId>,
    is_rank_stated: bool,
    pub(super) num_ranks: Option<u32>,
    /// Whether the attributes that ADIOS2 holds were taken in with the newest step.
    pub(super) has_attributes: bool,
    pub(super) wanted: WantedRows,
    pub(super) warnings: Warnings,
}

impl StepReader {
    /// For the stream at `path`, whose rows get the index `program`.
    pub(super) fn new(path: &Path, program: ProgramId) -> Self {
        Self {
            program,
            names: AnnouncedNames::default(),
            rank: rank_in_name(path).map(RankId),
            is_rank_stated: false,
            num_ranks: None,
            has_attributes: false,
            wanted: WantedRows::default(),
            warnings: Warnings::default(),
        }
    }

    /// Reads the step at which an engine is.
    pub(super) fn read(&mut self, at: &StepPlace<'_>) -> Result<StepBatch, TraceError> {
        let stream_error = |source| at.stream_error(source);
        let counts = Counts::read(at.engine).map_err(stream_error)?;
        let (metadata, has_attributes) = self
            .names
            .update(at.engine.io(), &counts)
            .map_err(stream_error)?;
        self.has_attributes = has_attributes;
        for attribute in self.names.take_changed() {
            let place = || format!("{attribute} in step {}", at.step.0);
            self.warnings
                .count(WarningKind::TextChanged, self.rank, place);
        }
        if let (false, Some(first)) = (self.is_rank_stated, metadata.first()) {
            self.rank = Some(first.rank);
            self.is_rank_stated = true;
        }
        self.num_ranks = counts.ranks.or(self.num_ranks);
        ROWS.with_borrow_mut(|memory| self.decode(at, &counts, metadata, memory))
    }

    fn decode(
        &mut self,
        at: &StepPlace<'_>,
        counts: &Counts,
        metadata: Vec<Metadata>,
        memory: &mut [Vec<u64>; 3],
    ) -> Result<StepBatch, TraceError> {
        let [func_rows, counter_rows, comm_rows] = at.read_rows(memory, self.wanted)?;
        let (func_rows, _) = func_rows.as_chunks::<FUNC_COLUMNS>();
        let (counter_rows, _) = counter_rows.as_chunks::<COUNTER_COLUMNS>();
        let (comm_rows, _) = comm_rows.as_chunks::<COMM_COLUMNS>();
        let rank = self
            .rank
            .or_else(|| Some(RankId(u32::try_from(func_rows.first()?[1]).ok()?)));
        self.rank = rank;
        let mut batch = StepBatch::empty(self.program, rank.unwrap_or_default(), at.step);
        let mut decoder = Decoder {
            rank: batch.rank,
            step: at.step.0,
            counts,
            names: &mut self.names,
            warnings: &mut self.warnings,
        };
        batch.funcs = decoder.funcs(func_rows);
        batch.counters = decoder.counters(counter_rows);
        batch.comms = decoder.comms(comm_rows);
        batch.metadata = metadata;
        Ok(batch)
    }
}

/// The step at which an engine is.
pub(super) struct StepPlace<'a> {
    pub(super) engine: &'a AdiosEngine,
    pub(super) path: &'a Path,
    pub(super) step: StepId,
    /// Size of the data file, if the stream is one.
    pub(super) data_bytes: Option<u64>,
    /// What can be read without the engine.
    pub(super) stored: Option<StoredRows<'a>>,
}

impl StepPlace<'_> {
    /// Reads the wanted rows of the step; of other arrays, and of one without rows, which is not in the step at all, there
    /// is nothing.
    fn read_rows<'m>(
        &self,
        memory: &'m mut [Vec<u64>; 3],
        wanted: WantedRows,
    ) -> Result<[&'m [u64]; 3], TraceError> {
        let mut lengths = [0; 3];
        for (array, memory) in memory.iter_mut().enumerate() {
            if array == 0 || !wanted.functions_only {
                lengths[array] = self.read_array(array, memory, wanted)?;
            }
        }
        let [funcs, counters, comms] = memory;
        Ok([
            &funcs[..lengths[0]],
            &counters[..lengths[1]],
            &comms[..lengths[2]],
        ])
    }

    /// Reads rows of an array; says how many numbers they are.
    fn read_array(
        &self,
        array: usize,
        memory: &mut Vec<u64>,
        wanted: WantedRows,
    ) -> Result<usize, TraceError> {
        let (count_name, name, num_columns) = ARRAYS[array];
        let num_rows = self.count_rows(count_name, num_columns)?;
        let variable = self.array(name)?;
        if num_rows == 0 {
            return Ok(0);
        }
        let variable = variable
            .ok_or_else(|| self.not_tau(name, "is missing, though rows are counted".to_owned()))?;
        // The array agrees with the count before memory for it is taken.
        self.expect_shape(&variable, name, [num_rows, num_columns])?;
        // What is not as large as it says must be compressed, and is told from what is damaged by all of it only.
        let is_stored = |bytes| (num_rows * num_columns * 8) as u64 <= bytes;
        let is_edges = wanted.edges_only && self.data_bytes.is_some_and(is_stored);
        let num_wanted = if is_edges { num_rows.min(2) } else { num_rows };
        let length = num_wanted * num_columns;
        // What is there is written over.
        if memory.len() < length {
            memory.resize(length, 0);
        }
        let rows = &mut memory[..length];
        if is_edges {
            let last = num_rows - 1;
            for (first, row) in [0, last].into_iter().zip(rows.chunks_mut(num_columns)) {
                self.read_by_engine(&variable, first, num_columns, row)?;
            }
        } else if !self.read_stored(array, num_rows, rows)? {
            // Over a network each read is an answer that is waited for.
            let at_once = self.data_bytes.map_or(num_rows, |_| ROWS_AT_ONCE);
            let chunks = rows.chunks_mut(at_once * num_columns);
            for (first, rows) in (0..).step_by(at_once).zip(chunks) {
                self.read_by_engine(&variable, first, num_columns, rows)?;
            }
        }
        Ok(length)
    }

    fn read_stored(
        &self,
        array: usize,
        num_rows: usize,
        rows: &mut [u64],
    ) -> Result<bool, TraceError> {
        let Some(stored) = self.stored else {
            return Ok(false);
        };
        let read = stored.read(array, (num_rows, ARRAYS[array].2), rows);
        read.map_err(|source| match source.kind() {
            ErrorKind::UnexpectedEof => self.cut_short(),
            _ => TraceError::Io {
                source,
                path: self.path.join(DATA_FILE),
            },
        })
    }

    fn read_by_engine(
        &self,
        variable: &Variable<'_>,
        first: usize,
        num_columns: usize,
        rows: &mut [u64],
    ) -> Result<(), TraceError> {
        let count = [rows.len() / num_columns, num_columns];
        let selected = variable.set_selection(&[first, 0], &count);
        selected.map_err(|source| self.stream_error(source))?;
        let mut gets = self.engine.gets();
        let read = gets.add(variable, rows).and_then(|()| gets.perform());
        read.map_err(|source| self.rows_error(source))
    }

    fn count_rows(&self, name: &'static str, num_columns: usize) -> Result<usize, TraceError> {
        let variable = self
            .engine
            .io()
            .variable(name)
            .map_err(|source| self.stream_error(source))?;
        let variable = variable.ok_or_else(|| self.not_tau(name, "is missing".to_owned()))?;
        let count = self
            .engine
            .get_value::<u64>(&variable)
            .map_err(|source| match source {
                Adios2Error::WrongType { found, .. } => self.not_tau(name, format!("is {found}")),
                source => self.stream_error(source),
            })?;
        let limit = self.data_bytes.map_or(MAX_ROWS, |bytes| {
            bytes.saturating_mul(MAX_COMPRESSION) / (num_columns as u64 * 8)
        });
        if count > limit.min(MAX_ROWS) {
            let step = self.step;
            let reason = format!("{name} of step {step} is {count}, more than the data can hold");
            return Err(TraceError::Damaged {
                reason,
                path: self.path.to_owned(),
            });
        }
        Ok(count as usize)
    }

    /// The array of this name, if the step has it.
    fn array(&self, name: &'static str) -> Result<Option<Variable<'_>>, TraceError> {
        let stream_error = |source| self.stream_error(source);
        let Some(variable) = self.engine.io().variable(name).map_err(stream_error)? else {
            return Ok(None);
        };
        let num_dimensions = variable.num_dimensions().map_err(stream_error)?;
        if num_dimensions > MAX_DIMENSIONS {
            let how = format!("{name} of {num_dimensions} dimensions {LED_ASTRAY}");
            let path = self.path.to_owned();
            return Err(TraceError::Fatal { how, path });
        }
        Ok(Some(variable))
    }

    fn expect_shape(
        &self,
        variable: &Variable<'_>,
        name: &'static str,
        [num_rows, num_columns]: [usize; 2],
    ) -> Result<(), TraceError> {
        let stream_error = |source| self.stream_error(source);
        let found = (
            variable.data_type().map_err(stream_error)?,
            variable.shape().map_err(stream_error)?,
        );
        if found != (DataType::U64, vec![num_rows, num_columns]) {
            let (data_type, shape) = found;
            return Err(self.not_tau(
                name,
                format!("is {data_type} {shape:?}, not uint64 [{num_rows}, {num_columns}]"),
            ));
        }
        Ok(())
    }

    /// The metadata of a file was whole, so a read that fails has run over the end of the data.
    fn rows_error(&self, source: Adios2Error) -> TraceError {
        let is_system = matches!(
            source,
            Adios2Error::Call {
                code: ErrorCode::System,
                ..
            }
        );
        if is_system && self.data_bytes.is_some() {
            self.cut_short()
        } else {
            self.stream_error(source)
        }
    }

    fn cut_short(&self) -> TraceError {
        let bytes = self.data_bytes.unwrap_or_default();
        TraceError::Damaged {
            reason: format!("{bytes} bytes long, ends within step {}", self.step),
            path: self.path.join(DATA_FILE),
        }
    }

    pub(super) fn stream_error(&self, source: Adios2Error) -> TraceError {
        TraceError::Stream {
            source,
            path: self.path.to_owned(),
        }
    }

    fn not_tau(&self, variable: &'static str, reason: String) -> TraceError {
        TraceError::NotTau {
            variable,
            reason,
            path: self.path.to_owned(),
        }
    }
}
