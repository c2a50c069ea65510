//! Exits on another thread than their entries, found in a step before the step is taken in.
//!
//! The rule is that of [`super::moved_exits`], applied to the calls of a step and to those that are open before it.
//! Later steps are unknown, so a call that is open at the end of the step counts as one without an exit.

use std::collections::BTreeMap;

use super::moved_exits::CallsWithoutExit;
use crate::event::{FuncEvent, FuncEventKind, FuncEvents};
use crate::id::{ExecIdx, FuncId, RankId, ThreadId};
use crate::open_calls::{OpenCalls, StrayExit};
use crate::time::TimeNs;
use crate::warning::{FirstSeen, WarningKind, Warnings};

/// The calls of a lane in a step, and the exits that end none of them.
struct StepLane {
    open: OpenCalls<ExecIdx>,
    /// By number: the function, the entry, and the latest possible end; `None` if the call has an exit.
    calls: Vec<(FuncId, TimeNs, Option<TimeNs>)>,
    /// The exits without an entry, each with its position among the events of the lane.
    strays: Vec<(usize, FuncEvent)>,
    events: Vec<FuncEvent>,
}

/// An exit that is moved to the lane of its call.
struct MovedExit {
    event: FuncEvent,
    /// The entry of the call that it ends.
    entry: TimeNs,
}

