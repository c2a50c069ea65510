//! Exits on another thread than their entries, as of tasks that a runtime moves between threads.
//!
//! An exit without an entry on its thread ends a call on another thread of its rank if that call is of the same
//! function, has no exit, and began before, and if no third thread has such a call. [`CallsWithoutExit`] is this rule.
//! It is applied to a complete rank, whose lanes are rebuilt, and to single steps ([`super::moved_in_step`]).

use std::collections::BTreeMap;

use super::builder::CallStackBuilder;
use crate::event::{FuncEvent, FuncEventKind};
use crate::executions::Executions;
use crate::id::{ExecIdx, FuncId, RankId, StepId, ThreadId};
use crate::open_calls::StrayExit;
use crate::time::TimeNs;
use crate::warning::{FirstSeen, WarningKind, Warnings};

/// An exit that is added to a lane.
struct AddedExit {
    exit: StrayExit,
    /// The call that it ends, if it is known.
    exec: Option<ExecIdx>,
}

/// The calls without an exit that exits of other lanes may end.
#[derive(Debug, Default)]
pub(super) struct CallsWithoutExit(BTreeMap<FuncId, BTreeMap<ThreadId, OfThread>>);

/// The latest possible end of each call without an exit, by entry, of one function on one thread.
type OfThread = BTreeMap<(TimeNs, ExecIdx), TimeNs>;

/// Pairs stray exits with calls of other lanes of the rank, and rebuilds the lanes if there are any pairs.
pub(crate) fn pair_moved_exits(
    lanes: &mut BTreeMap<ThreadId, &mut CallStackBuilder>,
    rank: RankId,
    warnings: &mut Warnings,
) {
    let mut strays: Vec<(ThreadId, StrayExit)> = Vec::new();
    for (&thread, lane) in &*lanes {
        strays.extend(lane.stray_exits().iter().map(|&stray| (thread, stray)));
    }
    if strays.is_empty() {
        return;
    }
    strays.sort_by_key(|(thread, stray)| (stray.time, *thread));
    let mut calls = without_exit(lanes);
    let mut added: BTreeMap<ThreadId, Vec<AddedExit>> = BTreeMap::new();
    let mut moved = Vec::new();
    for (thread, exit) in strays {
        let call = calls.take(thread, exit);
        moved.extend(call.map(|_| exit.time));
        let (thread, exec) = call.map_or((thread, None), |(other, exec)| (other, Some(exec)));
        added
            .entry(thread)
            .or_default()
            .push(AddedExit { exit, exec });
    }
    let Some(&first) = moved.first() else {
        return;
    };
    // Rebuilding the lanes counts these warnings again.
    warnings.remove(WarningKind::ExitWithoutEntry, rank);
    warnings.remove(WarningKind::MissingExit, rank);
    let (kind, count) = (WarningKind::ExitOnOtherThread, moved.len() as u64);
    warnings.count_many(kind, Some(rank), count, || FirstSeen::at(first, ""));
    for (thread, lane) in lanes {
        let added = added.remove(thread).unwrap_or_default();
        let events = events_with(lane.executions(), &added);
        lane.rebuild(rank, &events, warnings);
    }
}

/// Returns the calls without an exit.
fn without_exit(lanes: &BTreeMap<ThreadId, &mut CallStackBuilder>) -> CallsWithoutExit {
    let mut calls = CallsWithoutExit::default();
    for (&thread, lane) in lanes {
        let execs = lane.executions();
        for exec in (0..execs.len()).map(ExecIdx::from_index) {
            let row = exec.index();
            let until = match (execs.is_open(exec), execs.closed[row]) {
                (true, _) => TimeNs(i64::MAX),
                (false, false) => execs.exit(exec),
                (false, true) => continue,
            };
            calls.add(thread, execs.func[row], (execs.entry[row], exec), until);
        }
    }
    calls
}

impl CallsWithoutExit {
    /// Adds a call of a function on a thread: its entry with its number there, and its latest possible end.
    pub(super) fn add(
        &mut self,
        thread: ThreadId,
        func: FuncId,
        call: (TimeNs, ExecIdx),
        until: TimeNs,
    ) {
        let of_func = self.0.entry(func).or_default();
        of_func.entry(thread).or_default().insert(call, until);
    }

    /// Removes and returns the call that an exit of `thread` ends: the innermost one on the only other thread that has
    /// such a call.
    pub(super) fn take(
        &mut self,
        thread: ThreadId,
        exit: StrayExit,
    ) -> Option<(ThreadId, ExecIdx)> {
        let of_func = self.0.get_mut(&exit.func)?;
        let of_thread = |(&other, calls): (&ThreadId, &OfThread)| {
            let mut before = calls.range(..=(exit.time, ExecIdx(u32::MAX)));
            let (&call, _) = before
                .next_back()
                .filter(|(_, until)| exit.time <= **until)?;
            (other != thread).then_some((other, call))
        };
        let mut found = of_func.iter().filter_map(of_thread);
        let (other, call) = found.next()?;
        if found.next().is_some() {
            return None;
        }
        of_func.get_mut(&other)?.remove(&call);
        Some((other, call.1))
    }
}

