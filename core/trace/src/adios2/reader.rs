//! One rank's stream of TAU, step by step.

use std::mem;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callgrove_adios2_sys::{
    Adios, Adios2Error, DataType, Engine, ErrorCode, Library, Mode, StepStatus, Variable,
};
use callgrove_model::{
    CounterId, FuncId, NameTable, ProgramId, RankId, StepBatch, StepId, WarningKind, Warnings,
};

use super::decode::{COMM_COLUMNS, COUNTER_COLUMNS, Decoder, FUNC_COLUMNS};
use super::index::BpIndex;
use super::schema::{Counts, FUNC_ROW_COUNT, Names};
use crate::find::rank_in_name;
use crate::{Next, TraceError, TraceSource};

/// The name under which TAU's plugin declares its stream.
pub(super) const IO_NAME: &str = "TAU trace data";
/// A count of rows is damaged if even well compressed rows would need more than the data file has.
const MAX_COMPRESSION: u64 = 1024;

/// One rank's stream of TAU in a BP folder.
#[derive(Debug)]
pub(crate) struct TauSource {
    path: PathBuf,
    engine: Engine,
    index: BpIndex,
    names: Names,
    /// From the file's name until the stream states it.
    rank: Option<RankId>,
    is_rank_stated: bool,
    num_ranks: Option<u32>,
    steps_read: usize,
    has_ended: bool,
    func_rows: Vec<u64>,
    counter_rows: Vec<u64>,
    comm_rows: Vec<u64>,
    warnings: Warnings,
}

impl TauSource {
    /// Checks the folder's files against each other, then opens it.
    ///
    /// # Errors
    /// Any [`TraceError`] that concerns one stream.
    pub(crate) fn open(path: &Path, library: &Library) -> Result<Self, TraceError> {
        let index = BpIndex::read(path)?;
        let open = || -> Result<Engine, Adios2Error> {
            let io = Adios::new(library)?.declare_io(IO_NAME)?;
            // The file is there, so there is nothing to wait for; and one thread reads faster than
            // several, because rows of one step are one block.
            io.set_parameters([("OpenTimeoutSecs", "0"), ("Threads", "1")])?;
            // With the default, POSIX, a read beyond the end of a file never returns.
            io.add_transport("File", [("Library", "stdio")])?;
            io.open(path, Mode::Read)
        };
        let engine = open().map_err(|source| TraceError::Stream {
            source,
            path: path.to_owned(),
        })?;
        Ok(Self {
            path: path.to_owned(),
            engine,
            index,
            names: Names::default(),
            rank: rank_in_name(path).map(RankId),
            is_rank_stated: false,
            num_ranks: None,
            steps_read: 0,
            has_ended: false,
            func_rows: Vec::new(),
            counter_rows: Vec::new(),
            comm_rows: Vec::new(),
            warnings: Warnings::default(),
        })
    }

    fn begin_step(&mut self, wait: Duration) -> Result<Option<Next>, TraceError> {
        if self.index.is_closed && self.steps_read == self.index.num_steps {
            if self.index.is_cut {
                let (steps, path) = (self.steps_read, self.path.display());
                self.warnings
                    .count(WarningKind::StreamTruncated, self.rank, || {
                        format!("the index ends after step {steps}, before the data does: {path}")
                    });
            }
            return Ok(Some(Next::End));
        }
        if !self.index.may_have_data(self.steps_read) {
            let reason = format!(
                "{} bytes long, ends before step {}",
                self.index.data_bytes(),
                self.steps_read
            );
            return Err(TraceError::Damaged {
                reason,
                path: self.path.join("data.0"),
            });
        }
        let status = self
            .engine
            .begin_step(wait)
            .map_err(|source| self.stream_error(source))?;
        Ok(match status {
            StepStatus::Ok => None,
            StepStatus::NotReady => Some(Next::NotReady),
            StepStatus::EndOfStream => Some(Next::End),
            StepStatus::OtherError => {
                let reason = format!("ADIOS2 cannot go to step {}", self.steps_read);
                return Err(TraceError::Damaged {
                    reason,
                    path: self.path.clone(),
                });
            }
        })
    }

