//! The streams of an AD instance, each read ahead by a thread of its own.
//!
//! A thread holds at most one step that nobody has asked for yet, so a stream that is faster than the
//! detectors waits (and with SST the application's queue policy rules) instead of filling the memory.
//!
//! The thread opens its stream too, because a running job may keep it waiting: SST's writer answers a reader that
//! comes while the job runs with its next step, and does not end before the streams that were opened are read. If all
//! had to be open before any is read, a job whose ranks wait for one another at their end would never end.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_model::{
    CounterId, FuncId, RankId, RunIdentity, StepBatch, StepId, WarningKind, Warnings,
};
use callgrove_trace::{Next, TraceError, TraceSource};

use crate::AdError;
use crate::announced::Announced;

/// How long a reader waits for a step before it looks whether it shall stop.
const WAIT: Duration = Duration::from_millis(200);

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

/// Opens a stream at its beginning, or where a running job is.
pub type OpenStream = Box<dyn FnOnce() -> Result<Box<dyn TraceSource>, TraceError> + Send>;

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

/// Rings when any of several streams has something: they are waited for together, so that none is behind those that
/// have nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bell(Arc<(Mutex<bool>, Condvar)>);

impl Bell {
    fn ring(&self) {
        let (has_rung, changed) = &*self.0;
        *has_rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_one();
    }

    /// Waits until it rings, no longer than `wait`; it may have rung since it was waited for last.
    pub(crate) fn wait(&self, wait: Duration) {
        let (has_rung, changed) = &*self.0;
        let has_rung = has_rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(has_rung, wait, |has_rung| !*has_rung);
        let (mut has_rung, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *has_rung = false;
    }
}

/// A stream that a thread reads ahead.
#[derive(Debug)]
pub(crate) struct StreamReader {
    polls: Receiver<StepPoll>,
    /// Tells the thread that what it read was taken.
    taken: SyncSender<()>,
    shared: Arc<Shared>,
    has_ended: bool,
    rank: RankId,
    path: String,
}

/// How a stream is read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// What it may have announced to another reader.
    pub(crate) before: Announced,
    /// Whether a source without a step is waited for; otherwise its writer is taken to be gone.
    pub(crate) is_live: bool,
    /// Whether messages and counter samples are left out.
    pub(crate) functions_only: bool,
}

/// What a stream and its thread tell each other beside the steps.
#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    opening: Mutex<Opening>,
}

#[derive(Debug)]
enum Opening {
    Since(Instant),
    Done,
    Failed(TraceError),
}

impl Shared {
    fn opening(&self) -> MutexGuard<'_, Opening> {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StreamReader {
    /// Starts to open and read the stream of a rank, which `path` names in warnings, and rings `bell` when there is
    /// something.
    ///
    /// # Errors
    /// [`AdError::Thread`].
    pub(crate) fn start(
        open: OpenStream,
        (rank, path): (RankId, String),
        reading: Reading,
        bell: Bell,
    ) -> Result<Self, AdError> {
        let (sender, polls) = sync_channel(1);
        let (taken, is_taken) = sync_channel(1);
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            opening: Mutex::new(Opening::Since(Instant::now())),
        });
        let (of_thread, name) = (Arc::clone(&shared), path.clone());
        let read = move || {
            let mut source = match open() {
                Ok(source) => source,
                Err(error) => {
                    *of_thread.opening() = Opening::Failed(error);
                    return;
                }
            };
            *of_thread.opening() = Opening::Done;
            if reading.functions_only {
                source.functions_only();
            }
            if let Some(identity) = &reading.before.identity {
                source.recall(identity, reading.before.attributes);
            }
            let reader = Reader {
                source,
                path: name,
                is_live: reading.is_live,
                num_functions: 0,
                num_counters: 0,
                is_from_start: None,
                knows_run: false,
                shared: of_thread,
            };
            reader.run(&sender, &is_taken, &bell);
        };
        thread::Builder::new()
            .name("stream".to_owned())
            .spawn(read)
            .map_err(AdError::Thread)?;
        Ok(Self {
            polls,
            taken,
            shared,
            has_ended: false,
            rank,
            path,
        })
    }

    /// The next step, as soon as the stream has one or ends.
    pub(crate) fn next(&mut self) -> StepPoll {
        let poll = self.polls.recv().ok();
        self.take(poll)
    }

    /// The next step, if the stream has one now.
    pub(crate) fn next_if_ready(&mut self) -> StepPoll {
        match self.polls.try_recv() {
            Err(TryRecvError::Empty) => StepPoll::NotReady,
            poll => self.take(poll.ok()),
        }
    }

    fn take(&mut self, poll: Option<StepPoll>) -> StepPoll {
        if self.has_ended {
            return StepPoll::End(Warnings::default());
        }
        let poll = poll.unwrap_or_else(|| {
            let mut warnings = Warnings::default();
            let (kind, reason) = if let Opening::Failed(error) = &*self.shared.opening() {
                (WarningKind::RankUnreadable, error.with_causes())
            } else {
                // A reader that is gone without a word has panicked; what it read before was delivered.
                let fault = format!("a fault of this program ended its reader: {}", self.path);
                (WarningKind::StreamTruncated, fault)
            };
            warnings.count(kind, Some(self.rank), || reason);
            StepPoll::End(warnings)
        });
        self.has_ended = matches!(poll, StepPoll::End(_));
        // A thread that has told the end waits for nothing.
        self.taken.try_send(()).ok();
        poll
    }

    /// What it is called in warnings.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether the stream is over and its end was told.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// How long the stream has been being opened, if it is not open yet.
    pub(crate) fn opening(&self) -> Option<Duration> {
        match &*self.shared.opening() {
            Opening::Since(start) if !self.has_ended => Some(start.elapsed()),
            _ => None,
        }
    }

    /// Why the stream could not be opened, if so; this can be asked once.
    pub(crate) fn take_failure(&mut self) -> Option<TraceError> {
        let mut opening = self.shared.opening();
        match std::mem::replace(&mut *opening, Opening::Done) {
            Opening::Failed(error) => Some(error),
            other => {
                *opening = other;
                None
            }
        }
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

struct Reader {
    source: Box<dyn TraceSource>,
    path: String,
    is_live: bool,
    num_functions: usize,
    num_counters: usize,
    /// Whether the first step of the stream was read; `None` before any.
    is_from_start: Option<bool>,
    knows_run: bool,
    shared: Arc<Shared>,
}

impl Reader {
    fn run(mut self, polls: &SyncSender<StepPoll>, taken: &Receiver<()>, bell: &Bell) {
        while let ControlFlow::Continue(poll) = self.read() {
            let Some(poll) = poll else {
                continue;
            };
            let is_over = matches!(poll, StepPoll::End(_));
            let is_wanted = polls.send(poll).is_ok();
            bell.ring();
            if !is_wanted || is_over || taken.recv().is_err() {
                return;
            }
        }
    }

    /// The next answer; none while the source has no step.
    fn read(&mut self) -> ControlFlow<(), Option<StepPoll>> {
        if self.shared.stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let next = self.source.next_step(WAIT);
        let mut warnings = self.source.take_warnings();
        let cut = match next {
            Ok(Next::Step(batch)) => {
                return ControlFlow::Continue(Some(StepPoll::Step(Box::new(
                    self.deliver(batch, warnings),
                ))));
            }
            Ok(Next::NotReady) if self.is_live => return ControlFlow::Continue(None),
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
        ControlFlow::Continue(Some(StepPoll::End(warnings)))
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
