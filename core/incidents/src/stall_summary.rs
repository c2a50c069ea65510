//! The stall summary that an AD instance reports for each step, to be compared with those of other ranks.

use std::collections::BTreeMap;

use callgrove_model::{CommKind, ExecLabel, FuncId, ProgramId, RankId, StepId, ThreadId};
use callgrove_trends::TimeWindow;
use serde::{Deserialize, Serialize};

/// The key of a stall summary: program, I/O step, rank.
pub type StallSummaryKey = (ProgramId, StepId, RankId);

/// The stalls of one I/O step of one rank, and the messages around them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StallSummary {
    /// Stalled executions that ended in the step, each once.
    pub stalls: Vec<StallEntry>,
    /// Messages with a known number, in these executions or shortly before or after.
    pub messages: Vec<MessageEntry>,
    /// Exclusive times of the functions with the largest totals, for trends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_times: Vec<OwnTimeEntry>,
    /// Host of the rank; may be empty if an earlier step had it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
}

/// Exclusive times of the executions of a function under one caller that ended in the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnTimeEntry {
    /// Global index of the function.
    pub fid: FuncId,
    /// Global index of its caller; `None` at the bottom of the call stack.
    pub caller: Option<FuncId>,
    /// Number, quantile and sum of the executions' times.
    pub window: TimeWindow,
}

/// A stalled execution: an anomaly, or one with a longer stall than nearly all others of its rank. Times are
/// microseconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StallEntry {
    /// Its label.
    pub label: ExecLabel,
    /// Global index of its function.
    pub fid: FuncId,
    /// Its thread.
    pub thread: ThreadId,
    /// Start of the stall: the longest interval without any event on its thread while it was on top of the stack.
    pub from_us: u64,
    /// End of the stall.
    pub to_us: u64,
    /// True if the detector found it.
    pub is_anomaly: bool,
    /// Time of entry.
    pub entry_us: u64,
    /// Time of exit.
    pub exit_us: u64,
}

/// One end of a message. Times are microseconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageEntry {
    /// Sent or received.
    pub kind: CommKind,
    /// The rank at the other end.
    pub partner: RankId,
    /// Tag.
    pub tag: u64,
    /// How many earlier messages have the same sender, receiver and tag.
    pub number: u64,
    /// Time of the event in the trace: a SEND at the entry of its call, a RECV at the exit.
    pub time_us: u64,
    /// The execution that contains it; `None` outside every function.
    pub call: Option<ExecLabel>,
    /// Time of entry of that execution; without one, the time of the message.
    pub called_us: u64,
    /// Its thread.
    pub thread: ThreadId,
}

impl StallSummary {
    /// Returns true if nothing is reported.
    pub fn is_empty(&self) -> bool {
        self.stalls.is_empty() && self.messages.is_empty() && self.own_times.is_empty()
    }

    /// Returns its share of the limit on entries: stalls and messages, plus one for itself. Exclusive times have their
    /// own limit, so that they never displace the data of incidents.
    pub fn weight(&self) -> usize {
        1 + self.stalls.len() + self.messages.len()
    }

    /// Returns the number of entries of all kinds, plus one for itself.
    pub fn num_entries(&self) -> usize {
        self.weight() + self.own_times.len()
    }
}

/// Drops the oldest steps beyond a `limit` of entries, and the exclusive times of the oldest steps beyond the same
/// limit.
pub fn bound_stall_summaries(
    stall_summaries: &mut BTreeMap<StallSummaryKey, StallSummary>,
    limit: usize,
) {
    let mut weight: usize = stall_summaries.values().map(StallSummary::weight).sum();
    while weight > limit {
        // The oldest step of any program.
        let oldest = stall_summaries
            .keys()
            .min_by_key(|key| (key.1, key.0, key.2));
        let Some(summary) = oldest.copied().and_then(|key| stall_summaries.remove(&key)) else {
            return;
        };
        weight -= summary.weight();
    }
    let mut num_own_times: usize = (stall_summaries.values())
        .map(|summary| summary.own_times.len())
        .sum();
    if num_own_times <= limit {
        return;
    }
    let mut oldest: Vec<StallSummaryKey> = stall_summaries.keys().copied().collect();
    oldest.sort_unstable_by_key(|key| (key.1, key.0, key.2));
    for key in oldest {
        if num_own_times <= limit {
            break;
        }
        if let Some(summary) = stall_summaries.get_mut(&key) {
            num_own_times -= std::mem::take(&mut summary.own_times).len();
        }
    }
    stall_summaries.retain(|_, summary| !summary.is_empty());
}
