//! An open stream: each step with the names that are new in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use callgrove_model::{
    CounterId, FuncId, RankId, RunIdentity, StepBatch, StepId, WarningKind, Warnings,
};
use callgrove_source::{EventStream, Next, SourceError};

use crate::announcements::StreamAnnouncements;

/// Maximum time that a reader waits for a step before it checks whether it should stop.
const STEP_TIMEOUT: Duration = Duration::from_millis(200);

/// Opens a stream at its beginning, or at the current step of a running job.
pub type OpenStream = Box<dyn FnOnce() -> Result<Box<dyn EventStream>, SourceError> + Send>;

/// Whether the writers of live streams are gone: then a stream without a next step has ended. Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct WriterGone(Arc<AtomicBool>);

impl WriterGone {
    /// Sets that nothing more is written.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns whether nothing more is written.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A step with the names that are new in it.
#[derive(Debug)]
pub(crate) struct StepInput {
    pub(crate) batch: Box<StepBatch>,
    /// New function names, which get the next free ids.
    pub(crate) functions: Vec<Arc<str>>,
    /// New counter names, which get the next free ids.
    pub(crate) counters: Vec<Arc<str>>,
    pub(crate) warnings: Warnings,
    /// The identity of the run, in the first step that reveals it; empty otherwise.
    pub(crate) run: RunIdentity,
    /// One-time announcements of the stream since the step before.
    pub(crate) announced: StreamAnnouncements,
    /// Number of ranks, if the stream states it; 0 otherwise.
    pub(crate) num_ranks: u32,
}

impl StepInput {
    /// Returns whether the step has new names or the identity of the run, which the instance must register first.
    pub(crate) fn has_news(&self) -> bool {
        !self.functions.is_empty() || !self.run.is_empty()
    }

    /// Returns the number of entries and exits.
    pub(crate) fn num_events(&self) -> u64 {
        self.batch.funcs.len() as u64
    }
}

/// The answer to a request for the next step.
#[derive(Debug)]
pub(crate) enum StepPoll {
    /// A step.
    Step(Box<StepInput>),
    /// No step is ready.
    NotReady,
    /// The stream has ended, with the warnings of its end.
    End(Warnings),
}

/// A stream and how to read it.
pub(crate) struct Reading {
    pub(crate) open: OpenStream,
    pub(crate) rank: RankId,
    /// The name of the stream in warnings.
    pub(crate) path: String,
    /// Announcements that an earlier reader received.
    pub(crate) known: StreamAnnouncements,
    /// True to wait for a source without a step; otherwise its writer counts as gone.
    pub(crate) is_live: bool,
    pub(crate) writer_gone: WriterGone,
    /// True to leave out messages and counter samples.
    pub(crate) functions_only: bool,
}

/// An open stream.
pub(super) struct OpenedStream {
    source: Box<dyn EventStream>,
    path: String,
    is_live: bool,
    writer_gone: WriterGone,
    num_functions: usize,
    num_counters: usize,
    /// True if the first step of the stream was read; `None` before any step.
    is_from_start: Option<bool>,
    knows_run: bool,
}

impl OpenedStream {
    pub(super) fn open(reading: Reading) -> Result<Self, SourceError> {
        let mut source = (reading.open)()?;
        if reading.functions_only {
            source.functions_only();
        }
        if let Some(identity) = &reading.known.identity {
            source.recall(identity, reading.known.attributes);
        }
        Ok(Self {
            source,
            path: reading.path,
            is_live: reading.is_live,
            writer_gone: reading.writer_gone,
            num_functions: 0,
            num_counters: 0,
            is_from_start: None,
            knows_run: false,
        })
    }

    /// Returns the next step. A live stream returns `NotReady` after a timeout.
    pub(super) fn read(&mut self) -> StepPoll {
        // Read before the step is requested: a writer that is gone may have written it just before.
        let may_continue = self.is_live && !self.writer_gone.is_set();
        let next = loop {
            match self.source.next_step(STEP_TIMEOUT) {
                Ok(Next::Reading) => {}
                next => break next,
            }
        };
        let mut warnings = self.source.take_warnings();
        let cut = match next {
            Ok(Next::Step(batch)) => {
                return StepPoll::Step(Box::new(self.deliver(batch, warnings)));
            }
            Ok(Next::NotReady) if may_continue => return StepPoll::NotReady,
            Ok(Next::NotReady) => Some(format!(
                "the writer has not closed the file and may have been killed: {}",
                self.path
            )),
            Ok(Next::End | Next::Reading) => None,
            Err(error) => Some(error.with_causes()),
        };
        if let Some(reason) = cut {
            warnings.count(WarningKind::StreamTruncated, self.source.rank(), || reason);
        }
        StepPoll::End(warnings)
    }

    fn deliver(&mut self, batch: Box<StepBatch>, warnings: Warnings) -> StepInput {
        let announced = StreamAnnouncements {
            identity: self.source.identity(),
            attributes: self.source.take_announced(),
        };
        let names = self.source.names();
        let is_from_start = *self.is_from_start.get_or_insert(batch.step == StepId(0));
        let mut run = RunIdentity::default();
        if !self.knows_run {
            run = RunIdentity::of_step(&batch, names, is_from_start);
            self.knows_run = !run.is_empty();
        }
        let functions = (self.num_functions..names.len())
            .map(|index| names.name(FuncId::from_index(index)).into())
            .collect();
        self.num_functions = names.len();
        let names = self.source.counter_names();
        let counters = (self.num_counters..names.len())
            .map(|index| names.name(CounterId::from_index(index)).into())
            .collect();
        self.num_counters = names.len();
        StepInput {
            batch,
            functions,
            counters,
            warnings,
            run,
            announced,
            num_ranks: self.source.num_ranks().unwrap_or(0),
        }
    }
}
