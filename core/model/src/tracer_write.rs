//! Time ranges in which the tracer wrote its own data, so that they do not count as time of the program.
//!
//! TAU writes an I/O step inside the exit of a function, after it has taken the time of that exit. So the function
//! itself is not longer, but its caller is: a write lies between the last event of a step and the first event of the
//! next. How long the program itself takes there is estimated from the same two events at places where no step ends
//! between them.
//!
//! Other tracers state their writes: by records ([`StepBatch::writes`](crate::StepBatch::writes)), or as calls of a
//! region of their own, which [`is_tracer_write`] recognizes by its name.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::event::FuncEventKind;
use crate::executions::Executions;
use crate::id::{ExecIdx, FuncId, LaneIdx};
use crate::names::FunctionName;
use crate::time::{DurationNs, TimeNs};

/// Number of executions before and after the end of a step that are searched for the same two events.
const MAX_DISTANCE: usize = 1 << 14;
/// Names of the regions in which Score-P and TAU write their buffers, in any case.
const WRITING_REGIONS: &[&str] = &["flush", "trace buffer flush", "tau_flush"];
/// Smallest number of durations that have quartiles.
const MIN_SAMPLE: usize = 4;

/// A time range in which a lane stalled because the tracer wrote its own data. It contains no function events: it
/// starts at an event of its lane, and ends before the next one by the time that the program usually takes there. A
/// write that is a call of a region of the tracer lasts from its entry to its exit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TracerWrite {
    /// The lane that stalled.
    pub lane: LaneIdx,
    /// Start of the time range.
    pub start: TimeNs,
    /// End of the time range; later than `start`.
    pub end: TimeNs,
}

/// The usual range of many durations: median, and Tukey's upper fence Q3 + 1.5 (Q3 − Q1), above which a duration is
/// unusual.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsualDuration {
    /// The median; of an even number, the smaller middle one.
    pub median: DurationNs,
    /// The upper fence.
    pub fence: DurationNs,
}

/// An entry or exit of a lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LaneEvent {
    pub(crate) is_exit: bool,
    pub(crate) exec: ExecIdx,
}

/// The end of a step on a lane: its last event, and the first event of the next step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct StepEnd {
    pub(crate) last: LaneEvent,
    pub(crate) next: LaneEvent,
}

/// Returns whether a function is a region in which the tracer writes its own data.
pub fn is_tracer_write(function: &str) -> bool {
    let name = FunctionName::parse(function).qualified;
    WRITING_REGIONS
        .iter()
        .any(|it| name.eq_ignore_ascii_case(it))
}

/// Returns entry and exit of each call of a region in which the tracer wrote. `are_writes` states it of each function.
pub(crate) fn writing_calls<'a>(
    executions: &'a Executions,
    are_writes: &'a [bool],
) -> impl Iterator<Item = (TimeNs, TimeNs)> + 'a {
    let is_write = |func: &FuncId| are_writes.get(func.index()) == Some(&true);
    let rows = (0..executions.len()).map(ExecIdx::from_index);
    rows.filter(move |exec| {
        executions.closed[exec.index()] && is_write(&executions.func[exec.index()])
    })
    .map(|exec| (executions.entry[exec.index()], executions.exit(exec)))
}

impl TracerWrite {
    /// Returns the duration of the write.
    pub fn duration(&self) -> DurationNs {
        self.end.since(self.start)
    }
}

impl UsualDuration {
    /// Returns the usual range of durations in any order, or `None` if there are too few.
    pub fn of(mut durations: Vec<DurationNs>) -> Option<Self> {
        if durations.len() < MIN_SAMPLE {
            return None;
        }
        durations.sort_unstable();
        let quartile = |which: usize| durations[which * (durations.len() - 1) / 4];
        let range = quartile(3) - quartile(1);
        Some(Self {
            median: quartile(2),
            fence: DurationNs(quartile(3).0.saturating_add(range.0.saturating_mul(3) / 2)),
        })
    }
}

impl LaneEvent {
    pub(crate) fn new(kind: FuncEventKind, exec: ExecIdx) -> Self {
        let is_exit = kind == FuncEventKind::Exit;
        Self { is_exit, exec }
    }

    fn time(self, executions: &Executions) -> TimeNs {
        if self.is_exit {
            executions.exit(self.exec)
        } else {
            executions.entry[self.exec.index()]
        }
    }

    /// Returns the event after this one.
    fn next(self, executions: &Executions) -> Option<Self> {
        let entry_of = |exec| Self::new(FuncEventKind::Entry, exec);
        let exit_of = |exec| Self::new(FuncEventKind::Exit, exec);
        let end = executions.subtree_end[self.exec.index()];
        if !self.is_exit {
            let callee = ExecIdx(self.exec.0 + 1);
            return Some(if callee < end {
                entry_of(callee)
            } else {
                exit_of(self.exec)
            });
        }
        match executions.parent(self.exec) {
            Some(caller) if executions.subtree_end[caller.index()] == end => Some(exit_of(caller)),
            _ => (end.index() < executions.len()).then(|| entry_of(end)),
        }
    }

    /// Returns the event independent of its time: entry or exit, function and caller.
    fn signature(self, executions: &Executions) -> (bool, FuncId, Option<FuncId>) {
        let func = |exec: ExecIdx| executions.func[exec.index()];
        let caller = executions.parent(self.exec).map(func);
        (self.is_exit, func(self.exec), caller)
    }
}

/// Returns start and end of the writes of a lane whose steps end at `ends`, in order.
///
/// A write is only recognised if the gap is longer than usual between the same two events nearby: above the fence of at
/// least four such gaps. It lasts as long as the gap exceeds their median.
pub(crate) fn find_writes(executions: &Executions, ends: &[StepEnd]) -> Vec<(TimeNs, TimeNs)> {
    let lasts: BTreeSet<LaneEvent> = ends.iter().map(|end| end.last).collect();
    let write = |end: &StepEnd| {
        // If exits are missing, more than one function was closed there.
        if end.last.next(executions) != Some(end.next) {
            return None;
        }
        let usual = UsualDuration::of(similar_gaps(executions, end, &lasts))?;
        let (start, next) = (end.last.time(executions), end.next.time(executions));
        let stop = TimeNs(next.0.saturating_sub(usual.median.0));
        (next.since(start) > usual.fence && stop > start).then_some((start, stop))
    };
    ends.iter().filter_map(write).collect()
}

/// Returns the times between two events with the signatures of `end` nearby, where no step ends.
fn similar_gaps(
    executions: &Executions,
    end: &StepEnd,
    lasts: &BTreeSet<LaneEvent>,
) -> Vec<DurationNs> {
    let (last, next) = (
        end.last.signature(executions),
        end.next.signature(executions),
    );
    let here = end.last.exec.index();
    let rows = here.saturating_sub(MAX_DISTANCE)..executions.len().min(here + MAX_DISTANCE);
    let event = |row| LaneEvent {
        is_exit: last.0,
        exec: ExecIdx::from_index(row),
    };
    rows.filter(|&row| executions.func[row] == last.1)
        .map(event)
        .filter(|event| event.signature(executions) == last && !lasts.contains(event))
        .filter_map(|event| {
            let after = event.next(executions)?;
            let is_similar = after.signature(executions) == next;
            is_similar.then(|| after.time(executions).since(event.time(executions)))
        })
        .collect()
}
