//! A difference before the differences are ranked.

use callgrove_model::DifferenceKind;

use super::merge::CallPath;

/// A difference before ranking: times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct RawDifference {
    pub(super) kind: DifferenceKind,
    pub(super) path: CallPath,
    pub(super) count: u64,
    pub(super) usual_count: u64,
    pub(super) time_ns: i64,
    pub(super) usual_ns: i64,
    pub(super) share: f64,
    /// Novelty of the structure, 0..=1, independent of its duration.
    pub(super) novelty: f64,
    /// True if normal trees sometimes differ by as much.
    pub(super) is_ordinary: bool,
    pub(super) importance: f64,
}

impl RawDifference {
    pub(super) fn excess_ns(&self) -> i64 {
        self.time_ns - self.usual_ns
    }
}
