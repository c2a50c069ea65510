//! How far a log was read.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// What a server has read of its log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogProgress {
    /// Identifies the log; empty if none was read.
    pub(super) log: String,
    /// All entries up to this one are in the state.
    pub(super) position: u64,
    /// Instances whose later entries do not count: others have taken their ranks.
    pub(super) fenced: BTreeSet<String>,
}
