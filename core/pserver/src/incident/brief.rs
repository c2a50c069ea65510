//! What an AD instance reports of a step, so that it can be compared with those of other ranks.

use std::collections::BTreeMap;

use callgrove_model::{CommKind, ExecLabel, FuncId, ProgramId, RankId, StepId, ThreadId};
use callgrove_patterns::trend::TimeWindow;
use serde::{Deserialize, Serialize};

/// A step of a rank: program, I/O step, rank; so the oldest steps come first.
pub type BriefKey = (ProgramId, StepId, RankId);

/// What stalled in one I/O step of one rank, and the messages around that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepBrief {
    /// Executions that ended in the step, each once.
    // Saved states of earlier releases have another name.
    #[serde(alias = "stood")]
    pub stalls: Vec<StallBrief>,
    /// Messages whose number is known, in these or shortly before or after.
    pub messages: Vec<MessageBrief>,
    /// Own times of the functions that took most of them, for trends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_times: Vec<OwnTimeBrief>,
    /// Host of the rank; may be empty where an earlier step had it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
}

/// Own times (exclusive times) of the executions of a function under a caller that ended in the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnTimeBrief {
    /// Global index of the function.
    pub fid: FuncId,
    /// That of its caller; `None` at the bottom of the stack.
    pub caller: Option<FuncId>,
    /// The executions.
    pub window: TimeWindow,
}

/// An execution that stalled: an anomaly, or one that stalled longer than nearly all others of its rank. Times are
/// microseconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StallBrief {
    /// Its label.
    pub label: ExecLabel,
    /// Global index of its function.
    pub fid: FuncId,
    /// Its thread.
    pub thread: ThreadId,
    /// From here it stalled: the longest time in which nothing happened on its thread while it was on top of the stack.
    pub from_us: u64,
    /// To here.
    pub to_us: u64,
    /// Whether the detector found it.
    pub is_anomaly: bool,
    /// When it was entered, and left. Older instances report neither; then both are 0.
    #[serde(default)]
    pub entry_us: u64,
    /// See `entry_us`.
    #[serde(default)]
    pub exit_us: u64,
}

/// One end of a message. Times are microseconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageBrief {
    /// Sent or received.
    pub kind: CommKind,
    /// The rank at the other end.
    pub partner: RankId,
    /// Tag.
    pub tag: u64,
    /// How many messages with the same sender, receiver and tag came before it.
    pub number: u64,
    /// When, as the tracer tells: a SEND when its call is entered, a RECV when its call ends.
    pub time_us: u64,
    /// The execution that it is in; none outside every function.
    pub call: Option<ExecLabel>,
    /// When that was entered; the time of the message without one.
    pub called_us: u64,
    /// Its thread. Older instances do not report it; then it is 0.
    #[serde(default)]
    pub thread: ThreadId,
}

impl StepBrief {
    /// Nothing is reported.
    pub fn is_empty(&self) -> bool {
        self.stalls.is_empty() && self.messages.is_empty() && self.own_times.is_empty()
    }

    /// What it takes of a bound: its entries, and one for itself. Own times have a bound of their own, so that they never
    /// displace what incidents are made of.
    pub(crate) fn weight(&self) -> usize {
        1 + self.stalls.len() + self.messages.len()
    }

    /// Number of entries of all kinds, and one for itself.
    pub(crate) fn num_entries(&self) -> usize {
        self.weight() + self.own_times.len()
    }
}

/// Drops the oldest steps of `briefs` beyond a `limit` of entries, and the own times of the oldest beyond as many.
pub(crate) fn bound_briefs(briefs: &mut BTreeMap<BriefKey, StepBrief>, limit: usize) {
    let mut weight: usize = briefs.values().map(StepBrief::weight).sum();
    while weight > limit {
        // Whatever the program, the oldest step.
        let oldest = briefs.keys().min_by_key(|key| (key.1, key.0, key.2));
        let Some(brief) = oldest.copied().and_then(|key| briefs.remove(&key)) else {
            return;
        };
        weight -= brief.weight();
    }
    let num_own = briefs.values().map(|brief| brief.own_times.len());
    let mut num_own: usize = num_own.sum();
    if num_own <= limit {
        return;
    }
    let mut oldest: Vec<BriefKey> = briefs.keys().copied().collect();
    oldest.sort_unstable_by_key(|key| (key.1, key.0, key.2));
    for key in oldest {
        if num_own <= limit {
            break;
        }
        if let Some(brief) = briefs.get_mut(&key) {
            num_own -= std::mem::take(&mut brief.own_times).len();
        }
    }
    briefs.retain(|_, brief| !brief.is_empty());
}
