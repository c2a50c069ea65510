//! Merges the statistics of two sets of values.

use callgrove_detect::{Moments, RunStats};

use super::MetricsData;

/// Merges count, score and severity. If one has no anomalies, returns the other.
pub(crate) fn merged_metrics(a: &MetricsData, b: &MetricsData) -> MetricsData {
    if a.count.count == 0 {
        return b.clone();
    }
    if b.count.count == 0 {
        return a.clone();
    }
    MetricsData {
        first_io_step: a.first_io_step.min(b.first_io_step),
        last_io_step: a.last_io_step.max(b.last_io_step),
        max_timestamp_us: a.max_timestamp_us.max(b.max_timestamp_us),
        min_timestamp_us: a.min_timestamp_us.min(b.min_timestamp_us),
        severity: merged_stats(&a.severity, &b.severity),
        score: merged_stats(&a.score, &b.score),
        count: merged_stats(&a.count, &b.count),
    }
}

/// Returns the statistics of the union of the values behind `a` and `b`, exact up to rounding. Associative and
/// commutative to the same degree.
pub fn merged_stats(a: &RunStats, b: &RunStats) -> RunStats {
    if a.count == 0 {
        return *b;
    }
    if b.count == 0 {
        return *a;
    }
    let mut both = Moments::of_stats(a);
    both.merge(&Moments::of_stats(b));
    RunStats {
        accumulate: a.accumulate + b.accumulate,
        ..both.stats()
    }
}
