//! A difference before it is told.

use serde::{Deserialize, Serialize};

use super::merge::CallPath;

/// Kinds of differences.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum DifferenceKind {
    /// Most trees of the kind do not call it.
    New,
    /// Most trees of the kind call it, this one does not.
    Missing,
    /// Called more often than usual; the time is what the additional calls take.
    MoreCalls,
    /// Called less often than usual.
    FewerCalls,
    /// Took longer than usual for this number of calls.
    Longer,
    /// Took less time than usual.
    Shorter,
}

impl DifferenceKind {
    /// The kind in words, as tables have it: `more calls`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Missing => "missing",
            Self::MoreCalls => "more calls",
            Self::FewerCalls => "fewer calls",
            Self::Longer => "longer",
            Self::Shorter => "shorter",
        }
    }

    /// Whether there is less of it than usual: never a reason for being slow.
    pub fn is_less(self) -> bool {
        matches!(self, Self::Missing | Self::FewerCalls | Self::Shorter)
    }
}

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
