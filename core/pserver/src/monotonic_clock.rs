//! A clock for leases and packets: milliseconds since the epoch that never jump.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A clock that starts at the system's time and then only adds the elapsed time.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    start: Instant,
    start_ms: u64,
}

impl MonotonicClock {
    /// Creates a clock set to the system's time.
    pub fn new() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            start: Instant::now(),
            start_ms: since_epoch.map_or(0, whole_ms),
        }
    }

    /// Returns milliseconds since the epoch.
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
