//! The call stack of one lane: entries and exits become executions.

use std::collections::BTreeSet;

use crate::executions::BegunCall;
use crate::lane_events::WaitingEvents;
use crate::open_calls::StrayExit;
use crate::tracer_write::LaneEvent;
use crate::{
    Comms, Counters, EndedCall, ExecIdx, Executions, FuncEvent, FuncEventKind, NonMaxIdx,
    OpenCalls, RankId, StepId, TimeNs, Warnings,
};

/// Rebuilds the executions of one lane (program, rank, thread) from its events, kept across steps.
///
/// What damage means, [`OpenCalls`] says.
#[derive(Clone, Debug)]
pub struct CallStackBuilder {
    executions: Executions,
    comms: Comms,
    counters: Counters,
    open: OpenCalls<ExecIdx>,
    /// The newest event; `None` before the first, and after rows were forgotten.
    last: Option<LaneEvent>,
    /// Exits of what was not open; none from before rows were forgotten.
    strays: Vec<StrayExit>,
}

impl CallStackBuilder {
    /// An empty stack on `rank`.
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

    /// Takes in function events of a step.
    pub fn extend(&mut self, events: &[FuncEvent], step: StepId, warnings: &mut Warnings) {
        self.take_in(events, step, warnings, |_, _| {}, |_| {});
    }

    /// Takes in function events of a step, and hands `ended` each execution that is over by them. Of each event,
    /// `place` is told what is open until then. The answer is the newest event after the first of these.
    pub(crate) fn take_in(
        &mut self,
        events: &[FuncEvent],
        step: StepId,
        warnings: &mut Warnings,
        mut place: impl FnMut(FuncEvent, &OpenCalls<ExecIdx>),
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
                place(event, open);
                match event.kind() {
                    FuncEventKind::Entry => {
                        let (caller, depth) = (top(open), open.held().len());
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
                            last = Some(LaneEvent::new(FuncEventKind::Exit, call.held));
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

    /// Places the messages and counter samples that come after the newest function event.
    pub(crate) fn place_rest(&self, waiting: &mut WaitingEvents) {
        waiting.place_rest(top(&self.open));
    }

    /// Takes in the messages and counter samples that know what they happened in.
    pub(crate) fn take_placed(&mut self, waiting: &mut WaitingEvents) {
        waiting.move_placed(&mut self.comms, &mut self.counters);
    }

    /// The executions that are open now, the outermost first.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = ExecIdx> + ExactSizeIterator {
        self.open.held()
    }

    /// Number of functions that are open now.
    pub fn num_open(&self) -> usize {
        self.open.held().len()
    }

    /// The newest event.
    pub(crate) fn last_event(&self) -> Option<LaneEvent> {
        self.last
    }

    /// The exits of what was not open.
    pub(crate) fn stray_exits(&self) -> &[StrayExit] {
        &self.strays
    }

    /// Builds the executions anew of events that enter the same functions in the same order. What is below an
    /// execution that is over sooner now happened in the innermost one of its callers that is not.
    pub(crate) fn build_anew(
        &mut self,
        rank: RankId,
        events: &[(StepId, FuncEvent)],
        warnings: &mut Warnings,
    ) {
        let mut anew = Self::new(rank);
        for of_step in events.chunk_by(|a, b| a.0 == b.0) {
            let events: Vec<FuncEvent> = of_step.iter().map(|(_, event)| *event).collect();
            anew.extend(&events, of_step[0].0, warnings);
        }
        let execs = &anew.executions;
        let owner = |time: TimeNs, exec: &mut Option<NonMaxIdx>| {
            let is_over = |it: ExecIdx| !execs.is_open(it) && execs.exit(it) < time;
            while let Some(over) = exec.map(ExecIdx::from).filter(|it| is_over(*it)) {
                *exec = execs.parent[over.index()];
            }
        };
        anew.comms = std::mem::take(&mut self.comms);
        anew.counters = std::mem::take(&mut self.counters);
        let comms = anew.comms.time.iter().zip(&mut anew.comms.exec);
        let counters = anew.counters.time.iter().zip(&mut anew.counters.exec);
        for (&time, exec) in comms.chain(counters) {
            owner(time, exec);
        }
        *self = anew;
    }

    /// The executions so far, open ones included: see [`Executions::is_open`].
    pub fn executions(&self) -> &Executions {
        &self.executions
    }

    /// The messages so far.
    pub fn comms(&self) -> &Comms {
        &self.comms
    }

    /// The counter samples so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Forgets what is over, so that a run without end needs no more room than one step: of the executions
    /// there stay those that are open with `num_last` before and after each, the last `num_last`, and the callers of all
    /// these; with `whole_from`, all from that row on; of messages and counter samples the newest `max_events` of those.
    /// The answer has the old rows of what stayed, in order.
    pub fn retire(
        &mut self,
        num_last: usize,
        whole_from: Option<ExecIdx>,
        max_events: usize,
    ) -> Vec<ExecIdx> {
        let num_rows = self.executions.len();
        let last = num_rows.saturating_sub(num_last);
        let last = whole_from.map_or(last, |whole_from| last.min(whole_from.index()));
        let mut kept: Vec<ExecIdx> = Vec::new();
        for open in self.open.held() {
            // Those that were opened later are further on.
            let before = kept.last().map_or(0, |it| it.index() + 1);
            let first = open.index().saturating_sub(num_last).max(before);
            let end = open.index().saturating_add(num_last).saturating_add(1);
            kept.extend((first..end.min(last)).map(ExecIdx::from_index));
        }
        let before = kept.last().map_or(0, |it| it.index() + 1);
        kept.extend((last.max(before)..num_rows).map(ExecIdx::from_index));
        let callers = self.callers_beside(&kept);
        if !callers.is_empty() {
            kept.extend(callers);
            kept.sort_unstable();
        }
        let mut places: Vec<Option<NonMaxIdx>> = vec![None; num_rows];
        for (new, old) in kept.iter().enumerate() {
            places[old.index()] = Some(ExecIdx::from_index(new).into());
        }
        let place = |old: ExecIdx| places[old.index()].map(ExecIdx::from);
        self.executions.keep(&kept, place);
        for open in self.open.held_mut() {
            *open = place(*open).unwrap_or(*open);
        }
        self.comms.keep(place, max_events);
        self.counters.keep(place, max_events);
        self.last = None;
        self.strays.clear();
        kept
    }

    /// The callers of these rows, which ascend, that are not among them; what is open is.
    fn callers_beside(&self, rows: &[ExecIdx]) -> BTreeSet<ExecIdx> {
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

    /// Ends the lane: what is still open is closed at the last event.
    pub fn finish(mut self, warnings: &mut Warnings) -> (Executions, Comms, Counters) {
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
    open.held().next_back().map(NonMaxIdx::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DurationNs, FuncId, WarningKind};

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

    /// Runs `+f` (enter) and `-f` (leave) events, one per nanosecond, and prints the executions.
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
        assert!(warnings.is_empty(), "a whole trace has no warnings");
    }

    #[test]
    fn an_exit_without_entry_is_left_out() {
        let (lines, warnings) = run("+0 -1 -0");
        assert_eq!(lines, ["0 in 2 ex 2 end 1"]);
        assert_eq!(warnings.total(WarningKind::ExitWithoutEntry), 1);
    }

    #[test]
    fn a_missing_exit_is_mended_when_the_caller_leaves() {
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
    fn time_that_goes_back_is_raised() {
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
