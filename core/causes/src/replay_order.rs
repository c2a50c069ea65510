//! The order in which operations are replayed, and their excesses in that order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use callgrove_model::LaneIdx;
use callgrove_segments::{OperationKind, OperationRef, Segments};

use super::usual::PlaceExcess;

/// Returns all operations by their end. A wait for another thread ends with the operation that it waits for, which comes
/// before it. Cost: O(log n) in lanes for each.
pub(super) fn by_end(segments: &Segments) -> Vec<OperationRef> {
    let entry = |lane: LaneIdx, at: usize| {
        let operation = segments.lane(lane).operations.get(at)?;
        let is_thread = matches!(operation.kind, OperationKind::Thread(_));
        let it = OperationRef::new(lane, at);
        Some(Reverse((operation.end, is_thread, operation.start, it)))
    };
    let lanes = (0..segments.lanes.len()).map(LaneIdx::from_index);
    let mut next: BinaryHeap<_> = lanes.filter_map(|lane| entry(lane, 0)).collect();
    let num_operations = segments.lanes.iter().map(|it| it.operations.len()).sum();
    let mut order = Vec::with_capacity(num_operations);
    while let Some(mut first) = next.peek_mut() {
        let Reverse((.., it)) = *first;
        match entry(it.lane, it.at() + 1) {
            Some(after) => *first = after,
            None => drop(PeekMut::pop(first)),
        }
        order.push(it);
    }
    order
}

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
