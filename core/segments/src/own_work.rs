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

impl Segments {
    /// Returns what a lane did at a time, or before the operation in which it was then; `None` outside of all calls. Cost:
    /// O(log n), and the depth of calls.
    pub fn own_work_at(
        &self,
        trace: &Trace,
        clocks: &Clocks,
        lane: LaneIdx,
        time: TimeNs,
    ) -> Option<OwnWork> {
        let begun = self
            .lane(lane)
            .operations
            .partition_point(|it| it.start <= time);
        let last = begun
            .checked_sub(1)
            .map(|at| &self.lane(lane).operations[at]);
        let until = last.filter(|it| time < it.end).map_or(time, |it| it.start);
        let executions = &trace.lane(lane).executions;
        let (call, start, end) = around(executions, clocks.local(lane, until))?;
        let path = self.places.path_of_call(executions, call)?;
        let (start, end) = (clocks.common(lane, start), clocks.common(lane, end));
        let end = if until < time { end.min(until) } else { end };
        Some(OwnWork {
            call,
            path,
            start,
            end,
        })
    }
}

/// Returns the innermost call that is open before a time, and the events around that time; `None` outside of all calls.
fn around(executions: &Executions, time: TimeNs) -> Option<(ExecIdx, TimeNs, TimeNs)> {
    let begun = executions.entry.partition_point(|it| *it < time);
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
