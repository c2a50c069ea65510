//! A live stream, read ahead by its own thread.
//!
//! A thread holds at most one step that has not been requested. So a stream that is faster than the detectors waits
//! instead of filling the memory, and with SST the queue policy of the application applies.
//!
//! The thread also opens its stream, because a running job may block it. An SST writer answers a reader that joins a
//! running job with its next step, and does not end before the opened streams are read. If all streams had to be open
//! before any is read, a job whose ranks wait for one another at their end would never end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_source::SourceError;

use super::reader::{OpenedStream, Reading, StepPoll};
use crate::error::AdError;

/// A signal that any of several streams has a step. Waiting for all streams together keeps an idle stream from delaying
/// the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepSignal(Arc<(Mutex<bool>, Condvar)>);

impl StepSignal {
    fn notify(&self) {
        let (is_set, changed) = &*self.0;
        *is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_one();
    }

    /// Waits for a notification, at most for `wait`. One since the last wait counts.
    pub(crate) fn wait(&self, wait: Duration) {
        let (is_set, changed) = &*self.0;
        let is_set = is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(is_set, wait, |is_set| !*is_set);
        let (mut is_set, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *is_set = false;
    }
}

/// The thread of a stream.
#[derive(Debug)]
pub(super) struct ReadAhead {
    polls: Receiver<StepPoll>,
    /// Signals the thread that its step was taken.
    taken: SyncSender<()>,
    shared: Arc<Shared>,
}

/// The state shared by a stream and its thread.
#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    opening: Mutex<Opening>,
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
}

impl ReadAhead {
    /// Starts a thread that opens and reads a stream, and notifies `signal` when a step is ready.
    ///
    /// # Errors
    /// [`AdError::Thread`].
    pub(super) fn start(reading: Reading, signal: StepSignal) -> Result<Self, AdError> {
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
                    signal.notify();
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

    /// Returns the step that was read, or `NotReady` if there is no step yet, or `None` if the thread has ended.
    pub(super) fn next_if_ready(&mut self) -> Option<StepPoll> {
        let poll = match self.polls.try_recv() {
            Ok(poll) => Some(poll),
            Err(TryRecvError::Empty) => return Some(StepPoll::NotReady),
            Err(TryRecvError::Disconnected) => None,
        };
        // A thread that has sent the end does not wait for this signal.
        self.taken.try_send(()).ok();
        poll
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
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}
