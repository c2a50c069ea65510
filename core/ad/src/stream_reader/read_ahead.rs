//! A live stream, read ahead by its own thread.
//!
//! While an instance waits for a server, its threads read on, so that a job does not wait for the server. The number of
//! events read ahead is bounded; beyond it, each thread holds at most one step that has not been requested. So a stream
//! that is faster than the detectors waits instead of filling the memory, and with SST the queue policy of the
//! application applies.
//!
//! The thread also opens its stream, because a running job may block it. An SST writer answers a reader that joins a
//! running job with its next step, and does not end before the opened streams are read. If all streams had to be open
//! before any is read, a job whose ranks wait for one another at their end would never end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_source::SourceError;

use super::reader::{OpenedStream, Reading, StepPoll};
use crate::error::AdError;

/// Number of events of all streams of an instance, at about 30 bytes each, from which a stream with a step that has not
/// been requested is not read ahead. Four ranks of LAMMPS under TAU make as many in 25 s; a call to a server takes at
/// most 5 s.
const MAX_EVENTS_AHEAD: u64 = 1 << 22;
/// Number of steps of a stream that are read ahead.
const MAX_STEPS_AHEAD: usize = 1 << 12;

/// What was read ahead of all streams of an instance. Waiting for all streams together keeps an idle stream from
/// delaying the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepsAhead(Arc<SharedSteps>);

#[derive(Debug, Default)]
struct SharedSteps {
    counts: Mutex<StepCounts>,
    /// Signals the instance that a stream has a step.
    is_ready: Condvar,
    /// Signals the threads that a step was taken.
    is_taken: Condvar,
}

#[derive(Debug, Default)]
struct StepCounts {
    num_events: u64,
    /// True if a step was added since the last wait.
    is_news: bool,
}

impl StepsAhead {
    /// Waits for a step of any stream, at most for `wait`. One since the last wait counts.
    pub(crate) fn wait(&self, wait: Duration) {
        let counts = self.counts();
        let waited = (self.0.is_ready).wait_timeout_while(counts, wait, |it| !it.is_news);
        let (mut counts, _) = waited.unwrap_or_else(PoisonError::into_inner);
        counts.is_news = false;
    }

    fn add(&self, num_events: u64) {
        self.counts().num_events += num_events;
    }

    fn notify(&self) {
        self.counts().is_news = true;
        self.0.is_ready.notify_one();
    }

    fn remove(&self, num_events: u64) {
        self.counts().num_events -= num_events;
        self.0.is_taken.notify_all();
    }

    /// Waits until a stream may be read on. Returns false if it is to end.
    fn may_read(&self, shared: &Shared) -> bool {
        let is_full = |counts: &mut StepCounts| {
            counts.num_events >= MAX_EVENTS_AHEAD && shared.has_waiting() && !shared.is_stopped()
        };
        let waited = self.0.is_taken.wait_while(self.counts(), is_full);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        !shared.is_stopped()
    }

    fn counts(&self) -> MutexGuard<'_, StepCounts> {
        self.0.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread of a stream.
#[derive(Debug)]
pub(super) struct ReadAhead {
    polls: Receiver<StepPoll>,
    ahead: StepsAhead,
    shared: Arc<Shared>,
}

/// The state shared by a stream and its thread.
#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    opening: Mutex<Opening>,
    /// Number of events in steps that have not been requested, and one for each step.
    num_waiting: AtomicU64,
}

#[derive(Debug)]
enum Opening {
    Since(Instant),
    Done,
    Failed(SourceError),
}

impl Shared {
    fn opening(&self) -> MutexGuard<'_, Opening> {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    fn has_waiting(&self) -> bool {
        self.num_waiting.load(Ordering::Acquire) > 0
    }
}

impl ReadAhead {
    /// Starts a thread that opens and reads a stream, and counts its steps in `ahead`.
    ///
    /// # Errors
    /// [`AdError::Thread`].
    pub(super) fn start(reading: Reading, ahead: StepsAhead) -> Result<Self, AdError> {
        let (sender, polls) = sync_channel(MAX_STEPS_AHEAD);
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            opening: Mutex::new(Opening::Since(Instant::now())),
            num_waiting: AtomicU64::new(0),
        });
        let (of_thread, steps) = (Arc::clone(&shared), ahead.clone());
        let read = move || match OpenedStream::open(reading) {
            Ok(mut reader) => {
                *of_thread.opening() = Opening::Done;
                while steps.may_read(&of_thread) {
                    let poll = reader.read();
                    if matches!(poll, StepPoll::NotReady) {
                        continue;
                    }
                    let is_over = matches!(poll, StepPoll::End(_));
                    let weight = weight(&poll);
                    of_thread.num_waiting.fetch_add(weight, Ordering::AcqRel);
                    steps.add(weight);
                    let is_wanted = sender.send(poll).is_ok();
                    steps.notify();
                    if !is_wanted || is_over {
                        return;
                    }
                }
            }
            Err(error) => *of_thread.opening() = Opening::Failed(error),
        };
        thread::Builder::new()
            .name("stream".to_owned())
            .spawn(read)
            .map_err(AdError::Thread)?;
        Ok(Self {
            polls,
            ahead,
            shared,
        })
    }

    /// Returns the step that was read, or `NotReady` if there is no step yet, or `None` if the thread has ended.
    pub(super) fn next_if_ready(&mut self) -> Option<StepPoll> {
        let poll = match self.polls.try_recv() {
            Ok(poll) => poll,
            Err(TryRecvError::Empty) => return Some(StepPoll::NotReady),
            Err(TryRecvError::Disconnected) => return None,
        };
        let weight = weight(&poll);
        self.shared.num_waiting.fetch_sub(weight, Ordering::AcqRel);
        self.ahead.remove(weight);
        Some(poll)
    }

    /// Ends the thread after the step that it reads.
    pub(super) fn stop(&self) {
        self.shared.stop.store(true, Ordering::Release);
        self.ahead.remove(0);
    }

    /// Returns how long the stream has been opening, if it is not open yet.
    pub(super) fn opening(&self) -> Option<Duration> {
        match &*self.shared.opening() {
            Opening::Since(start) => Some(start.elapsed()),
            _ => None,
        }
    }

    /// Takes the error of a failed attempt to open the stream.
    pub(super) fn take_failure(&mut self) -> Option<SourceError> {
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

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns the number of events of a step, and one for itself.
fn weight(poll: &StepPoll) -> u64 {
    let StepPoll::Step(step) = poll else { return 1 };
    let batch = &step.batch;
    let num_events = batch.funcs.len() + batch.comms.len() + batch.counters.len();
    u64::try_from(num_events).map_or(u64::MAX, |it| it + 1)
}
