//! When the tracer wrote its own data, so that nobody takes that for the program's time.
//!
//! TAU writes an I/O step inside the exit of a function, after it has taken the time of that exit: the
//! function itself is not longer for it, but its caller is. So a write lies between the last event of a
//! step and the first one of the next. How long the program itself takes there, the same two events tell
//! where no step ends between them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{DurationNs, ExecIdx, Executions, FuncEventKind, FuncId, LaneIdx, TimeNs};

/// Executions on either side of the end of a step among which the same two events are looked for.
const MAX_LOOK: usize = 1 << 14;
/// Fewer durations than this have no quartiles, and so tell nothing of what is usual.
const MIN_SAMPLE: usize = 4;

/// A time in which the tracer wrote its own data and the lane stood still. No function is entered or left in
/// it: it starts at an event of its lane, and ends before the next one by what the program usually takes there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct TracerWrite {
    /// The lane that stood still.
    pub lane: LaneIdx,
    /// From here.
    pub start: TimeNs,
    /// To here; later than `start`.
    pub end: TimeNs,
}

/// What a lane of many durations usually has: median, and Tukey's upper fence Q3 + 1.5 (Q3 − Q1), above which
/// one is unusual.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsualDuration {
    /// The one in the middle; of an even number the smaller.
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

/// Where a step of a lane ends: its last event, and the first one of the next step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct StepEnd {
    pub(crate) last: LaneEvent,
    pub(crate) next: LaneEvent,
}

impl TracerWrite {
    /// How long it took.
    pub fn duration(&self) -> DurationNs {
        self.end.since(self.start)
    }
}

impl UsualDuration {
    /// Of some durations in any order; `None` if they are too few to tell.
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

    /// The event after this one.
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

    /// What happens, wherever in the run: entry or exit, function and its caller.
    fn what(self, executions: &Executions) -> (bool, FuncId, Option<FuncId>) {
        let func = |exec: ExecIdx| executions.func[exec.index()];
        let caller = executions.parent(self.exec).map(func);
        (self.is_exit, func(self.exec), caller)
    }
}

/// Start and end of the writes of a lane whose steps end at `ends`, in order.
///
/// A write is known only where the gap is longer than what is usual between the same two events nearby: above
/// the fence of at least four of them. It lasts as long as the gap is longer than their median.
pub(crate) fn find_writes(executions: &Executions, ends: &[StepEnd]) -> Vec<(TimeNs, TimeNs)> {
    let lasts: BTreeSet<LaneEvent> = ends.iter().map(|end| end.last).collect();
    let write = |end: &StepEnd| {
        // Where exits are missing, more than one function was closed there.
        if end.last.next(executions) != Some(end.next) {
            return None;
        }
        let usual = UsualDuration::of(like(executions, end, &lasts))?;
        let (start, next) = (end.last.time(executions), end.next.time(executions));
        let stop = TimeNs(next.0.saturating_sub(usual.median.0));
        (next.since(start) > usual.fence && stop > start).then_some((start, stop))
    };
    ends.iter().filter_map(write).collect()
}

/// Times between two events like those of `end`, nearby, where no step ends.
fn like(executions: &Executions, end: &StepEnd, lasts: &BTreeSet<LaneEvent>) -> Vec<DurationNs> {
    let (last, next) = (end.last.what(executions), end.next.what(executions));
    let here = end.last.exec.index();
    let rows = here.saturating_sub(MAX_LOOK)..executions.len().min(here + MAX_LOOK);
    let event = |row| LaneEvent {
        is_exit: last.0,
        exec: ExecIdx::from_index(row),
    };
    rows.filter(|&row| executions.func[row] == last.1)
        .map(event)
        .filter(|event| event.what(executions) == last && !lasts.contains(event))
        .filter_map(|event| {
            let after = event.next(executions)?;
            let is_like = after.what(executions) == next;
            is_like.then(|| after.time(executions).since(event.time(executions)))
        })
        .collect()
}
