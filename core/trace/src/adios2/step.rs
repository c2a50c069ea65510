//! One step of TAU's stream, read from an engine, whichever engine that is.

use std::cell::RefCell;
use std::path::Path;

use callgrove_adios2_sys::{Adios2Error, AdiosEngine, DataType, ErrorCode, Variable};
use callgrove_model::{Metadata, ProgramId, RankId, StepBatch, StepId, WarningKind, Warnings};

use super::decode::{COMM_COLUMNS, COUNTER_COLUMNS, Decoder, FUNC_COLUMNS};
use super::schema::{AnnouncedNames, Counts, FUNC_ROW_COUNT};
use crate::TraceError;
use crate::rank_in_name::rank_in_name;

/// A count of rows is damaged if even well compressed rows would need more than the data file has.
const MAX_COMPRESSION: u64 = 1024;
/// Rows are numbered with 32 bits.
const MAX_ROWS: u64 = 1 << 32;

/// The arrays of a step: the variable that counts their rows, their name, their columns, of which the last is
/// the time.
pub(crate) const ARRAYS: [(&str, &str, usize); 3] = [
    (FUNC_ROW_COUNT, "event_timestamps", FUNC_COLUMNS),
    ("counter_event_count", "counter_values", COUNTER_COLUMNS),
    ("comm_count", "comm_timestamps", COMM_COLUMNS),
];

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
    /// How many of [`ARRAYS`] are read.
    pub(super) num_arrays: usize,
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
            num_arrays: ARRAYS.len(),
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
        let [func_rows, counter_rows, comm_rows] = at.read_rows(memory, self.num_arrays)?;
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
}

impl StepPlace<'_> {
    /// Reads the first `num_arrays` arrays of the step; of the others, and of one without rows, which is not in the step
    /// at all, there is nothing.
    fn read_rows<'m>(
        &self,
        memory: &'m mut [Vec<u64>; 3],
        num_arrays: usize,
    ) -> Result<[&'m [u64]; 3], TraceError> {
        let mut lengths = [0; 3];
        let mut variables = Vec::new();
        let arrays = ARRAYS.into_iter().take(num_arrays);
        for (((count_name, name, num_columns), memory), length) in
            arrays.zip(&mut *memory).zip(&mut lengths)
        {
            let num_rows = self.count_rows(count_name, num_columns)?;
            // The array agrees with the count before memory for it is taken.
            let variable = match num_rows {
                0 => continue,
                _ => self.select(name, num_rows, num_columns)?,
            };
            *length = num_rows * num_columns;
            // What is there is written over.
            if memory.len() < *length {
                memory.resize(*length, 0);
            }
            variables.push((variable, &mut memory[..*length]));
        }
        let mut gets = self.engine.gets();
        variables
            .iter_mut()
            .try_for_each(|(variable, rows)| gets.add(variable, rows))
            .and_then(|()| gets.perform())
            .map_err(|source| self.rows_error(source))?;
        drop(variables);
        let mut rows = memory.iter().zip(lengths);
        let mut read = || {
            rows.next()
                .map_or(&[][..], |(memory, length)| &memory[..length])
        };
        Ok([read(), read(), read()])
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

    /// The array with all its rows selected. Selections outlast a step, so it is always stated.
    fn select(
        &self,
        name: &'static str,
        num_rows: usize,
        num_columns: usize,
    ) -> Result<Variable<'_>, TraceError> {
        let stream_error = |source| self.stream_error(source);
        let variable = self.engine.io().variable(name).map_err(stream_error)?;
        let variable = variable
            .ok_or_else(|| self.not_tau(name, "is missing, though rows are counted".to_owned()))?;
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
        variable
            .set_selection(&[0, 0], &[num_rows, num_columns])
            .map_err(stream_error)?;
        Ok(variable)
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
        match self.data_bytes {
            Some(bytes) if is_system => TraceError::Damaged {
                reason: format!("{bytes} bytes long, ends within step {}", self.step),
                path: self.path.join("data.0"),
            },
            _ => self.stream_error(source),
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
