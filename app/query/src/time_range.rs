//! The time range of a selection, a mark or a question.

use callgrove_model::TimeNs;
use serde::{Deserialize, Serialize};

/// A time range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TimeRange {
    /// Start.
    pub from: TimeNs,
    /// End, not before the start.
    pub to: TimeNs,
}

impl TimeRange {
    /// Returns the range between two times, given in either order.
    pub fn between(a: TimeNs, b: TimeNs) -> Self {
        Self {
            from: a.min(b),
            to: a.max(b),
        }
    }
}
