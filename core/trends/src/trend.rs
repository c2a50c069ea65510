//! One finding, with its figures.

use callgrove_model::{DurationNs, FuncId, LaneIdx, RankId, TimeNs};
use serde::{Deserialize, Serialize};

/// A persistent or slow change of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Trend {
    /// The kind of finding, with its figures.
    pub kind: TrendKind,
    /// The affected lanes, ascending.
    pub lanes: Vec<LaneIdx>,
    /// The ranks of these lanes, ascending.
    pub ranks: Vec<RankId>,
    /// The host of all these ranks, where the run has several hosts; empty otherwise.
    pub host: String,
    /// The other lanes that call the function, ascending.
    pub peers: Vec<LaneIdx>,
    /// The ranks of the peers, without those of the finding; ascending.
    pub peer_ranks: Vec<RankId>,
    /// The function with the largest cost.
    pub func: FuncId,
    /// Other functions with the same finding on these lanes or some of them, the costliest first.
    pub other_funcs: Vec<FuncId>,
    /// Total cost in time over all lanes and functions of the finding.
    pub cost: DurationNs,
    /// The difference in units of the spread, or of its standard error.
    pub evidence: f64,
    /// Reason why it may not be a fault; `None` if nothing suggests that.
    pub doubt: Option<TrendDoubt>,
}

/// The own times of a finding. Durations are those of one call, medians over the lanes of the finding; of
/// [`TrendKind::SlowIterations`] those of one iteration.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum TrendKind {
    /// The lanes are slower than their peers throughout.
    Slow {
        /// The usual own time on these lanes.
        usual: DurationNs,
        /// The usual own time of the peers.
        peers: DurationNs,
    },
    /// The rank has more own work in every iteration than its peers.
    SlowIterations {
        /// The usual own work of an iteration on this rank.
        usual: DurationNs,
        /// The usual own work of an iteration of the peers.
        peers: DurationNs,
        /// True if most of the difference is in calls that no other rank makes.
        makes_extra_calls: bool,
    },
    /// The own time grows over the run.
    Growth {
        /// The fitted own time at the start of the run.
        from: DurationNs,
        /// The fitted own time at its end.
        to: DurationNs,
    },
    /// The own time changes at a point in time.
    Change {
        /// The usual own time before.
        from: DurationNs,
        /// The usual own time afterwards.
        to: DurationNs,
        /// Time of the change, on the clock of the first lane.
        at: TimeNs,
        /// Time from the start of the run to the change.
        after: DurationNs,
    },
}

/// A reason to doubt that a finding is a fault.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum TrendDoubt {
    /// Slow lanes are as fast as their peers in most of their other own time.
    OtherWorkUsual,
    /// A growth or change is the same on all lanes.
    AllLanes,
    /// A rank with more work in every iteration may have more to do.
    MoreToDo,
    /// There are at most four lanes to compare.
    FewLanes,
}

impl TrendKind {
    /// Returns the name of the kind: `slow`, `growth` or `change`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slow { .. } | Self::SlowIterations { .. } => "slow",
            Self::Growth { .. } => "growth",
            Self::Change { .. } => "change",
        }
    }

    /// Returns the own time of the finding, and the time it is compared with: that of the peers, or that before.
    pub fn times(self) -> (DurationNs, DurationNs) {
        match self {
            Self::Slow { usual, peers } | Self::SlowIterations { usual, peers, .. } => {
                (usual, peers)
            }
            Self::Growth { from, to } | Self::Change { from, to, .. } => (to, from),
        }
    }
}
