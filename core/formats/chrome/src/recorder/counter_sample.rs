//! Samples of counters.

use callgrove_model::CounterId;

use super::rows::RowName;

/// A sample of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CounterSample {
    pub(crate) process: RowName,
    /// Nanoseconds since the time that the file states.
    pub(crate) time_ns: i64,
    pub(crate) counter: CounterId,
    pub(crate) value: u64,
}
