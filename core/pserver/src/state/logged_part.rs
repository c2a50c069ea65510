//! What logs on a message bus have of contributions.

use std::collections::BTreeMap;

use callgrove_model::{FuncId, ProgramId};

use crate::contribution::Contribution;
use crate::protocol::PartNumber;

/// One part of a contribution, as a log has it. The parts of a contribution follow one another without others between.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedPart {
    /// The instance that wrote it; for a sum, what `group_log_name` returns.
    pub instance: String,
    /// Which contribution of the instance, and which part of it.
    pub number: PartNumber,
    /// The functions of the contribution under the instance's indices. A server that has given an index to another
    /// function since uses its own.
    pub functions: Vec<(FuncId, ProgramId, String)>,
    /// The data.
    pub contribution: Contribution,
    /// What it is the sum of, if it is the sum of a group's contributions.
    pub sum: Option<SumOrigin>,
}

/// What a sum of contributions is of: the entries of the log of a group up to that of its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SumOrigin {
    /// The group.
    pub group: u32,
    /// Identifies the log of the group.
    pub log: String,
    /// The entry of the log after which the sum begins.
    pub after: u64,
    /// The last contribution of each instance in the sum; the largest number if no later one counts.
    pub members: Vec<(String, u64)>,
}

/// What a merger continues from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergerStart {
    /// The server has the entries of the group's log up to this one.
    pub position: u64,
    /// The last contribution of each instance of the group in them; the largest number if no later one counts.
    pub members: BTreeMap<String, u64>,
}

/// Returns the name under which a state counts the sums of a group.
pub(super) fn group_log_name(group: u32, log: &str) -> String {
    format!("group {group} of log {log}")
}
