//! Asynchronous calls, whose beginnings and ends are joined by an id.

use std::collections::HashSet;

use callgrove_model::FuncId;
use callgrove_source::OpenAsyncs;

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
    pub(crate) is_begin: bool,
    /// The function that begins, or that the end names.
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
    /// Joins beginnings and ends by id and function. Ends without a name are those of the innermost calls of their id.
    /// The same holds for all ends of a row of which none names a function that began. Cost: O(n log n).
    pub(crate) fn of(mut points: Vec<AsyncPoint>) -> Self {
        points.sort_unstable();
        let mut joined = Self::default();
        for of_row in points.chunk_by_mut(|a, b| a.row == b.row) {
            let begun = of_row.iter().filter(|it| it.is_begin);
            let begun: HashSet<_> = begun.filter_map(|it| it.func).collect();
            let is_known = |it: &&AsyncPoint| it.func.is_some_and(|func| begun.contains(&func));
            let mut ends = of_row.iter().filter(|it| !it.is_begin);
            if !ends.any(|it| is_known(&it)) {
                let ends = of_row.iter_mut().filter(|it| !it.is_begin);
                ends.for_each(|it| it.func = None);
            }
            let last_ns = of_row.iter().map(|it| it.time_ns).max();
            for of_id in of_row.chunk_by(|a, b| a.id == b.id) {
                joined.join(of_id, last_ns.unwrap_or_default());
            }
        }
        joined
    }

    fn join(&mut self, points: &[AsyncPoint], last_ns: i64) {
        let mut open = OpenAsyncs::default();
        let count = |counted: &mut (Option<i64>, u64), time_ns| {
            counted.0 = counted.0.or(Some(time_ns));
            counted.1 += 1;
        };
        for point in points {
            let time_ns = point.time_ns;
            match (point.is_begin, point.func) {
                (true, Some(func)) => open.begin(func, (point.row, time_ns)),
                (true, None) => {}
                (false, func) => match open.end(func) {
                    Some(call) => self.calls.push(ended(call, time_ns)),
                    None => count(&mut self.without_begin, time_ns),
                },
            }
        }
        for call in open.into_open() {
            let (_, (_, start_ns)) = call;
            count(&mut self.without_end, start_ns);
            self.calls.push(ended(call, last_ns));
        }
    }
}

fn ended((func, (row, start_ns)): (FuncId, (RowNumber, i64)), end_ns: i64) -> (RowNumber, RowCall) {
    let call = RowCall {
        start_ns,
        end_ns,
        func,
    };
    (row, call)
}
