//! One rank's stream of TAU, step by step.

use std::mem;
use std::path::Path;
use std::time::Duration;

use callgrove_adios2_sys::Library;
use callgrove_model::{
    CounterId, FuncId, NameTable, ProgramId, RankId, StepId, WarningKind, Warnings,
};

use super::step::{StepPlace, StepReader};
use super::stream::{Begun, BpStream, gone};
use crate::{Announcement, LiveOptions, Next, TraceError, TraceSource};

/// One rank's stream of TAU.
#[derive(Debug)]
pub(crate) struct TauSource {
    stream: BpStream,
    reader: StepReader,
    has_ended: bool,
}

impl TauSource {
    /// Opens a folder that nobody writes to any more.
    ///
    /// # Errors
    /// Any [`TraceError`] that concerns one stream.
    pub(crate) fn open(
        path: &Path,
        program: ProgramId,
        library: &Library,
    ) -> Result<Self, TraceError> {
        let stream = BpStream::open(path, library)?;
        Ok(Self::new(stream, program))
    }

    /// Waits for the writer, then opens its stream.
    ///
    /// # Errors
    /// [`TraceError::NoWriter`], and any other [`TraceError`] that concerns one stream.
    pub(crate) fn open_live(
        path: &Path,
        options: &LiveOptions,
        library: &Library,
    ) -> Result<Self, TraceError> {
        let stream = BpStream::open_live(path, options, library)?;
        Ok(Self::new(stream, options.program))
    }

    /// Reads no more of the arrays than shows whether ADIOS2 can: their first and last rows.
    pub(crate) fn edges_only(&mut self) {
        self.reader.wanted.edges_only = true;
    }

    fn new(stream: BpStream, program: ProgramId) -> Self {
        let mut reader = StepReader::new(&stream.path, program);
        reader.names.news = stream.contact.is_some().then(Vec::new);
        Self {
            stream,
            reader,
            has_ended: false,
        }
    }

    fn step(&mut self, wait: Duration) -> Result<Next, TraceError> {
        let step = match self.stream.begin_step(wait)? {
            Begun::Step(step, missing) => {
                self.warn_missing(step, missing);
                step
            }
            Begun::NotReady => return Ok(Next::NotReady),
            Begun::End => return Ok(Next::End),
            Begun::Truncated(reason) => {
                self.warn_truncated(&reason);
                return Ok(Next::End);
            }
        };
        let data_bytes = self.stream.data_bytes()?;
        let batch = self.reader.read(&StepPlace {
            engine: &self.stream.engine,
            path: &self.stream.path,
            step,
            data_bytes,
            stored: self.stream.stored_rows(),
        })?;
        if self.reader.has_attributes {
            self.stream.forget_attributes()?;
        }
        self.stream.end_step()?;
        Ok(Next::Step(Box::new(batch)))
    }

    fn warn_missing(&mut self, step: StepId, missing: usize) {
        let place = || {
            format!(
                "{missing} before step {step}: {}",
                self.stream.path.display()
            )
        };
        let (kind, rank) = (WarningKind::StepMissing, self.reader.rank);
        self.reader
            .warnings
            .count_many(kind, rank, missing as u64, place);
    }

    fn warn_truncated(&mut self, reason: &str) {
        let place = || format!("{reason}: {}", self.stream.path.display());
        let (kind, rank) = (WarningKind::StreamTruncated, self.reader.rank);
        self.reader.warnings.count(kind, rank, place);
    }
}

impl TraceSource for TauSource {
    fn next_step(&mut self, wait: Duration) -> Result<Next, TraceError> {
        if self.has_ended {
            return Ok(Next::End);
        }
        let next = match self.step(wait) {
            // What was read is whole; the writer died while it handed over the next step.
            Err(TraceError::Stream { source, .. }) if self.stream.is_sst() => {
                self.warn_truncated(&gone(&source.to_string()));
                Ok(Next::End)
            }
            next => next,
        };
        self.has_ended = matches!(next, Ok(Next::End) | Err(_));
        next
    }

    fn rank(&self) -> Option<RankId> {
        self.reader.rank
    }

    fn num_ranks(&self) -> Option<u32> {
        self.reader.num_ranks
    }

    #[expect(clippy::cast_precision_loss, reason = "a position is only shown")]
    fn position(&self) -> f32 {
        match self.stream.num_steps() {
            0 => 0.0,
            num_steps => (self.stream.steps_read() as f32 / num_steps as f32).min(1.0),
        }
    }

    fn names(&self) -> &NameTable<FuncId> {
        &self.reader.names.timers.table
    }

    fn counter_names(&self) -> &NameTable<CounterId> {
        &self.reader.names.counters.table
    }

    fn identity(&self) -> Option<String> {
        self.stream.contact.clone()
    }

    fn take_announced(&mut self) -> Vec<Announcement> {
        self.reader.names.take_news()
    }

    fn recall(&mut self, identity: &str, announced: Vec<Announcement>) {
        if self.stream.contact.as_deref() == Some(identity) {
            self.reader.names.recall(&announced);
        }
    }

    fn functions_only(&mut self) {
        self.reader.wanted.functions_only = true;
    }

    fn take_warnings(&mut self) -> Warnings {
        mem::take(&mut self.reader.warnings)
    }
}
