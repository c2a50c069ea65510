//! Whole numbers as real ones; beyond 2^53 they lose their last digits.

/// A time in nanoseconds.
pub(super) fn real_ns(time_ns: i64) -> f64 {
    time_ns as f64
}

/// A number of calls.
pub(super) fn real_count(count: u64) -> f64 {
    count as f64
}

/// A number of trees or paths.
pub(super) fn real_len(len: usize) -> f64 {
    len as f64
}

/// Nanoseconds to the nearest whole one.
pub(super) fn rounded_ns(time_ns: f64) -> i64 {
    time_ns.round() as i64
}
