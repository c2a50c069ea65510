//! Where a rank is while others wait for it.

use std::ops::Range;

use callgrove_model::{DurationNs, ExecIdx, Executions, LaneIdx, TimeNs, Trace};
use callgrove_segments::{Clocks, Segments, innermost_open};

use super::super::outcome::MissingState;
use super::missing::lane_end;

/// The call that a rank is in instead, or its last one. Times are on the common clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whereabouts {
    pub(super) lane: LaneIdx,
    pub(super) call: ExecIdx,
    /// Entry of the call; for a rank without later events, the time of its last event.
    pub(super) start: TimeNs,
    /// End of that state.
    pub(super) end: TimeNs,
    pub(super) state: MissingState,
}

/// Returns where a process is in a time range: the innermost call of its first thread that takes most of the range,
/// and of the call around it; or its last call if all its calls ended before. `None` for a process without calls.
/// Cost: linear in the calls along one path from the root.
pub(super) fn whereabouts(
    trace: &Trace,
    clocks: &Clocks,
    segments: &Segments,
    process: usize,
    time: &Range<TimeNs>,
) -> Option<Whereabouts> {
    let is_host = |lane: &LaneIdx| {
        let it = segments.lane(*lane);
        it.process == process && !it.is_device
    };
    let mut lanes = trace.lanes().map(|(lane, _)| lane);
    let lane = segments
        .first_thread(trace, process)
        .or_else(|| lanes.find(is_host))?;
    let executions = &trace.lane(lane).executions;
    let innermost = innermost_open(executions);
    let calls = Calls {
        executions,
        open: std::iter::successors(innermost, |it| executions.parent(*it)).collect(),
        common: |it| clocks.common(lane, it),
        time,
    };
    let last = ExecIdx::from_index(executions.len().checked_sub(1)?);
    let within = calls.longest(0..executions.len());
    let Some((mut call, mut part)) = within else {
        return Some(Whereabouts {
            lane,
            call: last,
            start: lane_end(trace, clocks, lane),
            end: time.end,
            state: MissingState::Silent,
        });
    };
    while let Some((next, of_next)) = calls.longest(call.index() + 1..executions.subtree(call).end)
        && of_next.0.saturating_mul(2) > part.0
    {
        (call, part) = (next, of_next);
    }
    let entry = clocks.common(lane, executions.entry[call.index()]);
    let end = calls.exit(call);
    // No call is entered after it, and what its callers recorded after it is short.
    let is_last = executions.subtree(call).end == executions.len()
        && lane_end(trace, clocks, lane).since(end) < end.since(entry);
    Some(Whereabouts {
        lane,
        call,
        start: entry,
        end: if is_last { end.max(time.end) } else { end },
        state: if is_last {
            MissingState::Inside
        } else {
            MissingState::Left
        },
    })
}

/// The calls of a lane, and the time range that they are compared with.
struct Calls<'a, C> {
    executions: &'a Executions,
    /// The calls that are open at the end; they go on to the end of the range.
    open: Vec<ExecIdx>,
    /// Converts times of the lane to the common clock.
    common: C,
    time: &'a Range<TimeNs>,
}

impl<C: Fn(TimeNs) -> TimeNs> Calls<'_, C> {
    fn exit(&self, call: ExecIdx) -> TimeNs {
        let exit = (self.common)(self.executions.exit(call));
        if self.open.contains(&call) {
            exit.max(self.time.end)
        } else {
            exit
        }
    }

    /// Returns the call that takes most of the time range, of those in rows that are in no other call of these rows,
    /// and how much it takes; the first of equal ones. `None` if none takes any.
    fn longest(&self, rows: Range<usize>) -> Option<(ExecIdx, DurationNs)> {
        let mut longest: Option<(ExecIdx, DurationNs)> = None;
        let mut row = rows.start;
        while row < rows.end {
            let call = ExecIdx::from_index(row);
            let entry = (self.common)(self.executions.entry[row]);
            let (start, end) = (
                entry.max(self.time.start),
                self.exit(call).min(self.time.end),
            );
            let least = longest.map_or(DurationNs::ZERO, |it| it.1);
            if end.since(start) > least {
                longest = Some((call, end.since(start)));
            }
            row = self.executions.subtree(call).end.max(row + 1);
        }
        longest
    }
}