/// Moves each exit of a step of `rank` that ends a call of another lane to that lane. `open` are the open calls of each
/// lane before the step.
pub fn move_exits<'a, T: Copy + 'a>(
    funcs: &mut FuncEvents,
    open: impl Iterator<Item = (ThreadId, &'a OpenCalls<T>)> + Clone,
    rank: RankId,
    warnings: &mut Warnings,
) {
    if !has_several_lanes(funcs, open.clone().map(|it| it.0)) {
        return;
    }
    let open: BTreeMap<ThreadId, &OpenCalls<T>> = open.collect();
    if has_stray(funcs, &open) {
        move_strays(funcs, &open, rank, warnings);
    }
}

/// Returns whether a rank has several lanes: those with calls before a step, and those of the step.
fn has_several_lanes(funcs: &FuncEvents, mut before: impl Iterator<Item = ThreadId>) -> bool {
    let mut threads = funcs.segments().map(|it| it.0);
    let first = before.next().or_else(|| threads.next());
    before.next().is_some() || threads.any(|thread| Some(thread) != first)
}

/// Returns whether a step has an exit without an entry on its lane. Almost no step has.
fn has_stray<T: Copy>(funcs: &FuncEvents, open: &BTreeMap<ThreadId, &OpenCalls<T>>) -> bool {
    let mut stacks: BTreeMap<ThreadId, Vec<FuncId>> = BTreeMap::new();
    for (thread, events) in funcs.segments() {
        let stack = stacks.entry(thread).or_insert_with(|| {
            let open = open.get(&thread).into_iter();
            open.flat_map(|it| it.entries().map(|(func, _)| func))
                .collect()
        });
        for event in events {
            if event.kind() == FuncEventKind::Entry {
                stack.push(event.func);
            } else if stack.last() == Some(&event.func) {
                stack.pop();
            } else if let Some(call) = stack.iter().rposition(|func| *func == event.func) {
                stack.truncate(call);
            } else {
                return true;
            }
        }
    }
    false
}

#[cold]
fn move_strays<T: Copy>(
    funcs: &mut FuncEvents,
    open: &BTreeMap<ThreadId, &OpenCalls<T>>,
    rank: RankId,
    warnings: &mut Warnings,
) {
    let mut lanes: BTreeMap<ThreadId, StepLane> = BTreeMap::new();
    for (&thread, open) in open {
        lanes.insert(thread, StepLane::new(open));
    }
    for (thread, events) in funcs.segments() {
        let lane = lanes.entry(thread);
        let lane = lane.or_insert_with(|| StepLane::new(&OpenCalls::<T>::new(rank)));
        lane.take_in(events);
    }
    let (mut calls, mut strays) = (CallsWithoutExit::default(), Vec::new());
    for (&thread, lane) in &lanes {
        for (number, &(func, entry, until)) in lane.calls.iter().enumerate() {
            if let Some(until) = until {
                calls.add(thread, func, (entry, ExecIdx::from_index(number)), until);
            }
        }
        strays.extend(lane.strays.iter().map(|&(at, event)| (event, thread, at)));
    }
    strays.sort_by_key(|&(event, thread, _)| (event.time, thread));
    let mut moved: BTreeMap<ThreadId, Vec<MovedExit>> = BTreeMap::new();
    let (mut removed, mut first) = (Vec::new(), None);
    for (event, thread, position) in strays {
        let FuncEvent { func, time, .. } = event;
        if let Some((other, call)) = calls.take(thread, StrayExit { func, time }) {
            let entry = lanes[&other].calls[call.index()].1;
            moved
                .entry(other)
                .or_default()
                .push(MovedExit { event, entry });
            removed.push((thread, position));
            first.get_or_insert(time);
        }
    }
    let Some(first) = first else {
        return;
    };
    let (kind, count) = (WarningKind::ExitOnOtherThread, removed.len() as u64);
    warnings.count_many(kind, Some(rank), count, || FirstSeen::at(first, ""));
    removed.sort_unstable();
    *funcs = FuncEvents::default();
    for (thread, lane) in lanes {
        let is_removed = |at: usize| removed.binary_search(&(thread, at)).is_ok();
        let own = lane.events.into_iter().enumerate();
        let own = own.filter(|(at, _)| !is_removed(*at)).map(|it| it.1);
        let moved = moved.remove(&thread).unwrap_or_default();
        funcs.extend(thread, with_moved(own, &moved));
    }
}

/// Returns the events of a lane with the exits that were moved to it, in order of time.
fn with_moved(
    own: impl Iterator<Item = FuncEvent>,
    moved: &[MovedExit],
) -> impl Iterator<Item = FuncEvent> {
    // Of events at the same time, a moved exit comes first, unless its call began at that time.
    let place = |it: &MovedExit| if it.entry < it.event.time { 0 } else { 2 };
    let moved = moved
        .iter()
        .map(|it| ((it.event.time, place(it)), it.event));
    let mut events: Vec<((TimeNs, u8), FuncEvent)> = moved.collect();
    // Times that go back do not change the order of the lane.
    let mut now = TimeNs(i64::MIN);
    events.extend(own.map(|event| {
        now = now.max(event.time);
        ((now, 1), event)
    }));
    events.sort_by_key(|(order, _)| *order);
    events.into_iter().map(|(_, event)| event)
}

impl StepLane {
    fn new<T: Copy>(open: &OpenCalls<T>) -> Self {
        let unended = |(func, entry)| (func, entry, Some(TimeNs(i64::MAX)));
        Self {
            open: open.numbered(),
            calls: open.entries().map(unended).collect(),
            strays: Vec::new(),
            events: Vec::new(),
        }
    }

    fn take_in(&mut self, events: &[FuncEvent]) {
        // These warnings are counted when the step is taken in.
        let mut warnings = Warnings::default();
        for &event in events {
            if event.kind() == FuncEventKind::Entry {
                let number = ExecIdx::from_index(self.calls.len());
                let entry = self
                    .open
                    .enter(event.func, event.time, number, &mut warnings);
                let until = Some(TimeNs(i64::MAX));
                self.calls.push((event.func, entry, until));
            } else {
                let calls = &mut self.calls;
                let was_open = self.open.exit(event.func, event.time, &mut warnings, |it| {
                    let (_, entry, until) = &mut calls[it.value.index()];
                    *until = (!it.closed).then(|| TimeNs(entry.0.wrapping_add(it.inclusive.0)));
                });
                if !was_open {
                    self.strays.push((self.events.len(), event));
                }
            }
            self.events.push(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moves the exits of `thread+func` (enter) and `thread-func` (leave) events, one per nanosecond, in steps that a
    /// bar ends. Returns each step by thread, with the times, and the number of moved exits.
    fn run(events: &str) -> (Vec<String>, u64) {
        let (mut time, mut warnings) = (0, Warnings::default());
        let mut lanes: BTreeMap<ThreadId, OpenCalls<()>> = BTreeMap::new();
        let mut steps = Vec::new();
        for events in events.split('|') {
            let mut of_thread: BTreeMap<ThreadId, Vec<FuncEvent>> = BTreeMap::new();
            for event in events.split_whitespace() {
                let (kind, (thread, func)) = match event.split_once('+') {
                    Some(entry) => (FuncEventKind::Entry, entry),
                    None => (FuncEventKind::Exit, event.split_once('-').unwrap()),
                };
                let event = FuncEvent::new(kind, FuncId(func.parse().unwrap()), TimeNs(time), 0);
                let thread = ThreadId(thread.parse().unwrap());
                of_thread.entry(thread).or_default().push(event);
                time += 1;
            }
            let mut funcs = FuncEvents::default();
            for (thread, events) in of_thread {
                funcs.extend(thread, events);
            }
            let open = lanes.iter().map(|(thread, open)| (*thread, open));
            move_exits(&mut funcs, open, RankId(0), &mut warnings);
            let mut step = Vec::new();
            for (thread, events) in funcs.segments() {
                let open = lanes.entry(thread);
                let open = open.or_insert_with(|| OpenCalls::new(RankId(0)));
                let mut text = format!("{thread}:");
                for event in events {
                    let FuncEvent { func, time, .. } = *event;
                    if event.kind() == FuncEventKind::Entry {
                        open.enter(func, time, (), &mut warnings);
                        text += &format!(" +{func}@{}", time.0);
                    } else {
                        open.exit(func, time, &mut warnings, |_| {});
                        text += &format!(" -{func}@{}", time.0);
                    }
                }
                step.push(text);
            }
            steps.push(step.join(", "));
        }
        (steps, warnings.total(WarningKind::ExitOnOtherThread))
    }

    #[test]
    fn exits_are_moved_to_the_thread_of_their_calls() {
        let (steps, num_moved) = run("0+0 0+1 1-1 0+1 1-1 0-0");
        assert_eq!(steps, ["0: +0@0 +1@1 -1@2 +1@3 -1@4 -0@5"]);
        assert_eq!(num_moved, 2);
    }

    #[test]
    fn a_call_of_an_earlier_step_ends_on_another_thread() {
        let (steps, num_moved) = run("0+0 1+2 0+1 | 1-1 0+3 0-3 1-2 0-0");
        assert_eq!(
            steps,
            ["0: +0@0 +1@2, 1: +2@1", "0: -1@3 +3@4 -3@5 -0@7, 1: -2@6"]
        );
        assert_eq!(num_moved, 1);
        let (steps, num_moved) = run("0+0 0+1 | 1+2 1-1");
        assert_eq!(steps, ["0: +0@0 +1@1", "0: -1@3, 1: +2@2"]);
        assert_eq!(num_moved, 1);
    }

    #[test]
    fn exits_are_not_moved_if_two_threads_have_such_a_call_or_none() {
        for events in ["0+1 1+1 2-1", "0+1 1-1 0-1", "0+1 1-2", "0-1 0+1"] {
            assert_eq!(run(events).1, 0, "{events}");
        }
    }
}
