//! The order in which operations are replayed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use callgrove_model::LaneIdx;
use callgrove_segments::{OperationKind, OperationRef, Segments};

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
