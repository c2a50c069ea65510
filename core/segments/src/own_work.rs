//! The own work of a lane at a time, also where its gaps are too short to be kept.

use callgrove_model::{ExecIdx, Executions, LaneIdx, TimeNs, Trace};

use super::clock::Clocks;
use super::places::PathIdx;
use super::segments::Segments;

/// Own work without an event in it. Times are on the common clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnWork {
    /// The innermost call.
    pub call: ExecIdx,
    /// Its call path.
    pub path: PathIdx,
    /// The time of the event before.
    pub start: TimeNs,
    /// The time of the event after.
    pub end: TimeNs,
}

/// A search for the own work of lanes. It begins where the last one of a lane ended, so that many searches in about
/// the order of time cost O(log d) each in the number d of events between two of them, and the depth of calls.
pub struct OwnWorkSearch<'a> {
    trace: &'a Trace,
    clocks: &'a Clocks,
    segments: &'a Segments,
    /// For each lane, the numbers of operations and of calls that began before the last time.
    last: Vec<(usize, usize)>,
}

impl<'a> OwnWorkSearch<'a> {
    /// Prepares a search.
    pub fn new(trace: &'a Trace, clocks: &'a Clocks, segments: &'a Segments) -> Self {
        Self {
            trace,
            clocks,
            segments,
            last: vec![(0, 0); segments.lanes.len()],
        }
    }

    /// Returns what a lane did at a time, or before the operation in which it was then; `None` outside of all calls.
    pub fn at(&mut self, lane: LaneIdx, time: TimeNs) -> Option<OwnWork> {
        let operations = &self.segments.lane(lane).operations;
        let executions = &self.trace.lane(lane).executions;
        let last = &mut self.last[lane.index()];
        last.0 = partition_point_near(operations, last.0, |it| it.start <= time);
        let operation = last.0.checked_sub(1).map(|at| &operations[at]);
        let operation = operation.filter(|it| time < it.end);
        let until = operation.map_or(time, |it| it.start);
        let local = self.clocks.local(lane, until);
        last.1 = partition_point_near(&executions.entry, last.1, |it| *it < local);
        let (call, start, end) = around(executions, last.1, local)?;
        let path = self.segments.places.path_of_call(executions, call)?;
        let common = |time| self.clocks.common(lane, time);
        let (start, end) = (common(start), common(end));
        let end = if until < time { end.min(until) } else { end };
        Some(OwnWork {
            call,
            path,
            start,
            end,
        })
    }
}

/// Returns the number of items at the start of a slice of which a predicate is true, as `partition_point` does, given
/// a number near it.
fn partition_point_near<T>(all: &[T], near: usize, is_before: impl Fn(&T) -> bool) -> usize {
    let mut step = 1;
    let (mut from, mut to) = (near, near);
    if all.get(near).is_some_and(&is_before) {
        while all.get(to).is_some_and(&is_before) {
            (from, to) = (to, to + step);
            step *= 2;
        }
    } else {
        while from > 0 && !is_before(&all[from - 1]) {
            (from, to) = (from.saturating_sub(step), from);
            step *= 2;
        }
    }
    let to = to.min(all.len());
    let from = from.min(to);
    from + all[from..to].partition_point(is_before)
}

/// Returns the innermost call that is open before a time, of those that began before it, and the events around that
/// time; `None` outside of all calls.
fn around(
    executions: &Executions,
    begun: usize,
    time: TimeNs,
) -> Option<(ExecIdx, TimeNs, TimeNs)> {
    let mut call = ExecIdx::from_index(begun.checked_sub(1)?);
    let mut start = executions.entry[call.index()];
    while executions.exit(call) <= time {
        start = executions.exit(call);
        call = executions.parent(call)?;
    }
    let next = executions.entry.get(begun).copied();
    let end = executions.exit(call);
    Some((call, start, next.map_or(end, |next| next.min(end))))
}
