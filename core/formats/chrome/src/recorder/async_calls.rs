//! Asynchronous calls, whose beginnings and ends are joined by an id.

use callgrove_model::FuncId;

use super::rows::{RowCall, RowNumber};

/// A beginning or an end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct AsyncPoint {
    pub(crate) row: RowNumber,
    pub(crate) id: u64,
    /// Nanoseconds since the time that the file states.
    pub(crate) time_ns: i64,
    /// The place in the file, which decides the order of equal times.
    pub(crate) order: u64,
    /// The function that begins, or `None` for an end.
    pub(crate) func: Option<FuncId>,
}

/// The asynchronous calls of a file.
#[derive(Debug, Default)]
pub(crate) struct AsyncCalls {
    pub(crate) calls: Vec<(RowNumber, RowCall)>,
    /// The time and number of ends without a beginning.
    pub(crate) without_begin: (Option<i64>, u64),
    /// The time and number of beginnings without an end: they last until the last event of their row.
    pub(crate) without_end: (Option<i64>, u64),
}

impl AsyncCalls {
    /// Joins beginnings and ends: those of an id nest. Cost: O(n log n).
    pub(crate) fn of(mut points: Vec<AsyncPoint>) -> Self {
        points.sort_unstable();
        let mut joined = Self::default();
        for of_row in points.chunk_by(|a, b| a.row == b.row) {
            let last_ns = of_row.iter().map(|it| it.time_ns).max();
            for of_id in of_row.chunk_by(|a, b| a.id == b.id) {
                joined.join(of_id, last_ns.unwrap_or_default());
            }
        }
        joined
    }

    fn join(&mut self, points: &[AsyncPoint], last_ns: i64) {
        let mut open: Vec<(RowNumber, i64, FuncId)> = Vec::new();
        let mut close = |(row, start_ns, func), end_ns| {
            let call = RowCall {
                start_ns,
                end_ns,
                func,
            };
            self.calls.push((row, call));
        };
        let count = |counted: &mut (Option<i64>, u64), time_ns| {
            counted.0 = counted.0.or(Some(time_ns));
            counted.1 += 1;
        };
        for point in points {
            match point.func {
                Some(func) => open.push((point.row, point.time_ns, func)),
                None => match open.pop() {
                    Some(call) => close(call, point.time_ns),
                    None => count(&mut self.without_begin, point.time_ns),
                },
            }
        }
        for call in open {
            count(&mut self.without_end, call.1);
            close(call, last_ns);
        }
    }
}
