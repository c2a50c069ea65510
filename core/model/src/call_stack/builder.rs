//! The call stack of one lane: entries and exits become executions.

use std::collections::BTreeSet;

use crate::event::{FuncEvent, FuncEventKind};
use crate::executions::{BegunCall, Executions};
use crate::id::{ExecIdx, NonMaxIdx, RankId, StepId};
use crate::lane_events::{Comms, Counters, PendingEvents};
use crate::open_calls::{EndedCall, OpenCalls, StrayExit};
use crate::time::TimeNs;
use crate::tracer_write::LaneEvent;
use crate::warning::Warnings;

/// Rebuilds the executions of one lane (program, rank, thread) from its events, across steps.
///
/// [`OpenCalls`] documents how damage is handled.
#[derive(Clone, Debug)]
pub struct CallStackBuilder {
    executions: Executions,
    comms: Comms,
    counters: Counters,
    open: OpenCalls<ExecIdx>,
    /// The newest event; `None` before the first event, and after rows were dropped.
    last: Option<LaneEvent>,
    /// Exits of what was not open; none from before rows were forgotten.
    strays: Vec<StrayExit>,
}

impl CallStackBuilder {
    /// Returns an empty stack on `rank`.
    pub fn new(rank: RankId) -> Self {
        Self {
            executions: Executions::default(),
            comms: Comms::default(),
            counters: Counters::default(),
            open: OpenCalls::new(rank),
            last: None,
            strays: Vec::new(),
        }
    }

    /// Processes the function events of a step.
    pub fn extend(&mut self, events: &[FuncEvent], step: StepId, warnings: &mut Warnings) {
        self.take_in(events, step, warnings, |_, _| {}, |_| {});
    }

    /// Processes the function events of a step, and passes each execution that ends to `ended`. `assign` gets each
    /// event with the calls that are open before it. Returns the newest event after the first of these events.
    pub(crate) fn take_in(
        &mut self,
        events: &[FuncEvent],
        step: StepId,
        warnings: &mut Warnings,
        mut assign: impl FnMut(FuncEvent, &OpenCalls<ExecIdx>),
        mut ended: impl FnMut(EndedCall<ExecIdx>),
    ) -> Option<LaneEvent> {
        let is_entry = |event: &&FuncEvent| event.kind() == FuncEventKind::Entry;
        let mut next = ExecIdx::from_index(self.executions.len());
        let num_entries = events.iter().filter(is_entry).count();
        self.executions.add_rows(num_entries, step);
        let mut rows = self.executions.rows_mut();
        let (open, mut last) = (&mut self.open, self.last);
        let (first, rest) = events.split_at(events.len().min(1));
        let mut after_first = None;
        for events in [first, rest] {
            for &event in events {
                assign(event, open);
                match event.kind() {
                    FuncEventKind::Entry => {
                        let (caller, depth) = (top(open), open.values().len());
                        let call = BegunCall {
                            func: event.func,
                            entry: open.enter(event.func, event.time, next, warnings),
                            caller,
                            depth: u16::try_from(depth).unwrap_or(u16::MAX),
                            row: event.row(),
                        };
                        rows.begin(next, call);
                        last = Some(LaneEvent::new(FuncEventKind::Entry, next));
                        next = ExecIdx(next.0 + 1);
                    }
                    FuncEventKind::Exit => {
                        let was_open = open.exit(event.func, event.time, warnings, |call| {
                            rows.end(&call, next);
                            last = Some(LaneEvent::new(FuncEventKind::Exit, call.value));
                            ended(call);
                        });
                        if !was_open {
                            let (func, time) = (event.func, event.time);
                            self.strays.push(StrayExit { func, time });
                        }
                    }
                }
            }
            after_first.get_or_insert(last);
        }
        self.last = last;
        after_first.flatten()
    }

    /// Assigns the messages and counter samples after the newest function event to the innermost open call.
    pub(crate) fn assign_rest(&self, waiting: &mut PendingEvents) {
        waiting.assign_rest(top(&self.open));
    }

    /// Processes the messages and counter samples whose execution is known.
    pub(crate) fn take_assigned(&mut self, waiting: &mut PendingEvents) {
        waiting.move_assigned(&mut self.comms, &mut self.counters);
    }

