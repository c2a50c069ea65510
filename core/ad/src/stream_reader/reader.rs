//! An open stream: each step with the names that are new in it.

use std::sync::Arc;
use std::time::Duration;

use callgrove_model::{
    CounterId, FuncId, RankId, RunIdentity, StepBatch, StepId, WarningKind, Warnings,
};
use callgrove_trace::{Next, TraceError, TraceSource};

use crate::announced::Announced;

/// How long a reader waits for a step before it looks whether it shall stop.
const WAIT: Duration = Duration::from_millis(200);

/// Opens a stream at its beginning, or where a running job is.
pub type OpenStream = Box<dyn FnOnce() -> Result<Box<dyn TraceSource>, TraceError> + Send>;

/// One step with the names that are new in it.
#[derive(Debug)]
pub(crate) struct StepInput {
    pub(crate) batch: Box<StepBatch>,
    /// Function names from the next free id on.
    pub(crate) functions: Vec<Arc<str>>,
    /// Counter names from the next free id on.
    pub(crate) counters: Vec<Arc<str>>,
    pub(crate) warnings: Warnings,
    /// What the step tells of the run, in the first one that tells anything.
    pub(crate) run: RunIdentity,
    /// What the stream announced since the step before, if it does so only once.
    pub(crate) announced: Announced,
    /// How many ranks there are, as far as the stream says; 0 if it does not.
    pub(crate) num_ranks: u32,
}

impl StepInput {
    /// Whether it names functions or tells of the run, which others have to know before it is looked at.
    pub(crate) fn has_news(&self) -> bool {
        !self.functions.is_empty() || !self.run.is_empty()
    }

    /// How many entries and exits it has.
    pub(crate) fn num_events(&self) -> u64 {
        self.batch.funcs.len() as u64
    }
}

/// The answer to a request for the next step.
#[derive(Debug)]
pub(crate) enum StepPoll {
    /// A step.
    Step(Box<StepInput>),
    /// None yet.
    NotReady,
    /// The stream is over, with the warnings of its end.
    End(Warnings),
}

/// A stream, and how it is read.
pub(crate) struct Reading {
    pub(crate) open: OpenStream,
    pub(crate) rank: RankId,
    /// What it is called in warnings.
    pub(crate) path: String,
    /// What it may have announced to another reader.
    pub(crate) before: Announced,
    /// Whether a source without a step is waited for; otherwise its writer is taken to be gone.
    pub(crate) is_live: bool,
    /// Whether messages and counter samples are left out.
    pub(crate) functions_only: bool,
}

/// A stream that is open.
pub(super) struct OpenedStream {
    source: Box<dyn TraceSource>,
    path: String,
    is_live: bool,
    num_functions: usize,
    num_counters: usize,
    /// Whether the first step of the stream was read; `None` before any.
    is_from_start: Option<bool>,
    knows_run: bool,
}

impl OpenedStream {
    pub(super) fn open(reading: Reading) -> Result<Self, TraceError> {
        let mut source = (reading.open)()?;
        if reading.functions_only {
            source.functions_only();
        }
        if let Some(identity) = &reading.before.identity {
            source.recall(identity, reading.before.attributes);
        }
        Ok(Self {
            source,
            path: reading.path,
            is_live: reading.is_live,
            num_functions: 0,
            num_counters: 0,
            is_from_start: None,
            knows_run: false,
        })
    }

    /// The next step; of a live stream none if it has none for a while.
    pub(super) fn read(&mut self) -> StepPoll {
        let next = self.source.next_step(WAIT);
        let mut warnings = self.source.take_warnings();
        let cut = match next {
            Ok(Next::Step(batch)) => {
                return StepPoll::Step(Box::new(self.deliver(batch, warnings)));
            }
            Ok(Next::NotReady) if self.is_live => return StepPoll::NotReady,
            Ok(Next::NotReady) => Some(format!(
                "the writer has not closed the file, maybe it was killed: {}",
                self.path
            )),
            Ok(Next::End) => None,
            Err(error) => Some(error.with_causes()),
        };
        if let Some(reason) = cut {
            warnings.count(WarningKind::StreamTruncated, self.source.rank(), || reason);
        }
        StepPoll::End(warnings)
    }

    fn deliver(&mut self, batch: Box<StepBatch>, warnings: Warnings) -> StepInput {
        let announced = Announced {
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