/// Returns the events from which a lane was built, with the steps of their entries, and the added ones, in order of
/// time.
fn events_with(execs: &Executions, added: &[AddedExit]) -> Vec<(StepId, FuncEvent)> {
    let exit = |exit: StrayExit| FuncEvent::new(FuncEventKind::Exit, exit.func, exit.time, 0);
    // Of events at the same time, an added exit comes first, unless its call began at that time.
    let place = |it: &AddedExit| match it.exec {
        Some(exec) if execs.entry[exec.index()] < it.exit.time => 0,
        _ => 2,
    };
    let mut events: Vec<(u8, FuncEvent)> = Vec::new();
    events.extend(added.iter().map(|it| (place(it), exit(it.exit))));
    let mut open: Vec<ExecIdx> = Vec::new();
    for next in (0..=execs.len()).map(ExecIdx::from_index) {
        let has_ended =
            |exec: &mut ExecIdx| !execs.is_open(*exec) && execs.subtree_end[exec.index()] <= next;
        while let Some(ended) = open.pop_if(has_ended) {
            if execs.closed[ended.index()] {
                let (func, time) = (execs.func[ended.index()], execs.exit(ended));
                events.push((1, exit(StrayExit { func, time })));
            }
        }
        if let Some(&func) = execs.func.get(next.index()) {
            let (time, row) = (execs.entry[next.index()], execs.row[next.index()]);
            let entry = FuncEvent::new(FuncEventKind::Entry, func, time, row);
            events.push((1, entry));
            open.push(next);
        }
    }
    events.sort_by_key(|(place, event)| (event.time, *place));
    let (mut num_entries, mut step) = (0, execs.step.first().copied().unwrap_or_default());
    let with_step = |(_, event): (u8, FuncEvent)| {
        if event.kind() == FuncEventKind::Entry {
            step = execs.step[num_entries];
            num_entries += 1;
        }
        (step, event)
    };
    events.into_iter().map(with_step).collect()
}

#[cfg(test)]
mod tests {
    use crate::event::{CommKind, StepBatch};
    use crate::id::ProgramId;
    use crate::names::NameTable;
    use crate::rank_builder::RankBuilder;

    use super::*;

    /// Runs `thread+func` (enter) and `thread-func` (leave) events, one per nanosecond, in steps that a bar ends, and
    /// returns the executions of each thread and the warnings as text.
    fn run(events: &str) -> Vec<String> {
        let mut rank = RankBuilder::new(ProgramId(0), RankId(0));
        let mut time = 0;
        for (step, events) in (0..).zip(events.split('|')) {
            let mut batch = StepBatch::empty(ProgramId(0), RankId(0), StepId(step));
            for (row, event) in (0..).zip(events.split_whitespace()) {
                let (kind, (thread, func)) = match event.split_once('+') {
                    Some(entry) => (FuncEventKind::Entry, entry),
                    None => (FuncEventKind::Exit, event.split_once('-').unwrap()),
                };
                let (thread, func) = (ThreadId(thread.parse().unwrap()), func.parse().unwrap());
                batch
                    .funcs
                    .push(thread, kind, FuncId(func), TimeNs(time), row);
                let send = CommKind::Send;
                batch
                    .comms
                    .push(thread, send, 0, RankId(1), 8, TimeNs(time));
                time += 1;
            }
            rank.push(batch);
        }
        let trace = rank.finish(NameTable::default(), NameTable::default());
        let mut lines = Vec::new();
        for (thread, execs, comms, _) in &trace.threads {
            for row in 0..execs.len() {
                let exec = ExecIdx::from_index(row);
                let (entry, exit) = (execs.entry[row].0, execs.exit(exec).0);
                let own = |it: &&Option<_>| it.map(ExecIdx::from) == Some(exec);
                let num_sent = comms.exec.iter().filter(own).count();
                let indent = " ".repeat(execs.depth[row].into());
                let (func, step) = (execs.func[row], execs.step[row]);
                lines.push(format!(
                    "{thread}:{indent} {func} {entry}..{exit} in {step}, sent {num_sent}"
                ));
            }
        }
        lines.extend(
            trace
                .warnings
                .iter()
                .map(|it| format!("{:?} x{}", it.kind, it.count)),
        );
        lines
    }

    #[test]
    fn calls_that_end_on_another_thread_are_paired() {
        let expected = [
            "0: 0 0..5 in 0, sent 2",
            "0:  1 1..2 in 0, sent 1",
            "0:  1 3..4 in 0, sent 1",
            "ExitOnOtherThread x2",
        ];
        assert_eq!(run("0+0 0+1 1-1 0+1 1-1 0-0"), expected);
    }

    #[test]
    fn a_call_may_end_in_a_later_step_and_while_the_other_thread_is_busy() {
        let expected = [
            "0: 0 0..7 in 0, sent 2",
            "0:  1 2..3 in 0, sent 1",
            "0:  3 4..5 in 1, sent 2",
            "1: 2 1..6 in 0, sent 3",
            "ExitOnOtherThread x1",
        ];
        assert_eq!(run("0+0 1+2 0+1 | 1-1 0+3 0-3 1-2 0-0"), expected);
    }

    #[test]
    fn ambiguous_exits_are_not_paired() {
        let found = run("0+1 1+1 2-1 0-1 1-1 2-1");
        let expected = [
            "0: 1 0..3 in 0, sent 2",
            "1: 1 1..4 in 0, sent 2",
            "ExitWithoutEntry x2",
        ];
        assert_eq!(found, expected);
    }
}
