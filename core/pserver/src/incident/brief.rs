//! What an AD instance tells of the anomalies of a step, so that they can be joined with those of other ranks.

use std::collections::BTreeMap;

use callgrove_model::{CommKind, ExecLabel, FuncId, ProgramId, RankId, StepId, ThreadId};
use serde::{Deserialize, Serialize};

/// A step of a rank: program, I/O step, rank; so the oldest steps come first.
pub type BriefKey = (ProgramId, StepId, RankId);

/// The anomalies of one I/O step of one rank, and the messages around them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepBrief {
    /// Executions that took longer than usual, each once.
    pub anomalies: Vec<AnomalyBrief>,
    /// Messages whose number is known, in them or shortly before or after.
    pub messages: Vec<MessageBrief>,
}

/// One anomaly. Times are microseconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnomalyBrief {
    /// Its label.
    pub label: ExecLabel,
    /// Global index of its function.
    pub fid: FuncId,
    /// Its thread.
    pub thread: ThreadId,
    /// Entry.
    pub entry_us: u64,
    /// Exit.
    pub exit_us: u64,
    /// Its exclusive time, in microseconds.
    pub severity_us: u64,
    /// From here it stood: the longest time in which nothing happened on its thread while it was on top of the stack.
    pub stood_from_us: u64,
    /// To here.
    pub stood_to_us: u64,
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
}

impl StepBrief {
    /// Nothing is told.
    pub fn is_empty(&self) -> bool {
        self.anomalies.is_empty() && self.messages.is_empty()
    }

    /// What it takes of a bound: its entries, and one for itself.
    pub(crate) fn weight(&self) -> usize {
        1 + self.anomalies.len() + self.messages.len()
    }
}

/// Drops the oldest steps of `briefs` beyond a `limit` of entries.
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
}
