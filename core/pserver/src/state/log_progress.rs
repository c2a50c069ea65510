//! How far a log was read.

use std::collections::{BTreeMap, BTreeSet};

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
    /// How far the logs of groups are in the state, by group.
    pub(super) groups: BTreeMap<u32, GroupProgress>,
}

/// How far the log of a group is in the sums that a server has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupProgress {
    /// Identifies the log.
    pub log: String,
    /// All entries up to this one are in the state.
    pub position: u64,
}
