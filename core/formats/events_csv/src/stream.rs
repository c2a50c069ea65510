//! The events of a file, rank by rank, in steps of a fixed number of events.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufReader, Read};
use std::time::Duration;

use callgrove_model::{
    CounterId, FuncId, NameTable, RankId, StepBatch, WarningKind, Warnings, fraction,
};
use callgrove_source::{EventStream, FileReader, Input, Next, Projection, Ranks, SourceError};
use csv::{ByteRecord, Reader, ReaderBuilder, Trim};

use crate::columns::CsvColumns;
use crate::pending_step::PendingStep;
use crate::row::{Row, RowEvent};

/// Returns a parser that trims fields, as some files have a space after each comma.
pub(crate) fn reader<R: Read>(file: R) -> Reader<R> {
    let mut builder = ReaderBuilder::new();
    builder.has_headers(false).flexible(true).trim(Trim::All);
    builder.from_reader(file)
}

/// An open file.
pub(crate) struct CsvStream {
    input: Input,
    rows: Reader<BufReader<Box<dyn FileReader>>>,
    num_bytes: u64,
    pub(crate) columns: CsvColumns,
    pub(crate) record: ByteRecord,
    projection: Projection,
    functions_only: bool,
    names: NameTable<FuncId>,
    counter_names: NameTable<CounterId>,
    pending: BTreeMap<RankId, PendingStep>,
    /// Complete steps that were not returned yet.
    complete: VecDeque<StepBatch>,
    has_ended: bool,
    warnings: Warnings,
}

impl CsvStream {
    /// Opens a file and reads its first row.
    ///
    /// # Errors
    /// [`SourceError::Io`]; [`SourceError::Damaged`] without the columns of the format.
    pub(crate) fn open(input: &Input, projection: &Projection) -> Result<Self, SourceError> {
        let mut rows = reader(input.open()?);
        let mut record = ByteRecord::new();
        let read = rows.read_byte_record(&mut record);
        read.map_err(|error| io_error(input, error))?;
        let columns = CsvColumns::of(&record).ok_or_else(|| SourceError::Damaged {
            reason: "the first row does not name the columns Timestamp (ns), Event Type and Name"
                .to_owned(),
            path: input.path().to_owned(),
        })?;
        Ok(Self {
            rows,
            num_bytes: input.num_bytes()?,
            columns,
            record,
            input: input.clone(),
            projection: *projection,
            functions_only: false,
            names: NameTable::default(),
            counter_names: NameTable::default(),
            pending: BTreeMap::new(),
            complete: VecDeque::new(),
            has_ended: false,
            warnings: Warnings::default(),
        })
    }

    /// Reads the next row into `record`; returns false at the end.
    pub(crate) fn read_record(&mut self) -> Result<bool, SourceError> {
        let read = self.rows.read_byte_record(&mut self.record);
        read.map_err(|error| io_error(&self.input, error))
    }

    fn read_row(&mut self) -> Result<(), SourceError> {
        if !self.read_record()? {
            self.has_ended = true;
            while let Some((rank, step)) = self.pending.pop_first() {
                self.complete(rank, step);
            }
            return Ok(());
        }
        let rank = Row::rank(&self.record, &self.columns);
        let is_wanted = match self.projection.ranks {
            Ranks::One(_, wanted) => rank == Some(wanted),
            Ranks::All | Ranks::Own => true,
        };
        if !is_wanted {
            return Ok(());
        }
        let Some(row) = Row::of(&self.record, &self.columns) else {
            let line = self.record.position().map_or(0, csv::Position::line);
            let path = self.input.path();
            self.warnings.count(WarningKind::BadRow, rank, || {
                format!("line {line}: {}", path.display())
            });
            return Ok(());
        };
        let step = self.pending.entry(row.rank).or_default();
        match row.event {
            RowEvent::Call(kind, name) => {
                step.push_call(row.thread, kind, self.names.intern(name), row.time);
            }
            RowEvent::Message(message) if !self.functions_only => {
                step.push_message(row.thread, message, row.time);
            }
            RowEvent::Message(_) | RowEvent::Other => {}
        }
        if step.is_full() {
            let rank = row.rank;
            let full = step.replace_by_next();
            self.complete(rank, full);
        }
        Ok(())
    }

    fn complete(&mut self, rank: RankId, step: PendingStep) {
        let batch = step.into_batch(self.projection.program, rank, &mut self.warnings);
        self.complete.extend(batch);
    }
}

fn io_error(input: &Input, error: csv::Error) -> SourceError {
    input.io_error()(error.into())
}

impl EventStream for CsvStream {
    fn next_step(&mut self, _: Duration) -> Result<Next, SourceError> {
        loop {
            if let Some(batch) = self.complete.pop_front() {
                return Ok(Next::Step(Box::new(batch)));
            }
            if self.has_ended {
                return Ok(Next::End);
            }
            if let Err(error) = self.read_row() {
                self.has_ended = true;
                return Err(error);
            }
        }
    }

    fn rank(&self) -> Option<RankId> {
        match self.projection.ranks {
            Ranks::One(_, rank) => Some(rank),
            Ranks::All | Ranks::Own => None,
        }
    }

    fn num_ranks(&self) -> Option<u32> {
        None
    }

    fn position(&self) -> f32 {
        fraction(self.rows.position().byte(), self.num_bytes.max(1)).min(1.0)
    }

    fn names(&self) -> &NameTable<FuncId> {
        &self.names
    }

    fn counter_names(&self) -> &NameTable<CounterId> {
        &self.counter_names
    }

    fn functions_only(&mut self) {
        self.functions_only = true;
    }

    fn take_warnings(&mut self) -> Warnings {
        std::mem::take(&mut self.warnings)
    }
}
