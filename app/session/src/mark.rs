//! Marks: stretches of time that a person wants to find again.

use serde::{Deserialize, Serialize};

use crate::TimeRange;

/// A stretch of time with a name, kept with the run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Names the mark in its run, counted from 1.
    pub id: u64,
    /// Where it is; from and to are the same for a moment.
    pub range: TimeRange,
    /// What the person wrote.
    pub text: String,
}
