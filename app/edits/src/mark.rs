//! Marks: time ranges that a user wants to find again.

use callgrove_query::TimeRange;
use serde::{Deserialize, Serialize};

/// A named time range, stored with the run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Number of the mark in its run, counted from 1.
    pub id: u64,
    /// Time range; start and end are equal for a point in time.
    pub range: TimeRange,
    /// Text that the user typed.
    pub text: String,
}
