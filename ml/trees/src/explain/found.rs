//! A difference before it is told.

use callgrove_model::DifferenceKind;

use super::merge::CallPath;

/// A difference before it is told: times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Found {
    pub(super) kind: DifferenceKind,
    pub(super) path: CallPath,
    pub(super) count: u64,
    pub(super) usual_count: u64,
    pub(super) time_ns: i64,
    pub(super) usual_ns: i64,
    pub(super) share: f64,
    /// How remarkable it is as structure, 0..=1, however long it took.
    pub(super) novelty: f64,
    /// Whether normal trees differ by as much now and then.
    pub(super) is_ordinary: bool,
    pub(super) importance: f64,
}

impl Found {
    pub(super) fn excess_ns(&self) -> i64 {
        self.time_ns - self.usual_ns
    }
}
