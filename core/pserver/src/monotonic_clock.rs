//! Time for leases and packets: milliseconds since the epoch that never jump.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A clock that shows the system's time when it was made, and from then on what has passed since.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    start: Instant,
    start_ms: u64,
}

impl MonotonicClock {
    /// Set to the system's time.
    pub fn new() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            start: Instant::now(),
            start_ms: since_epoch.map_or(0, whole_ms),
        }
    }

    /// Milliseconds since the epoch.
    pub fn now_ms(&self) -> u64 {
        self.start_ms.saturating_add(whole_ms(self.start.elapsed()))
    }
}

impl Default for MonotonicClock {
    fn default() -> Self {
        Self::new()
    }
}

fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
