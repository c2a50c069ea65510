//! Incidents: what a person would call one event, over all functions and ranks.

use serde::{Deserialize, Serialize};

use callgrove_model::{DurationNs, ExecRef, FuncId, RankId, TimeNs, Trace};

use super::{CauseKind, RootCause};

/// Delayed executions that overlap and share a root.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Incident {
    /// The first delay begins.
    pub start: TimeNs,
    /// The last delay ends.
    pub end: TimeNs,
    /// What kind of cause it has.
    pub kind: CauseKind,
    /// The largest root, a copy of one of [`super::Causes::roots`].
    pub root: RootCause,
    /// The functions on the root's stack, outermost first; the last one is the root's own.
    pub call_path: Vec<FuncId>,
    /// The calls that waited or were slow, the root's among them; ordered by lane, then entry.
    pub members: Vec<ExecRef>,
    /// The ranks that were hit, ascending, the root's among them.
    pub ranks: Vec<RankId>,
    /// How long all ranks together were held up, the root's own delay among it.
    pub delay: DurationNs,
    /// How often it happened, where its times are one matter: what is by design, noise, and the tracer's writes. `start`,
    /// `end`, `root`, `members` and `ranks` are then of the costliest time.
    pub times: u32,
    /// The time from one to the next, where it hardly varies.
    pub every: Option<DurationNs>,
    /// Incidents of the same kind, an index into [`super::Incidents::like_groups`].
    pub like: usize,
}

impl Incident {
    /// Orders the members, and takes the ranks from them.
    pub(super) fn settled(mut self, trace: &Trace) -> Self {
        self.members.sort_unstable();
        self.members.dedup();
        let ranks = self.members.iter().map(|it| trace.lane(it.lane).rank);
        self.ranks = ranks.collect();
        self.ranks.sort_unstable();
        self.ranks.dedup();
        self
    }
}

/// Incidents of one kind that come back at the same place: on one rank in one function, on one host, or in the network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LikeGroup {
    /// Their kind.
    pub kind: CauseKind,
    /// The rank of all their roots; `None` where it is no rank's doing.
    pub rank: Option<RankId>,
    /// Indices into [`super::Incidents::all`], in order of time.
    pub incidents: Vec<usize>,
    /// The time from one to the next, where it hardly varies.
    pub every: Option<DurationNs>,
}

impl LikeGroup {
    /// For people: `12 similar incidents on rank 6, about every 2.1 s`; empty if there are no others.
    pub fn in_words(&self) -> String {
        let more = self.incidents.len().saturating_sub(1);
        if more == 0 {
            return String::new();
        }
        let incidents = if more == 1 { "incident" } else { "incidents" };
        let place = self
            .rank
            .map_or(String::new(), |rank| format!(" on rank {rank}"));
        let every = self.every.map_or(String::new(), |every| {
            format!(", about every {}", two_digits(every))
        });
        format!("{more} similar {incidents}{place}{every}")
    }
}

/// A length of time to two significant digits, for an estimate.
fn two_digits(duration: DurationNs) -> DurationNs {
    let mut unit = 1_i64;
    while duration.0 / unit >= 100 {
        unit = unit.saturating_mul(10);
    }
    DurationNs((duration.0.saturating_add(unit / 2) / unit).saturating_mul(unit))
}
