//! Incidents: disturbances as a person would count them, over all functions and ranks.

use serde::{Deserialize, Serialize};

use callgrove_model::{DurationNs, ExecRef, FuncId, RankId, TimeNs, Trace};

use super::delay::{CauseKind, RootCause};

/// Delayed executions that overlap and share a root.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Incident {
    /// Start of the first delay.
    pub start: TimeNs,
    /// End of the last delay.
    pub end: TimeNs,
    /// The kind of cause.
    pub kind: CauseKind,
    /// The largest root, a copy of one of [`crate::Causes::roots`].
    pub root: RootCause,
    /// The functions on the root's stack, outermost first; the last one is the root's own.
    pub call_path: Vec<FuncId>,
    /// The calls that waited or were slow, including the root's; ordered by lane, then entry.
    pub members: Vec<ExecRef>,
    /// The affected ranks, ascending, including the root's.
    pub ranks: Vec<RankId>,
    /// Total delay of all ranks, including the root's own delay.
    pub delay: DurationNs,
    /// How much earlier the run would have ended without it; `None` if it is by design, or if that is not known.
    pub lost_run_time: Option<DurationNs>,
    /// Number of occurrences, if recurrences are one incident: causes by design, noise, and the tracer's writes.
    /// `start`, `end`, `root`, `members` and `ranks` are then those of the costliest occurrence.
    pub times: u32,
    /// Period of the occurrences, if it hardly varies.
    pub every: Option<DurationNs>,
    /// The collective, if a rank did not enter it.
    #[serde(default)]
    pub unentered: Option<Unentered>,
    /// Number of its group of similar incidents; see [`crate::Incidents::similar_to`].
    #[serde(rename = "like")]
    pub similar_group: usize,
}

/// A collective operation that not all members of its group entered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Unentered {
    /// The call of the member that waited longest.
    pub call: ExecRef,
    /// Its function.
    pub func: FuncId,
    /// The number of the operation in its group: the stated one, or its position in the trace, from 1.
    pub number: u64,
    /// The ranks of the group, ascending, as far as they are in the trace.
    pub group: Vec<RankId>,
    /// The ranks that did not enter, ascending; the root is the first one.
    pub missing: Vec<RankId>,
    /// Number of ranks that waited, also in collectives of other groups that wait for this one.
    pub num_waiting: usize,
    /// What the root shows.
    pub state: MissingState,
}

/// What the trace shows of a rank for which others wait: the root's call, from its start to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingState {
    /// It is in the call.
    Inside,
    /// It was in the call for most of the wait, and left it.
    Left,
    /// All its calls had ended before the others waited; the call is its last one.
    Silent,
}

impl Incident {
    /// Minimum own delay of a root that is an incident.
    pub const MIN_DELAY: DurationNs = DurationNs::from_us(1_000);

    /// Sorts the members, and sets the ranks from them.
    pub(crate) fn with_sorted_members(mut self, trace: &Trace) -> Self {
        self.members.sort_unstable();
        self.members.dedup();
        let ranks = self.members.iter().map(|it| trace.lane(it.lane).rank);
        self.ranks = ranks.collect();
        self.ranks.sort_unstable();
        self.ranks.dedup();
        self
    }
}

/// Incidents of one kind that recur at the same place: on one rank in one function, on one host, or in the network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SimilarIncidents {
    /// Their kind.
    pub kind: CauseKind,
    /// The rank of all their roots; `None` if no rank is the cause.
    pub rank: Option<RankId>,
    /// Indices into [`crate::Incidents::all`], in order of time.
    pub incidents: Vec<usize>,
    /// Period of the incidents, if it hardly varies.
    pub every: Option<DurationNs>,
}

impl SimilarIncidents {
    /// Returns a description such as `12 similar incidents on rank 6, about every 2.1 s`; empty if there are no
    /// others.
    pub fn summary(&self) -> String {
        let more = self.incidents.len().saturating_sub(1);
        if more == 0 {
            return String::new();
        }
        let incidents = if more == 1 { "incident" } else { "incidents" };
        let place = self
            .rank
            .map_or(String::new(), |rank| format!(" on rank {rank}"));
        let every = self.every.map_or(String::new(), |every| {
            format!(", about every {}", every.to_two_digits())
        });
        format!("{more} similar {incidents}{place}{every}")
    }
}
