//! What is done to each of several columns of one length.

use crate::{ExecIdx, NonMaxIdx};

/// Columns with room for more rows give it back when rows are forgotten: of many ranks, a worker takes in one at a time.
const ROOM_KEPT: usize = 1 << 12;

/// Keeps only the rows `kept` (ascending).
pub(crate) fn keep_rows<T: Copy>(column: &mut Vec<T>, kept: &[ExecIdx]) {
    for (new, old) in kept.iter().enumerate() {
        column[new] = column[old.index()];
    }
    column.truncate(kept.len());
    if column.capacity() > ROOM_KEPT {
        column.shrink_to_fit();
    }
}

/// Moves the first rows of a column to another.
pub(crate) fn move_first<T: Copy>(num_rows: usize, from: &mut Vec<T>, to: &mut Vec<T>) {
    to.extend_from_slice(&from[..num_rows]);
    from.drain(..num_rows);
    if from.capacity() > ROOM_KEPT {
        from.shrink_to_fit();
    }
}

/// Puts the rows in another order.
pub(crate) fn reorder<T: Copy>(column: &mut Vec<T>, order: &[usize]) {
    *column = order.iter().map(|&row| column[row]).collect();
}

/// The rows, at most the last `max_events`, whose execution stays; their executions are renumbered.
pub(crate) fn events_kept(
    exec: &mut [Option<NonMaxIdx>],
    place: impl Fn(ExecIdx) -> Option<ExecIdx>,
    max_events: usize,
) -> Vec<ExecIdx> {
    let mut kept = Vec::new();
    for (row, owner) in exec.iter_mut().enumerate().rev() {
        if kept.len() == max_events {
            break;
        }
        if let Some(place) = owner.and_then(|old| place(old.into())) {
            *owner = Some(place.into());
            kept.push(ExecIdx::from_index(row));
        }
    }
    kept.reverse();
    kept
}