    fn read_step(&mut self) -> Result<StepBatch, TraceError> {
        let stream_error = |source| TraceError::Stream {
            source,
            path: self.path.clone(),
        };
        let counts = Counts::read(&self.engine).map_err(stream_error)?;
        let metadata = self
            .names
            .update(self.engine.io(), &counts)
            .map_err(stream_error)?;
        if let (false, Some(first)) = (self.is_rank_stated, metadata.first()) {
            self.rank = Some(first.rank);
            self.is_rank_stated = true;
        }
        self.num_ranks = counts.ranks.or(self.num_ranks);
        self.read_rows()?;

        let (func_rows, _) = self.func_rows.as_chunks::<FUNC_COLUMNS>();
        let (counter_rows, _) = self.counter_rows.as_chunks::<COUNTER_COLUMNS>();
        let (comm_rows, _) = self.comm_rows.as_chunks::<COMM_COLUMNS>();
        let rank = self
            .rank
            .or_else(|| Some(RankId(u32::try_from(func_rows.first()?[1]).ok()?)));
        self.rank = rank;
        let step = self.steps_read as u32;
        let mut batch = StepBatch::empty(ProgramId(0), rank.unwrap_or_default(), StepId(step));
        let mut decoder = Decoder {
            rank: batch.rank,
            step,
            counts: &counts,
            names: &mut self.names,
            warnings: &mut self.warnings,
        };
        batch.funcs = decoder.funcs(func_rows);
        batch.counters = decoder.counters(counter_rows);
        batch.comms = decoder.comms(comm_rows);
        batch.metadata = metadata;
        Ok(batch)
    }

    /// Reads the three arrays of the step; one without rows is not in the step at all.
    fn read_rows(&mut self) -> Result<(), TraceError> {
        let mut rows = [
            &mut self.func_rows,
            &mut self.counter_rows,
            &mut self.comm_rows,
        ]
        .map(mem::take);
        let arrays = [
            (FUNC_ROW_COUNT, "event_timestamps", FUNC_COLUMNS),
            ("counter_event_count", "counter_values", COUNTER_COLUMNS),
            ("comm_count", "comm_timestamps", COMM_COLUMNS),
        ];
        let mut variables = Vec::new();
        for ((count_name, name, num_columns), rows) in arrays.into_iter().zip(&mut rows) {
            let num_rows = self.count_rows(count_name, num_columns)?;
            rows.resize(num_rows * num_columns, 0);
            if num_rows > 0 {
                variables.push((self.select(name, num_rows, num_columns)?, rows));
            }
        }
        let mut gets = self.engine.gets();
        variables
            .iter_mut()
            .try_for_each(|(variable, rows)| gets.add(variable, rows))
            .and_then(|()| gets.perform())
            .map_err(|source| self.rows_error(source))?;
        drop(variables);
        [self.func_rows, self.counter_rows, self.comm_rows] = rows;
        Ok(())
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
        let limit =
            self.index.data_bytes().saturating_mul(MAX_COMPRESSION) / (num_columns as u64 * 8);
        if count > limit {
            let reason = format!(
                "{name} of step {} is {count}, more than the data can hold",
                self.steps_read
            );
            return Err(TraceError::Damaged {
                reason,
                path: self.path.clone(),
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

    /// The metadata was whole, so a read that fails has run over the end of the data.
    fn rows_error(&self, source: Adios2Error) -> TraceError {
        if !matches!(
            source,
            Adios2Error::Call {
                code: ErrorCode::System,
                ..
            }
        ) {
            return self.stream_error(source);
        }
        let reason = format!(
            "{} bytes long, ends within step {}",
            self.index.data_bytes(),
            self.steps_read
        );
        TraceError::Damaged {
            reason,
            path: self.path.join("data.0"),
        }
    }

    fn stream_error(&self, source: Adios2Error) -> TraceError {
        TraceError::Stream {
            source,
            path: self.path.clone(),
        }
    }

    fn not_tau(&self, variable: &'static str, reason: String) -> TraceError {
        TraceError::NotTau {
            variable,
            reason,
            path: self.path.clone(),
        }
    }

    fn step(&mut self, wait: Duration) -> Result<Next, TraceError> {
        if let Some(next) = self.begin_step(wait)? {
            return Ok(next);
        }
        let batch = self.read_step()?;
        self.engine
            .end_step()
            .map_err(|source| self.stream_error(source))?;
        self.steps_read += 1;
        Ok(Next::Step(Box::new(batch)))
    }
}

impl TraceSource for TauSource {
    fn next_step(&mut self, wait: Duration) -> Result<Next, TraceError> {
        if self.has_ended {
            return Ok(Next::End);
        }
        let next = self.step(wait);
        self.has_ended = matches!(next, Ok(Next::End) | Err(_));
        next
    }

    fn rank(&self) -> Option<RankId> {
        self.rank
    }

    fn num_ranks(&self) -> Option<u32> {
        self.num_ranks
    }

    fn position(&self) -> f32 {
        match self.index.num_steps {
            0 => 0.0,
            num_steps => (self.steps_read as f32 / num_steps as f32).min(1.0),
        }
    }

    fn names(&self) -> &NameTable<FuncId> {
        &self.names.timers.table
    }

    fn counter_names(&self) -> &NameTable<CounterId> {
        &self.names.counters.table
    }

    fn take_warnings(&mut self) -> Warnings {
        mem::take(&mut self.warnings)
    }
}
