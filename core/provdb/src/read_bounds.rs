//! What ends the reading of a store before its answer is complete: its time, its size, or that its client has gone.

#![cfg_attr(
    not(any(test, feature = "net", feature = "postgres", feature = "sqlite")),
    expect(dead_code, reason = "engines and servers read them")
)]

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::ProvDbError;

/// How much one read may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Longest that it may run.
    pub time: Duration,
    /// Most rows of the answer to plain SQL.
    pub num_rows: u64,
    /// Most bytes of documents, or of the answer to plain SQL, in memory.
    pub num_bytes: u64,
    /// Most memory that plain SQL may take on its way to the answer, where the engine runs in this process.
    pub work_bytes: u64,
}

impl ReadLimits {
    /// Limits for users who read files of their own, on their own machine.
    pub const LOCAL: Self = Self {
        time: Duration::from_mins(1),
        num_rows: u64::MAX,
        num_bytes: 256 << 20,
        work_bytes: u64::MAX,
    };
}

/// The limits of one read, and the way to interrupt it from any thread. Clones are the same read.
#[derive(Clone)]
pub struct ReadBounds {
    limits: ReadLimits,
    start: Instant,
    interruption: Arc<Interruption>,
}

/// Whether a read is interrupted, and what else ends it.
#[derive(Default)]
struct Interruption {
    is_set: AtomicBool,
    hook: Mutex<Option<Hook>>,
}

type Hook = Box<dyn FnOnce() + Send>;

impl Interruption {
    fn hook(&self) -> MutexGuard<'_, Option<Hook>> {
        self.hook.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReadBounds {
    /// The bounds of a read that begins now.
    pub fn new(limits: ReadLimits) -> Self {
        Self {
            limits,
            start: Instant::now(),
            interruption: Arc::default(),
        }
    }

    /// Ends the read, if it has not finished. It fails with [`ProvDbError::Interrupted`].
    pub fn interrupt(&self) {
        let hook = {
            let mut hook = self.interruption.hook();
            self.interruption.is_set.store(true, Ordering::Relaxed);
            hook.take()
        };
        if let Some(hook) = hook {
            hook();
        }
    }

    /// Ends the time in which the read can be interrupted, and returns whether it was.
    #[cfg(feature = "net")]
    pub(crate) fn finish(&self) -> bool {
        let mut hook = self.interruption.hook();
        hook.take();
        self.is_interrupted()
    }

    /// Has `hook` called when the read is interrupted, in place of the hook before. It must not block.
    #[cfg(feature = "postgres")]
    pub(crate) fn on_interrupt(&self, hook: impl FnOnce() + Send + 'static) {
        *self.interruption.hook() = Some(Box::new(hook));
    }

    /// The limits of the read.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn limits(&self) -> ReadLimits {
        self.limits
    }

    /// Whether the read is to end now.
    pub(crate) fn is_over(&self) -> bool {
        self.is_interrupted() || self.is_late()
    }

    fn is_late(&self) -> bool {
        self.start.elapsed() > self.limits.time
    }

    fn is_interrupted(&self) -> bool {
        self.interruption.is_set.load(Ordering::Relaxed)
    }

    /// Fails if the read is to end now.
    #[cfg(feature = "postgres")]
    pub(crate) fn check(&self) -> Result<(), ProvDbError> {
        if self.is_over() {
            return Err(self.failure());
        }
        Ok(())
    }

    /// Why the read ended, once an engine has said that something ended it.
    pub(crate) fn failure(&self) -> ProvDbError {
        // What runs for too long may be interrupted for that reason.
        if self.is_interrupted() && !self.is_late() {
            ProvDbError::Interrupted
        } else {
            ProvDbError::TooSlow {
                limit_s: self.limits.time.as_secs(),
            }
        }
    }

    /// Fails if an answer of this size is too large.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn check_size(&self, num_rows: usize, num_bytes: usize) -> Result<(), ProvDbError> {
        let sizes = [
            ("bytes", num_bytes, self.limits.num_bytes),
            ("rows", num_rows, self.limits.num_rows),
        ];
        for (what, found, most) in sizes {
            let found = u64::try_from(found).unwrap_or(u64::MAX);
            if found > most {
                return Err(ProvDbError::AnswerTooLarge {
                    what: what.to_owned(),
                    found,
                    most,
                });
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ReadBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadBounds")
            .field("limits", &self.limits)
            .field("is_interrupted", &self.is_interrupted())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_interrupted_once_and_not_after_its_end() {
        let bounds = ReadBounds::new(ReadLimits::LOCAL);
        let called = Arc::new(AtomicBool::new(false));
        let hook = |called: &Arc<AtomicBool>| {
            let called = Arc::clone(called);
            move || assert!(!called.swap(true, Ordering::Relaxed), "once")
        };
        *bounds.interruption.hook() = Some(Box::new(hook(&called)));
        assert!(!bounds.is_over());
        bounds.interrupt();
        bounds.clone().interrupt();
        assert!(bounds.is_over() && called.load(Ordering::Relaxed));
        assert!(matches!(bounds.failure(), ProvDbError::Interrupted));
    }

    #[test]
    fn a_read_ends_with_its_time() {
        let bounds = ReadBounds::new(ReadLimits {
            time: Duration::ZERO,
            ..ReadLimits::LOCAL
        });
        std::thread::sleep(Duration::from_millis(1));
        assert!(bounds.is_over());
        assert!(bounds.failure().to_string().contains("longer than 0 s"));
    }
}
