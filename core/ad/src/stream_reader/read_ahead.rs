//! A live stream, read ahead by a thread of its own.
//!
//! A thread holds at most one step that nobody has asked for yet, so a stream that is faster than the
//! detectors waits (and with SST the application's queue policy rules) instead of filling the memory.
//!
//! The thread opens its stream too, because a running job may keep it waiting: SST's writer answers a reader that
//! comes while the job runs with its next step, and does not end before the streams that were opened are read. If all
//! had to be open before any is read, a job whose ranks wait for one another at their end would never end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_trace::TraceError;

use super::reader::{OpenedStream, Reading, StepPoll};
use crate::AdError;

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

/// The thread of a stream.
#[derive(Debug)]
pub(super) struct ReadAhead {
    polls: Receiver<StepPoll>,
    /// Tells the thread that what it read was taken.
    taken: SyncSender<()>,
    shared: Arc<Shared>,
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

impl ReadAhead {
    /// Starts to open and read a stream, and rings `bell` when there is something.
    ///
    /// # Errors
    /// [`AdError::Thread`].
    pub(super) fn start(reading: Reading, bell: Bell) -> Result<Self, AdError> {
        let (sender, polls) = sync_channel(1);
        let (taken, is_taken) = sync_channel(1);
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            opening: Mutex::new(Opening::Since(Instant::now())),
        });
        let of_thread = Arc::clone(&shared);
        let read = move || match OpenedStream::open(reading) {
            Ok(mut reader) => {
                *of_thread.opening() = Opening::Done;
                while !of_thread.stop.load(Ordering::Relaxed) {
                    let poll = reader.read();
                    if matches!(poll, StepPoll::NotReady) {
                        continue;
                    }
                    let is_over = matches!(poll, StepPoll::End(_));
                    let is_wanted = sender.send(poll).is_ok();
                    bell.ring();
                    if !is_wanted || is_over || is_taken.recv().is_err() {
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
            taken,
            shared,
        })
    }

    /// What was read, if anything was; nothing any more from a thread that is gone.
    pub(super) fn next_if_ready(&mut self) -> Option<StepPoll> {
        let poll = match self.polls.try_recv() {
            Ok(poll) => Some(poll),
            Err(TryRecvError::Empty) => return Some(StepPoll::NotReady),
            Err(TryRecvError::Disconnected) => None,
        };
        // A thread that has told the end waits for nothing.
        self.taken.try_send(()).ok();
        poll
    }

    /// How long the stream has been being opened, if it is not open yet.
    pub(super) fn opening(&self) -> Option<Duration> {
        match &*self.shared.opening() {
            Opening::Since(start) => Some(start.elapsed()),
            _ => None,
        }
    }

    /// Why the stream could not be opened, if so; this can be asked once.
    pub(super) fn take_failure(&mut self) -> Option<TraceError> {
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
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}
