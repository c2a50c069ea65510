//! The growth of the process's memory since the start of a statement, as reported by Linux.

use std::cell::Cell;
use std::time::{Duration, Instant};

use callgrove_local::resident_bytes;

/// Interval between checks, which take some microseconds each.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Monitors the memory of the process while one statement runs. Allocations of other threads count as well.
pub(super) struct MemoryWatch {
    most_bytes: u64,
    next_look: Cell<Instant>,
}

impl MemoryWatch {
    /// Allows `growth_bytes` more than the process has now. Without a report from the system, everything is allowed.
    pub(super) fn new(growth_bytes: u64) -> Self {
        let now_bytes = resident_bytes().unwrap_or(u64::MAX);
        Self {
            most_bytes: now_bytes.saturating_add(growth_bytes),
            next_look: Cell::new(Instant::now()),
        }
    }

    /// Returns whether the process has grown too much.
    pub(super) fn is_over(&self) -> bool {
        let now = Instant::now();
        if now < self.next_look.get() {
            return false;
        }
        self.next_look.set(now + POLL_INTERVAL);
        resident_bytes().is_some_and(|now_bytes| now_bytes > self.most_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn growth_is_seen() {
        let watch = MemoryWatch::new(64 << 20);
        assert!(!watch.is_over());
        let grown = vec![1_u8; 256 << 20];
        std::thread::sleep(2 * POLL_INTERVAL);
        assert!(watch.is_over());
        drop(grown);
        assert!(!MemoryWatch::new(u64::MAX).is_over());
    }
}
