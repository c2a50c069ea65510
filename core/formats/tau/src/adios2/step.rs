//! Reads one step of TAU's stream from either origin.

use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::Path;

use callgrove_adios2_sys::{Adios2Error, AdiosEngine, DataType, ErrorCode, Variable};
use callgrove_model::{FuncEvent, ProgramId, RankId, StepBatch, StepId, WarningKind, Warnings};

use super::decode::{ARRAYS, Decoder};
use super::order::TimeOrder;
use super::other_ranks::{OtherRanks, RowOwner};
use super::run_clock::RunClock;
use super::schema::{AnnouncedNames, Counts};
use super::step_origin::StepOrigin;
use super::stored_rows::StoredRows;
use crate::error::TauError;
use callgrove_source::rank_in_name;

/// Largest ratio of the size of rows to that of the data file. A larger count of rows is damaged, even if rows compress
/// well.
const MAX_COMPRESSION: u64 = 1024;
/// The file with the rows.
const DATA_FILE: &str = "data.0";
/// Largest plausible number of dimensions.
const MAX_DIMENSIONS: usize = 8;
/// The message for more dimensions. ADIOS2 reads the lengths of all when a step begins, beyond its memory.
pub(crate) const OUT_OF_BOUNDS: &str = "makes ADIOS2 read outside its memory";
/// Maximum number of rows that have distinct row numbers.
const MAX_ROWS: u64 = FuncEvent::MAX_ROWS;

/// Number of rows read at a time. They stay in a worker's caches until they are decoded, and ADIOS2 allocates memory of
/// their size.
const CHUNK_ROWS: usize = 1 << 12;
/// Maximum number of reads of one array. Each read of a compressed array decompresses all of it.
const MAX_READS: usize = 16;

/// The rows of a step that are read; all by default.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct WantedRows {
    /// Only the rows of function events.
    pub(super) functions_only: bool,
    /// Only the first and the last row of each array.
    pub(super) edges_only: bool,
}

thread_local! {
    /// The buffer that rows are read into. It belongs to the thread and not to the stream, so that it stays in the
    /// caches of a thread that reads many streams in turn.
    static ROWS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// The state of reading a stream, from its steps so far.
#[derive(Debug)]
pub(super) struct StepReader {
    program: ProgramId,
    pub(super) names: AnnouncedNames,
    /// The rank in the stream's name until the stream states it.
    pub(super) rank: Option<RankId>,
    is_rank_stated: bool,
    /// The index of the program in the rows, which is 0 for TAU, as it has one program only.
    row_program: ProgramId,
    pub(super) others: OtherRanks,
    /// True if other readers read the rows of other ranks, so that none are lost.
    pub(super) has_readers_of_others: bool,
    pub(super) clock: RunClock,
    pub(super) num_ranks: Option<u32>,
    /// True if the attributes of the origin were read with the newest step.
    pub(super) has_attributes: bool,
    pub(super) wanted: WantedRows,
    pub(super) warnings: Warnings,
}

impl StepReader {
    /// Returns a reader of the stream at `path`, whose rows get the program index `program`.
    pub(super) fn new(path: &Path, program: ProgramId) -> Self {
        Self {
            program,
            names: AnnouncedNames::default(),
            rank: rank_in_name(path).map(RankId),
            is_rank_stated: false,
            row_program: ProgramId(0),
            others: OtherRanks::default(),
            has_readers_of_others: false,
            clock: RunClock::default(),
            num_ranks: None,
            has_attributes: false,
            wanted: WantedRows::default(),
            warnings: Warnings::default(),
        }
    }

    /// Selects the rank whose rows are read, whatever rank the stream states.
    pub(super) fn select(&mut self, owner: RowOwner) {
        self.rank = Some(owner.rank);
        self.is_rank_stated = true;
        self.row_program = owner.program;
        self.program = ProgramId(self.program.0.saturating_add(owner.program.0));
    }

    /// Reads the current step of an origin.
    pub(super) fn read(&mut self, at: &StepPlace<'_>) -> Result<StepBatch, TauError> {
        let stream_error = |source| at.stream_error(source);
        let known = at.stored.map(|it| it.step.counts).unwrap_or_default();
        let has_variables = at.has_variables().map_err(stream_error)?;
        let counts = Counts::read(at.origin, known).map_err(stream_error)?;
        let (mut metadata, has_attributes) = self
            .names
            .update(at.origin, has_variables.then_some(&counts))
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
        for entry in &metadata {
            self.others.add_metadata_of(entry.rank);
        }
        if self.has_readers_of_others {
            metadata.retain(|entry| Some(entry.rank) == self.rank);
        }
        self.num_ranks = counts.ranks.or(self.num_ranks);
        let mut decoder = Decoder {
            batch: StepBatch::empty(self.program, RankId::default(), at.step),
            program: self.row_program,
            rank: self.rank.filter(|_| self.is_rank_stated),
            rank_in_name: self.rank,
            others: &mut self.others,
            clock: &mut self.clock,
            counts: &counts,
            names: &mut self.names,
            warnings: &mut self.warnings,
            order: TimeOrder::default(),
            invalid: Default::default(),
        };
        if has_variables {
            at.read_rows(&mut decoder, self.wanted)?;
        }
        let (rank, batch) = decoder.finish(!self.has_readers_of_others);
        self.is_rank_stated |= rank.is_some();
        self.rank = rank.or(self.rank);
        let rank = self.rank.unwrap_or_default();
        Ok(StepBatch {
            rank,
            metadata,
            ends_with_write: true,
            ..batch
        })
    }
}

/// The source of the rows of an array.
enum RowSource<'a> {
    /// A block of the array in the data file.
    File(StoredRows<'a>, usize),
    Engine(&'a AdiosEngine, Variable<'a>),
}

/// The current step of an origin.
pub(super) struct StepPlace<'a> {
    pub(super) origin: &'a StepOrigin,
    pub(super) path: &'a Path,
    pub(super) step: StepId,
    /// Size of the data file in bytes, if there is one.
    pub(super) data_bytes: Option<u64>,
    /// The contents that are known without ADIOS2.
    pub(super) stored: Option<StoredRows<'a>>,
}

