//! One finding, with its figures.

use callgrove_model::{DurationNs, FuncId, LaneIdx, RankId, TimeNs};
use serde::{Deserialize, Serialize};

/// A persistent or slow change of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Trend {
    /// What it is, with its figures.
    pub kind: TrendKind,
    /// The lanes that it is on, ascending.
    pub lanes: Vec<LaneIdx>,
    /// Their ranks, ascending.
    pub ranks: Vec<RankId>,
    /// The host of all these ranks, where the run has several hosts; empty otherwise.
    pub host: String,
    /// The other lanes that call the function, ascending.
    pub peers: Vec<LaneIdx>,
    /// The ranks of the peers, without those of the finding; ascending.
    pub peer_ranks: Vec<RankId>,
    /// The function in which it costs most.
    pub func: FuncId,
    /// Other functions with the same finding on these lanes or some of them, the costliest first.
    pub other_funcs: Vec<FuncId>,
    /// The time that it costs all lanes and functions of the finding together.
    pub cost: DurationNs,
    /// How many times larger than the spread, or its standard error, the difference is.
    pub evidence: f64,
    /// Why it may be no fault; `None` if nothing suggests that.
    pub doubt: Option<TrendDoubt>,
}

/// What a finding says of own times. Durations are those of one call, medians over the lanes of the finding.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum TrendKind {
    /// The lanes are slower than their peers throughout.
    Slow {
        /// The usual own time on these lanes.
        usual: DurationNs,
        /// That of the peers.
        peers: DurationNs,
    },
    /// The own time grows over the run.
    Growth {
        /// The fitted own time at the start of the run.
        from: DurationNs,
        /// The fitted own time at its end.
        to: DurationNs,
    },
    /// The own time differs from a moment on.
    Change {
        /// The usual own time before.
        from: DurationNs,
        /// The usual own time afterwards.
        to: DurationNs,
        /// The moment, on the clock of the first lane.
        at: TimeNs,
        /// The time from the start of the run to this moment.
        after: DurationNs,
    },
}

/// A reason to doubt that a finding is a fault.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum TrendDoubt {
    /// Slow lanes are as fast as their peers in most of their other own time.
    OtherWorkUsual,
    /// A growth or change is alike on all lanes.
    AllLanes,
    /// There are at most four lanes to compare.
    FewLanes,
}

impl TrendKind {
    /// The name of the kind: `slow`, `growth` or `change`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slow { .. } => "slow",
            Self::Growth { .. } => "growth",
            Self::Change { .. } => "change",
        }
    }

    /// The own time of the finding, and what it is compared with: the peers, or the time before.
    pub fn times(self) -> (DurationNs, DurationNs) {
        match self {
            Self::Slow { usual, peers } => (usual, peers),
            Self::Growth { from, to } | Self::Change { from, to, .. } => (to, from),
        }
    }
}
