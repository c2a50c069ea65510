//! Bounds that end the read of a store before its answer is complete: time, size, or a client that has gone.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::ProvDbError;

/// The maximum cost of one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Maximum duration.
    pub time: Duration,
    /// Maximum number of rows of an answer to plain SQL.
    pub num_rows: u64,
    /// Maximum number of bytes of documents, or of an answer to plain SQL, in memory.
    pub num_bytes: u64,
    /// Maximum working memory of plain SQL, if the engine runs in this process.
    pub work_bytes: u64,
}

impl ReadLimits {
    /// Limits for users who read their own files on their own machine.
    pub const LOCAL: Self = Self {
        time: Duration::from_mins(1),
        num_rows: u64::MAX,
        num_bytes: 256 << 20,
        work_bytes: u64::MAX,
    };
}

/// The limits of one read, with a way to interrupt it from any thread. Clones refer to the same read.
#[derive(Clone)]
pub struct ReadBounds {
    limits: ReadLimits,
    start: Instant,
    interruption: Arc<Interruption>,
}

/// The state of an interruption, and the hook that ends the read.
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
    /// Creates the bounds of a read that starts now.
    pub fn new(limits: ReadLimits) -> Self {
        Self {
            limits,
            start: Instant::now(),
            interruption: Arc::default(),
        }
    }

    /// Interrupts the read, unless it has finished. It fails with [`ProvDbError::Interrupted`].
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

    /// Marks the read as finished, so that it cannot be interrupted any more, and returns whether it was.
    pub fn finish(&self) -> bool {
        let mut hook = self.interruption.hook();
        hook.take();
        self.is_interrupted()
    }

    /// Sets the `hook` that is called when the read is interrupted. It must not block.
    pub fn on_interrupt(&self, hook: impl FnOnce() + Send + 'static) {
        *self.interruption.hook() = Some(Box::new(hook));
    }

    /// Returns the limits of the read.
    pub fn limits(&self) -> ReadLimits {
        self.limits
    }

    /// Returns whether the read must end now.
    pub fn is_over(&self) -> bool {
        self.is_interrupted() || self.is_late()
    }

    fn is_late(&self) -> bool {
        self.start.elapsed() > self.limits.time
    }

    fn is_interrupted(&self) -> bool {
        self.interruption.is_set.load(Ordering::Relaxed)
    }

    /// Returns an error if the read must end now.
    ///
    /// # Errors
    /// As [`ReadBounds::failure`].
    pub fn check(&self) -> Result<(), ProvDbError> {
        if self.is_over() {
            return Err(self.failure());
        }
        Ok(())
    }

    /// Returns why the read ended, after an engine reported that it was ended.
    pub fn failure(&self) -> ProvDbError {
        // A read may be interrupted because of its time limit.
        if self.is_interrupted() && !self.is_late() {
            ProvDbError::Interrupted
        } else {
            ProvDbError::TooSlow {
                limit_s: self.limits.time.as_secs(),
            }
        }
    }

    /// Returns an error if an answer of this size is too large.
    ///
    /// # Errors
    /// [`ProvDbError::AnswerTooLarge`].
    pub fn check_size(&self, num_rows: usize, num_bytes: usize) -> Result<(), ProvDbError> {
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