impl StepPlace<'_> {
    /// Returns whether the step has variables. A step without them has at most attributes.
    fn has_variables(&self) -> Result<bool, Adios2Error> {
        if self.stored.is_some_and(|it| it.step.is_empty) {
            return Ok(false);
        }
        if self.stored.is_some_and(|it| it.step.num_rows[0].is_some()) {
            return Ok(true);
        }
        self.origin.has_variables()
    }

    /// Reads the wanted rows of the step, and passes them to `decoder`. Other arrays, and those without rows, which a
    /// step omits, are skipped.
    fn read_rows(&self, decoder: &mut Decoder<'_>, wanted: WantedRows) -> Result<(), TauError> {
        for array in 0..ARRAYS.len() {
            if array == 0 || !wanted.functions_only {
                self.read_array(array, decoder, wanted.edges_only)?;
            }
        }
        Ok(())
    }

    fn read_array(
        &self,
        array: usize,
        decoder: &mut Decoder<'_>,
        edges_only: bool,
    ) -> Result<(), TauError> {
        let (_, name, num_columns) = ARRAYS[array];
        let num_rows = self.count_rows(array)?;
        let stored = self.stored.filter(|it| it.step.has(array, num_rows as u64));
        if let Some(stored) = stored {
            let blocks = stored.step.arrays[array].iter().enumerate();
            let mut before = 0;
            for (block, stored_block) in blocks {
                let num_rows = usize::try_from(stored_block.num_rows).unwrap_or(usize::MAX);
                let source = RowSource::File(stored, block);
                self.read_part(&source, array, [before, num_rows], decoder, edges_only)?;
                before += num_rows;
            }
            return Ok(());
        }
        let found = self.array(name)?;
        if num_rows == 0 {
            return Ok(());
        }
        let missing = || {
            self.not_tau(
                name,
                "is missing, but its number of rows is not 0".to_owned(),
            )
        };
        let (engine, variable) = found.ok_or_else(missing)?;
        // The shape is compared with the count before memory is allocated.
        self.expect_shape(&variable, name, [num_rows, num_columns])?;
        let source = RowSource::Engine(engine, variable);
        self.read_part(&source, array, [0, num_rows], decoder, edges_only)
    }

    /// Reads a part of an array that follows its first `num_before` rows.
    fn read_part(
        &self,
        source: &RowSource<'_>,
        array: usize,
        [num_before, num_rows]: [usize; 2],
        decoder: &mut Decoder<'_>,
        edges_only: bool,
    ) -> Result<(), TauError> {
        let num_columns = ARRAYS[array].2;
        // Rows larger than the data file must be compressed. Only reading all of them distinguishes these from damaged
        // ones.
        let is_stored = |bytes| (num_rows * num_columns * 8) as u64 <= bytes;
        let is_edges = edges_only && self.data_bytes.is_some_and(is_stored);
        // Over a network each read waits for an answer.
        let chunk_rows = self
            .data_bytes
            .map_or(num_rows, |_| CHUNK_ROWS.max(num_rows.div_ceil(MAX_READS)));
        let (step, num_each) = if is_edges {
            (num_rows.saturating_sub(1).max(1), 1)
        } else {
            decoder.reserve(array, num_rows);
            (chunk_rows, chunk_rows.min(num_rows))
        };
        ROWS.with_borrow_mut(|memory| {
            let length = num_each * num_columns;
            if memory.len() < length {
                memory.resize(length, 0);
            }
            for first in (0..num_rows).step_by(step) {
                let num_left = (num_rows - first) * num_columns;
                let rows = &mut memory[..length.min(num_left)];
                match source {
                    RowSource::File(stored, block) => {
                        self.read_stored(stored, [array, *block], first, rows)?;
                    }
                    RowSource::Engine(engine, variable) => {
                        self.read_by_engine(engine, variable, [first, num_columns], rows)?;
                    }
                }
                decoder.take(array, num_before + first, rows);
            }
            Ok(())
        })
    }

    fn read_stored(
        &self,
        stored: &StoredRows<'_>,
        block: [usize; 2],
        first: usize,
        rows: &mut [u64],
    ) -> Result<(), TauError> {
        let read = stored.read(block, first, rows);
        read.map_err(|source| match source.kind() {
            ErrorKind::UnexpectedEof => self.cut_short(),
            _ => TauError::Io {
                source,
                path: self.path.join(DATA_FILE),
            },
        })
    }

    fn read_by_engine(
        &self,
        engine: &AdiosEngine,
        variable: &Variable<'_>,
        [first, num_columns]: [usize; 2],
        rows: &mut [u64],
    ) -> Result<(), TauError> {
        // ADIOS2 does not write rows outside any block. This value makes them invalid, so that stale memory is never
        // used.
        rows.fill(u64::MAX);
        let count = [rows.len() / num_columns, num_columns];
        let selected = variable.set_selection(&[first, 0], &count);
        selected.map_err(|source| self.stream_error(source))?;
        let mut gets = engine.gets();
        let read = gets.add(variable, rows).and_then(|()| gets.perform());
        read.map_err(|source| self.rows_error(source))
    }

    #[expect(clippy::cast_possible_truncation, reason = "MAX_ROWS fit 32 bits")]
    fn count_rows(&self, array: usize) -> Result<usize, TauError> {
        let (name, _, num_columns) = ARRAYS[array];
        let known = self.stored.and_then(|it| it.step.num_rows[array]);
        let of_blocks = self.stored.and_then(|it| it.step.num_rows_of_blocks(array));
        let count = of_blocks
            .or(known)
            .map_or_else(|| self.count_by_engine(name), Ok)?;
        // Blocks are not compressed, and no two of them share bytes.
        let compression = of_blocks.map_or(MAX_COMPRESSION, |_| 1);
        let limit = self.data_bytes.map_or(MAX_ROWS, |bytes| {
            bytes.saturating_mul(compression) / (num_columns as u64 * 8)
        });
        if count > limit.min(MAX_ROWS) {
            let step = self.step;
            let reason = format!("{name} of step {step} is {count}, more than the data can hold");
            return Err(TauError::Damaged {
                reason,
                path: self.path.to_owned(),
            });
        }
        Ok(count as usize)
    }

    fn count_by_engine(&self, name: &'static str) -> Result<u64, TauError> {
        let stream_error = |source| self.stream_error(source);
        let found = self.origin.variable(name).map_err(stream_error)?;
        let missing = || self.not_tau(name, "is missing".to_owned());
        let (engine, variable) = found.ok_or_else(missing)?;
        let count = engine.get_value::<u64>(&variable);
        count.map_err(|source| match source {
            Adios2Error::WrongType { found, .. } => self.not_tau(name, format!("is {found}")),
            source => self.stream_error(source),
        })
    }

    /// Returns the array of this name, if the step has it, and its engine.
    fn array(&self, name: &'static str) -> Result<Option<(&AdiosEngine, Variable<'_>)>, TauError> {
        let stream_error = |source| self.stream_error(source);
        let Some((engine, variable)) = self.origin.variable(name).map_err(stream_error)? else {
            return Ok(None);
        };
        let num_dimensions = variable.num_dimensions().map_err(stream_error)?;
        if num_dimensions > MAX_DIMENSIONS {
            let how = format!("{name} of {num_dimensions} dimensions {OUT_OF_BOUNDS}");
            let path = self.path.to_owned();
            return Err(TauError::Fatal { how, path });
        }
        Ok(Some((engine, variable)))
    }

    fn expect_shape(
        &self,
        variable: &Variable<'_>,
        name: &'static str,
        [num_rows, num_columns]: [usize; 2],
    ) -> Result<(), TauError> {
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

    /// The metadata of a file is complete, so a read that fails has passed the end of the data.
    fn rows_error(&self, source: Adios2Error) -> TauError {
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

    fn cut_short(&self) -> TauError {
        let bytes = self.data_bytes.unwrap_or_default();
        TauError::Damaged {
            reason: format!("{bytes} bytes long, ends within step {}", self.step),
            path: self.path.join(DATA_FILE),
        }
    }

    pub(super) fn stream_error(&self, source: Adios2Error) -> TauError {
        TauError::Stream {
            source,
            path: self.path.to_owned(),
        }
    }

    fn not_tau(&self, variable: &'static str, reason: String) -> TauError {
        TauError::NotTau {
            variable,
            reason,
            path: self.path.to_owned(),
        }
    }
}