    /// Returns the open executions, the outermost first.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = ExecIdx> + ExactSizeIterator {
        self.open.values()
    }

    /// Returns the number of open executions.
    pub fn num_open(&self) -> usize {
        self.open.values().len()
    }

    /// Returns the open calls.
    pub(crate) fn open_calls(&self) -> &OpenCalls<ExecIdx> {
        &self.open
    }

    /// Returns the newest event.
    pub(crate) fn last_event(&self) -> Option<LaneEvent> {
        self.last
    }

    /// Returns the exits of functions that were not open.
    pub(crate) fn stray_exits(&self) -> &[StrayExit] {
        &self.strays
    }

    /// Builds the executions again from events that enter the same functions in the same order. Messages and samples
    /// below an execution that now ends earlier belong to its innermost caller that has not ended.
    pub(crate) fn rebuild(
        &mut self,
        rank: RankId,
        events: &[(StepId, FuncEvent)],
        warnings: &mut Warnings,
    ) {
        let mut rebuilt = Self::new(rank);
        for of_step in events.chunk_by(|a, b| a.0 == b.0) {
            let events: Vec<FuncEvent> = of_step.iter().map(|(_, event)| *event).collect();
            rebuilt.extend(&events, of_step[0].0, warnings);
        }
        let execs = &rebuilt.executions;
        let move_out = |time: TimeNs, exec: &mut Option<NonMaxIdx>| {
            let has_ended = |it: ExecIdx| !execs.is_open(it) && execs.exit(it) < time;
            while let Some(ended) = exec.map(ExecIdx::from).filter(|it| has_ended(*it)) {
                *exec = execs.parent[ended.index()];
            }
        };
        rebuilt.comms = std::mem::take(&mut self.comms);
        rebuilt.counters = std::mem::take(&mut self.counters);
        let comms = rebuilt.comms.time.iter().zip(&mut rebuilt.comms.exec);
        let counters = rebuilt.counters.time.iter().zip(&mut rebuilt.counters.exec);
        for (&time, exec) in comms.chain(counters) {
            move_out(time, exec);
        }
        *self = rebuilt;
    }

    /// Returns the executions so far, including open ones: see [`Executions::is_open`].
    pub fn executions(&self) -> &Executions {
        &self.executions
    }

    /// Returns the messages so far.
    pub fn comms(&self) -> &Comms {
        &self.comms
    }

    /// Returns the counter samples so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Drops ended executions, so that a run of any length needs no more memory than one step. Kept are the open
    /// executions with `num_last` rows before and after each, the last `num_last` executions, and the callers of all
    /// these; with `first_kept`, also all rows from there on. Of the messages and counter samples of these, the newest
    /// `max_events` are kept. Returns the old rows of the kept executions, in order.
    pub fn retire(
        &mut self,
        num_last: usize,
        first_kept: Option<ExecIdx>,
        max_events: usize,
    ) -> Vec<ExecIdx> {
        let num_rows = self.executions.len();
        let last = num_rows.saturating_sub(num_last);
        let last = first_kept.map_or(last, |first_kept| last.min(first_kept.index()));
        let mut kept: Vec<ExecIdx> = Vec::new();
        for open in self.open.values() {
            // Open calls ascend, so each range starts after the one before.
            let before = kept.last().map_or(0, |it| it.index() + 1);
            let first = open.index().saturating_sub(num_last).max(before);
            let end = open.index().saturating_add(num_last).saturating_add(1);
            kept.extend((first..end.min(last)).map(ExecIdx::from_index));
        }
        let before = kept.last().map_or(0, |it| it.index() + 1);
        kept.extend((last.max(before)..num_rows).map(ExecIdx::from_index));
        let callers = self.other_callers(&kept);
        if !callers.is_empty() {
            kept.extend(callers);
            kept.sort_unstable();
        }
        let mut new_rows: Vec<Option<NonMaxIdx>> = vec![None; num_rows];
        for (new, old) in kept.iter().enumerate() {
            new_rows[old.index()] = Some(ExecIdx::from_index(new).into());
        }
        let new_row = |old: ExecIdx| new_rows[old.index()].map(ExecIdx::from);
        self.executions.keep(&kept, new_row);
        for open in self.open.values_mut() {
            *open = new_row(*open).unwrap_or(*open);
        }
        self.comms.keep(new_row, max_events);
        self.counters.keep(new_row, max_events);
        self.last = None;
        self.strays.clear();
        kept
    }

    /// Returns the callers of these ascending rows that are not among them. Open callers always are.
    fn other_callers(&self, rows: &[ExecIdx]) -> BTreeSet<ExecIdx> {
        let mut callers = BTreeSet::new();
        for &row in rows {
            let mut caller = self.executions.parent(row);
            while let Some(exec) = caller
                && !self.executions.is_open(exec)
                && rows.binary_search(&exec).is_err()
                && callers.insert(exec)
            {
                caller = self.executions.parent(exec);
            }
        }
        callers
    }

    /// Returns the memory of rows that were reserved and are not used: a run keeps the rows of all its ranks.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.executions.shrink_to_fit();
        self.comms.shrink_to_fit();
        self.counters.shrink_to_fit();
    }

    /// Ends the lane: closes open calls at the last event.
    pub fn finish(mut self, warnings: &mut Warnings) -> (Executions, Comms, Counters) {
        self.shrink_to_fit();
        let times = [self.comms.time.last(), self.counters.time.last()];
        let last = times.into_iter().flatten().max().copied();
        let end = ExecIdx::from_index(self.executions.len());
        let mut rows = self.executions.rows_mut();
        let last = last.unwrap_or(TimeNs(i64::MIN));
        self.open
            .finish(last, warnings, |call| rows.end(&call, end));
        (self.executions, self.comms, self.counters)
    }
}

