//! Counters of exchanges. They are atomics, so that counting never makes an instance wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets of exchange times, ascending; longer exchanges go to one more bucket.
pub const EXCHANGE_BOUNDS: [Duration; 12] = [
    Duration::from_micros(100),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_micros(2500),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(5),
];

/// Number of buckets of exchange times.
const NUM_BUCKETS: usize = EXCHANGE_BOUNDS.len() + 1;

/// The counters.
#[derive(Debug, Default)]
pub(crate) struct ExchangeCounters {
    counts: [AtomicU64; NUM_BUCKETS],
    sum_ns: AtomicU64,
    /// Time of the last report; 0 before the first.
    last_report_ms: AtomicU64,
}

/// A histogram of the time that the server took to answer exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeTimes {
    /// Number of exchanges in each bucket of [`EXCHANGE_BOUNDS`], not cumulative; the last bucket holds longer
    /// exchanges.
    pub counts: [u64; NUM_BUCKETS],
    /// Sum over all exchanges.
    pub total: Duration,
}

impl ExchangeCounters {
    /// Counts one exchange.
    pub(crate) fn count(&self, time: Duration) {
        let bucket = EXCHANGE_BOUNDS.partition_point(|&bound| bound < time);
        let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(time_ns, Ordering::Relaxed);
    }

    /// Records that a step was reported.
    pub(crate) fn note_report(&self, now_ms: u64) {
        self.last_report_ms.fetch_max(now_ms, Ordering::Relaxed);
    }

    /// Returns the time since the last reported step; `None` before the first.
    pub(crate) fn report_age(&self, now_ms: u64) -> Option<Duration> {
        let last_report_ms = self.last_report_ms.load(Ordering::Relaxed);
        (last_report_ms > 0).then(|| Duration::from_millis(now_ms.saturating_sub(last_report_ms)))
    }

    pub(crate) fn times(&self) -> ExchangeTimes {
        let counts = self.counts.each_ref();
        ExchangeTimes {
            counts: counts.map(|count| count.load(Ordering::Relaxed)),
            total: Duration::from_nanos(self.sum_ns.load(Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_is_in_the_first_bucket_whose_bound_it_does_not_exceed() {
        let counters = ExchangeCounters::default();
        for time in [
            Duration::ZERO,
            EXCHANGE_BOUNDS[0],
            EXCHANGE_BOUNDS[0] + Duration::from_nanos(1),
            Duration::from_hours(1),
        ] {
            counters.count(time);
        }
        let times = counters.times();
        assert_eq!((times.counts[0], times.counts[1]), (2, 1));
        assert_eq!(times.counts[NUM_BUCKETS - 1], 1);
        assert_eq!(times.total, Duration::new(3600, 200_001));
        assert!(EXCHANGE_BOUNDS.is_sorted());
    }

    #[test]
    fn the_age_of_the_last_report_is_unknown_before_the_first() {
        let counters = ExchangeCounters::default();
        assert_eq!(counters.report_age(5000), None);
        counters.note_report(4000);
        counters.note_report(3000);
        assert_eq!(counters.report_age(5000), Some(Duration::from_secs(1)));
    }
}
