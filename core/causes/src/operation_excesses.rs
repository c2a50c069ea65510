//! The excesses of operations, in the order in which they are replayed.

use callgrove_model::LaneIdx;
use callgrove_segments::OperationRef;

use super::usual::PlaceExcess;

/// The excesses of operations, which are looked up in the order of each lane.
pub(super) struct OperationExcesses {
    /// By lane, then time.
    all: Vec<(OperationRef, PlaceExcess)>,
    /// For each lane, the first that is not before the last one that was looked up.
    next: Vec<usize>,
}

impl OperationExcesses {
    /// Takes excesses by lane, then time.
    pub(super) fn new(all: Vec<(OperationRef, PlaceExcess)>, num_lanes: usize) -> Self {
        let lanes = (0..num_lanes).map(LaneIdx::from_index);
        let first = |lane| all.partition_point(|it| it.0.lane < lane);
        let next = lanes.map(first).collect();
        Self { all, next }
    }

    /// Returns the excess of an operation that is not before the last one of its lane that was looked up.
    pub(super) fn of(&mut self, it: OperationRef) -> Option<PlaceExcess> {
        let next = &mut self.next[it.lane.index()];
        let before = self.all[*next..].iter().take_while(|known| known.0 < it);
        *next += before.count();
        let (known, excess) = self.all.get(*next)?;
        (*known == it).then_some(*excess)
    }
}