pub(crate) fn top(open: &OpenCalls<ExecIdx>) -> Option<NonMaxIdx> {
    open.values().next_back().map(NonMaxIdx::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::FuncId;
    use crate::time::DurationNs;
    use crate::warning::WarningKind;

    const A: FuncId = FuncId(0);
    const B: FuncId = FuncId(1);

    fn enter(func: FuncId, time_ns: i64) -> FuncEvent {
        FuncEvent::new(FuncEventKind::Entry, func, TimeNs(time_ns), 0)
    }

    fn exit(func: FuncId, time_ns: i64) -> FuncEvent {
        FuncEvent::new(FuncEventKind::Exit, func, TimeNs(time_ns), 0)
    }

    fn executions(events: &[FuncEvent], warnings: &mut Warnings) -> Executions {
        let mut stack = CallStackBuilder::new(RankId(0));
        stack.extend(events, StepId(0), warnings);
        stack.finish(warnings).0
    }

    /// Runs `+f` (enter) and `-f` (leave) events, one per nanosecond, and returns the executions as text.
    fn run(events: &str) -> (Vec<String>, Warnings) {
        let mut warnings = Warnings::default();
        let events = (0..).zip(events.split_whitespace()).map(|(time, event)| {
            let func = FuncId(event[1..].parse().unwrap());
            if event.starts_with('+') {
                enter(func, time)
            } else {
                exit(func, time)
            }
        });
        let execs = executions(&events.collect::<Vec<_>>(), &mut warnings);
        let lines = (0..execs.len())
            .map(|row| {
                format!(
                    "{}{} in {} ex {} end {}{}",
                    " ".repeat(execs.depth[row] as usize),
                    execs.func[row],
                    execs.inclusive[row].0,
                    execs.exclusive[row].0,
                    execs.subtree_end[row],
                    if execs.closed[row] { "" } else { " open" },
                )
            })
            .collect();
        (lines, warnings)
    }

    #[test]
    fn exclusive_time_leaves_out_direct_children_only() {
        let (lines, warnings) = run("+0 +1 +2 -2 -1 +2 -2 -0");
        assert_eq!(
            lines,
            [
                "0 in 7 ex 3 end 4",
                " 1 in 3 ex 2 end 3",
                "  2 in 1 ex 1 end 3",
                " 2 in 1 ex 1 end 4"
            ]
        );
        assert!(warnings.is_empty(), "an undamaged trace has no warnings");
    }

    #[test]
    fn an_exit_without_entry_is_left_out() {
        let (lines, warnings) = run("+0 -1 -0");
        assert_eq!(lines, ["0 in 2 ex 2 end 1"]);
        assert_eq!(warnings.total(WarningKind::ExitWithoutEntry), 1);
    }

    #[test]
    fn a_missing_exit_is_repaired_when_the_caller_leaves() {
        let (lines, warnings) = run("+0 +1 +2 -0 +1 -1");
        assert_eq!(
            lines,
            [
                "0 in 3 ex 1 end 3",
                " 1 in 2 ex 1 end 3 open",
                "  2 in 1 ex 1 end 3 open",
                "1 in 1 ex 1 end 4"
            ]
        );
        assert_eq!(warnings.total(WarningKind::MissingExit), 2);
    }

    #[test]
    fn open_functions_close_at_the_last_event() {
        let (lines, warnings) = run("+0 +1 +2 -2");
        assert_eq!(
            lines,
            [
                "0 in 3 ex 1 end 3 open",
                " 1 in 2 ex 1 end 3 open",
                "  2 in 1 ex 1 end 3"
            ]
        );
        assert_eq!(warnings.total(WarningKind::Unclosed), 2);
    }

    #[test]
    fn time_that_goes_back_is_corrected() {
        let mut warnings = Warnings::default();
        let events = [enter(A, 10), enter(B, 4), exit(B, 12), exit(A, 11)];
        let execs = executions(&events, &mut warnings);
        assert_eq!(execs.entry, [TimeNs(10), TimeNs(10)]);
        assert_eq!(execs.inclusive, [DurationNs(2), DurationNs(2)]);
        assert_eq!(warnings.total(WarningKind::TimeWentBack), 2);
    }

    #[test]
    fn recursion_closes_the_innermost_call() {
        let (lines, _) = run("+0 +0 -0 -0");
        assert_eq!(lines, ["0 in 3 ex 2 end 2", " 0 in 1 ex 1 end 2"]);
    }
}
