//! Operations on several columns of equal length.

use crate::id::{ExecIdx, NonMaxIdx};

/// Capacity from which a column is shrunk when rows are dropped, because a worker processes many ranks one after
/// another.
const MAX_SPARE_CAPACITY: usize = 1 << 12;

/// Keeps only the rows `kept`, which ascend.
pub(crate) fn keep_rows<T: Copy>(column: &mut Vec<T>, kept: &[ExecIdx]) {
    for (new, old) in kept.iter().enumerate() {
        column[new] = column[old.index()];
    }
    column.truncate(kept.len());
    if column.capacity() > MAX_SPARE_CAPACITY {
        column.shrink_to_fit();
    }
}

/// Moves the first rows of a column to the end of another.
pub(crate) fn move_first<T: Copy>(num_rows: usize, from: &mut Vec<T>, to: &mut Vec<T>) {
    to.extend_from_slice(&from[..num_rows]);
    from.drain(..num_rows);
    if from.capacity() > MAX_SPARE_CAPACITY {
        from.shrink_to_fit();
    }
}

/// Reorders the rows.
pub(crate) fn reorder<T: Copy>(column: &mut Vec<T>, order: &[usize]) {
    *column = order.iter().map(|&row| column[row]).collect();
}

/// Returns the rows, at most the last `max_events`, whose execution is kept, and renumbers their executions.
pub(crate) fn events_kept(
    exec: &mut [Option<NonMaxIdx>],
    new_row: impl Fn(ExecIdx) -> Option<ExecIdx>,
    max_events: usize,
) -> Vec<ExecIdx> {
    let mut kept = Vec::new();
    for (row, owner) in exec.iter_mut().enumerate().rev() {
        if kept.len() == max_events {
            break;
        }
        if let Some(row_of_owner) = owner.and_then(|old| new_row(old.into())) {
            *owner = Some(row_of_owner.into());
            kept.push(ExecIdx::from_index(row));
        }
    }
    kept.reverse();
    kept
}
