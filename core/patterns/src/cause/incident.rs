//! Incidents: what a person would call one event, over all functions and ranks.

use serde::{Deserialize, Serialize};

use callgrove_model::{DurationNs, ExecRef, FuncId, RankId, TimeNs};

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
    /// How long all members together were held up.
    pub delay: DurationNs,
    /// Incidents of the same kind, an index into [`super::Incidents::like_groups`].
    pub like: usize,
}

/// Incidents of one kind that come back: on one rank, or, where no rank has two, on different ones.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LikeGroup {
    /// Their kind.
    pub kind: CauseKind,
    /// The rank of all their roots; `None` if they are on different ranks.
    pub rank: Option<RankId>,
    /// Indices into [`super::Incidents::all`], in order of time.
    pub incidents: Vec<usize>,
    /// Number of ranks that were a root.
    pub num_ranks: usize,
    /// The median time from one to the next; `None` of fewer than three.
    pub every: Option<DurationNs>,
}

impl LikeGroup {
    /// For people: `12 more like this, about every 2.1 s on rank 6`; empty if there are no others.
    pub fn in_words(&self) -> String {
        let more = self.incidents.len().saturating_sub(1);
        if more == 0 {
            return String::new();
        }
        let every = self.every.map_or(String::new(), |every| {
            format!(", about every {}", two_digits(every))
        });
        let place = match self.rank {
            Some(rank) => format!(" on rank {rank}"),
            None => format!(" on {} ranks", self.num_ranks),
        };
        format!("{more} more like this{every}{place}")
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
