//! Where delays begin, while they are being followed.

use std::collections::BTreeMap;

use callgrove_model::{DurationNs, ExecIdx, FuncId, LaneIdx, TimeNs};

use super::delay::CauseKind;
use super::segments::{OperationRef, PathIdx};

/// A place among the roots that are being followed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct RootIdx(u32);

impl RootIdx {
    pub(super) fn from_index(index: usize) -> Self {
        Self(FuncId::from_index(index).0)
    }

    pub(super) fn index(self) -> usize {
        FuncId(self.0).index()
    }
}

/// What of a delay was on one call path.
#[derive(Clone, Copy, Debug)]
struct PathPart {
    path: PathIdx,
    amount: DurationNs,
    largest: DurationNs,
    call: ExecIdx,
}

/// Own work, or a call of the library, that took longer than usual. Times are on the common clock.
#[derive(Clone, Debug)]
pub(super) struct DelayRoot {
    pub(super) lane: LaneIdx,
    /// The call that is named: the one with most of it on the call path with most of it.
    pub(super) call: ExecIdx,
    pub(super) start: TimeNs,
    pub(super) end: TimeNs,
    /// How much longer than usual.
    pub(super) amount: DurationNs,
    /// How long it usually takes.
    pub(super) usual: DurationNs,
    /// Number of gaps that were each longer than usual.
    pub(super) num_gaps: u32,
    /// The largest of their amounts.
    pub(super) largest: DurationNs,
    /// The same by call path.
    by_path: Vec<PathPart>,
    /// The operation in which it was; `None` for own work.
    pub(super) operation: Option<OperationRef>,
    pub(super) is_written: bool,
    /// What others waited because of it, all together.
    pub(super) cost: DurationNs,
    /// The same by rank, an index into the processes.
    pub(super) victims: BTreeMap<usize, DurationNs>,
    /// The end of the last wait for it.
    pub(super) last_wait_end: TimeNs,
    /// The lanes that its operation may have waited for.
    pub(super) peers: Vec<LaneIdx>,
    /// From here nothing happened on its lane.
    pub(super) silent_from: TimeNs,
    /// Until here it is known to have waited for others.
    pub(super) due: TimeNs,
    /// The root that it was but a part of.
    pub(super) laid_to: Option<RootIdx>,
    /// The rank that it is if it is not this one, an index into the processes.
    pub(super) next_best: Option<usize>,
    /// By how much it came before the next best.
    pub(super) margin: Option<DurationNs>,
    pub(super) kind: CauseKind,
}

impl DelayRoot {
    /// A root of own work, or in an operation, without anything that it caused yet.
    pub(super) fn new(lane: LaneIdx, call: ExecIdx, start: TimeNs, end: TimeNs) -> Self {
        Self {
            lane,
            call,
            start,
            end,
            amount: DurationNs::ZERO,
            usual: DurationNs::ZERO,
            num_gaps: 0,
            largest: DurationNs::ZERO,
            by_path: Vec::new(),
            operation: None,
            is_written: false,
            cost: DurationNs::ZERO,
            victims: BTreeMap::new(),
            last_wait_end: end,
            peers: Vec::new(),
            silent_from: start,
            due: start,
            laid_to: None,
            next_best: None,
            margin: None,
            kind: CauseKind::Unknown,
        }
    }

    /// Goes on: another piece that was too long.
    pub(super) fn extend(
        &mut self,
        path: PathIdx,
        call: ExecIdx,
        end: TimeNs,
        usual: DurationNs,
        amount: DurationNs,
    ) {
        self.end = self.end.max(end);
        self.last_wait_end = self.last_wait_end.max(end);
        self.num_gaps = self.num_gaps.saturating_add(1);
        self.usual += usual;
        self.amount += amount;
        self.largest = self.largest.max(amount);
        let known = self.by_path.iter().position(|it| it.path == path);
        let at = known.unwrap_or(self.by_path.len());
        if known.is_none() {
            self.by_path.push(PathPart {
                path,
                amount: DurationNs::ZERO,
                largest: DurationNs::ZERO,
                call,
            });
        }
        let part = &mut self.by_path[at];
        part.amount += amount;
        if amount > part.largest {
            (part.largest, part.call) = (amount, call);
        }
        // Of equal ones the first.
        let most = self.by_path.iter().rev().max_by_key(|it| it.amount);
        self.call = most.map_or(self.call, |it| it.call);
    }

    /// What it cost all ranks together, its own delay among it.
    pub(super) fn whole_cost(&self) -> DurationNs {
        self.cost + self.amount
    }
}
