//! One rank's steps become lanes: rows are split by thread, and messages and counters find the
//! execution they happened in.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::call_stack::{Attached, CommEvent};
use crate::executions::ROOM_KEPT;
use crate::tracer_write::{LaneEvent, StepEnd, find_writes};
use crate::{
    CallStackBuilder, CommEvents, Comms, CounterEvents, CounterId, Counters, EndedCall, ExecIdx,
    Executions, FirstSeen, FuncEvent, FuncEventKind, FuncEvents, FuncId, LaneIdx, Metadata,
    NameTable, OpenCalls, ProgramId, RankId, StepBatch, StepId, ThreadId, TimeNs, WarningKind,
    Warnings,
};

/// Takes the steps of one rank of one program, one after another.
#[derive(Debug)]
pub struct RankBuilder {
    program: ProgramId,
    rank: RankId,
    lanes: BTreeMap<ThreadId, LaneBuilder>,
    metadata: Vec<Metadata>,
    warnings: Warnings,
    num_steps: u32,
}

/// What one rank did, with names numbered by the rank itself.
#[derive(Debug)]
pub struct RankTrace {
    /// Program.
    pub program: ProgramId,
    /// Rank.
    pub rank: RankId,
    /// Function names of this rank.
    pub names: NameTable<FuncId>,
    /// Counter names of this rank.
    pub counter_names: NameTable<CounterId>,
    /// Threads in ascending order.
    pub threads: Vec<(ThreadId, Executions, Comms, Counters)>,
    /// Start and end of each time in which the tracer wrote, by thread, in order of time.
    pub writes: Vec<(ThreadId, TimeNs, TimeNs)>,
    /// Metadata in order of arrival.
    pub metadata: Vec<Metadata>,
    /// What was found wrong.
    pub warnings: Warnings,
    /// Number of I/O steps.
    pub num_steps: u32,
}

#[derive(Debug)]
struct LaneBuilder {
    stack: CallStackBuilder,
    waiting: WaitingEvents,
    /// The newest step with events, and where steps that follow each other meet.
    step: Option<StepId>,
    ends: Vec<StepEnd>,
}

/// The messages and counter samples that come after the newest function event.
#[derive(Debug)]
struct WaitingEvents {
    comms: Waiting<CommEvent>,
    counters: Waiting<(CounterId, u64)>,
    /// The time of the first one; the end of time if there is none.
    from: TimeNs,
}

/// Some of them, in order of time.
#[derive(Debug)]
struct Waiting<T> {
    events: Vec<(TimeNs, T)>,
    /// Those before are not waiting any more.
    first: usize,
}

impl RankBuilder {
    /// A rank without events.
    pub fn new(program: ProgramId, rank: RankId) -> Self {
        Self {
            program,
            rank,
            lanes: BTreeMap::new(),
            metadata: Vec::new(),
            warnings: Warnings::default(),
            num_steps: 0,
        }
    }

    /// Adds the next step.
    ///
    /// Messages and counters are merged with the function events by time; at equal time they come
    /// after an ENTRY and before an EXIT. Those later than the last function event wait for the next
    /// step, since only that tells what they happened in.
    pub fn push(&mut self, batch: StepBatch) {
        self.follow(batch, |_, _| {});
    }

    /// The same, and hands `ended` each execution that ended in the step with the position of its lane among
    /// [`RankBuilder::lanes`]: thread by thread as they stand in the step, in order of the ends.
    pub fn follow(&mut self, batch: StepBatch, ended: impl FnMut(u32, EndedCall<ExecIdx>)) {
        self.num_steps += 1;
        self.queue_comms(&batch.comms);
        self.queue_counters(&batch.counters);
        self.run_funcs(&batch.funcs, batch.step, ended);
        self.metadata.extend(batch.metadata);
    }

    /// The lanes as they are now, in order of thread.
    pub fn lanes(&self) -> impl Iterator<Item = (ThreadId, &CallStackBuilder)> {
        self.lanes
            .iter()
            .map(|(&thread, lane)| (thread, &lane.stack))
    }

    /// Lets every lane forget what is over ([`CallStackBuilder::retire`]), and hands `kept` the thread and
    /// the old rows of what stayed. `whole_from` says from which row on a lane keeps all. For runs that are followed
    /// rather than collected.
    pub fn retire(
        &mut self,
        num_last: usize,
        whole_from: impl Fn(ThreadId) -> Option<ExecIdx>,
        max_events: usize,
        mut kept: impl FnMut(ThreadId, &[ExecIdx]),
    ) {
        self.metadata.clear();
        for (&thread, lane) in &mut self.lanes {
            lane.ends.clear();
            lane.waiting.comms.forget_taken();
            lane.waiting.counters.forget_taken();
            let stayed = lane.stack.retire(num_last, whole_from(thread), max_events);
            kept(thread, &stayed);
        }
    }

    /// Where a reader counts the damage it met in this rank's stream.
    pub fn warnings_mut(&mut self) -> &mut Warnings {
        &mut self.warnings
    }

    /// Ends the rank.
    pub fn finish(
        mut self,
        names: NameTable<FuncId>,
        counter_names: NameTable<CounterId>,
    ) -> RankTrace {
        let mut warnings = self.warnings;
        let mut threads = Vec::with_capacity(self.lanes.len());
        let mut writes = Vec::new();
        while let Some((thread, mut lane)) = self.lanes.pop_first() {
            let waiting = &mut lane.waiting;
            lane.stack
                .attach(|attached, open| waiting.attach(attached, open, |_| true));
            let (executions, comms, counters) = lane.stack.finish(&mut warnings);
            let of_lane = find_writes(&executions, &lane.ends).into_iter();
            writes.extend(of_lane.map(|(start, end)| (thread, start, end)));
            threads.push((thread, executions, comms, counters));
        }
        RankTrace {
            program: self.program,
            rank: self.rank,
            names,
            counter_names,
            threads,
            writes,
            metadata: self.metadata,
            warnings,
            num_steps: self.num_steps,
        }
    }

    fn queue_comms(&mut self, comms: &CommEvents) {
        for rows in stretches(&comms.thread) {
            let lane = lane(&mut self.lanes, self.rank, comms.thread[rows.start]);
            lane.waiting.comms.forget_taken();
            for row in rows {
                let event = CommEvent {
                    kind: comms.kind[row],
                    tag: comms.tag[row],
                    partner: comms.partner[row],
                    size_bytes: comms.size_bytes[row],
                    time: comms.time[row],
                };
                if lane.waiting.comms.push(event.time, event) {
                    count_back(&mut self.warnings, self.rank, event.time, "message");
                }
            }
            lane.waiting.note_first();
        }
    }

    fn queue_counters(&mut self, counters: &CounterEvents) {
        for rows in stretches(&counters.thread) {
            let lane = lane(&mut self.lanes, self.rank, counters.thread[rows.start]);
            lane.waiting.counters.forget_taken();
            for row in rows {
                let (time, sample) = (
                    counters.time[row],
                    (counters.counter[row], counters.value[row]),
                );
                if lane.waiting.counters.push(time, sample) {
                    count_back(&mut self.warnings, self.rank, time, "counter");
                }
            }
            lane.waiting.note_first();
        }
    }

    fn run_funcs(
        &mut self,
        funcs: &FuncEvents,
        step: StepId,
        mut ended: impl FnMut(u32, EndedCall<ExecIdx>),
    ) {
        for (thread, _) in funcs.stretches() {
            lane(&mut self.lanes, self.rank, thread);
        }
        let threads: Vec<ThreadId> = self.lanes.keys().copied().collect();
        for (thread, events) in funcs.stretches() {
            let position = threads.partition_point(|&other| other < thread);
            let position = LaneIdx::from_index(position).0;
            let lane = lane(&mut self.lanes, self.rank, thread);
            let before = lane.stack.last_event();
            let Some((first, rest)) = events.split_first() else {
                continue;
            };
            let (warnings, mut ended) = (&mut self.warnings, |call| ended(position, call));
            lane.take_in(std::slice::from_ref(first), step, warnings, &mut ended);
            lane.begin_step(step, before);
            lane.take_in(rest, step, warnings, &mut ended);
        }
    }
}

fn lane(
    lanes: &mut BTreeMap<ThreadId, LaneBuilder>,
    rank: RankId,
    thread: ThreadId,
) -> &mut LaneBuilder {
    lanes
        .entry(thread)
        .or_insert_with(|| LaneBuilder::new(rank))
}

fn count_back(warnings: &mut Warnings, rank: RankId, time: TimeNs, what: &str) {
    warnings.count(WarningKind::TimeWentBack, Some(rank), || {
        FirstSeen::at(time, format!("{what} event"))
    });
}

/// Stretches of rows of one thread, in order.
fn stretches(threads: &[ThreadId]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    threads.chunk_by(|a, b| a == b).map(move |rows| {
        let of_thread = start..start + rows.len();
        start = of_thread.end;
        of_thread
    })
}

impl LaneBuilder {
    fn new(rank: RankId) -> Self {
        Self {
            stack: CallStackBuilder::new(rank),
            waiting: WaitingEvents {
                comms: Waiting::default(),
                counters: Waiting::default(),
                from: TimeNs(i64::MAX),
            },
            step: None,
            ends: Vec::new(),
        }
    }

    /// Notes where the step before, whose last event was `before`, met this one, of which the first event has
    /// just been taken in. Between them the lane must not have slept through a step.
    fn begin_step(&mut self, step: StepId, before: Option<LaneEvent>) {
        let step_before = self.step.replace(step);
        let follows = step_before.is_some_and(|before| before.0.checked_add(1) == Some(step.0));
        if let (true, Some(last), Some(next)) = (follows, before, self.stack.last_event())
            && last != next
        {
            self.ends.push(StepEnd { last, next });
        }
    }

    /// Takes in function events of a step, with the messages and counters in between.
    fn take_in(
        &mut self,
        events: &[FuncEvent],
        step: StepId,
        warnings: &mut Warnings,
        ended: impl FnMut(EndedCall<ExecIdx>),
    ) {
        let waiting = &mut self.waiting;
        let attach = |attached: &mut Attached, open: &OpenCalls<ExecIdx>, event: FuncEvent| {
            let (kind, time) = (event.kind(), event.time);
            // Nothing waits before most events.
            if comes_before(waiting.from, kind, time) {
                waiting.attach(attached, open, |of| comes_before(of, kind, time));
            }
        };
        self.stack.take_in(events, step, warnings, attach, ended);
    }
}

/// Whether a message or counter of this time belongs before a function event of that one.
#[inline]
fn comes_before(time: TimeNs, kind: FuncEventKind, next: TimeNs) -> bool {
    match kind {
        FuncEventKind::Entry => time < next,
        FuncEventKind::Exit => time <= next,
    }
}

impl WaitingEvents {
    /// Attaches those whose time is like that to the top of the stack.
    #[inline(never)]
    fn attach(
        &mut self,
        attached: &mut Attached,
        open: &OpenCalls<ExecIdx>,
        is_wanted: impl Fn(TimeNs) -> bool,
    ) {
        while let Some((_, event)) = self.comms.take_if(&is_wanted) {
            attached.comm(event, open);
        }
        while let Some((time, sample)) = self.counters.take_if(&is_wanted) {
            attached.counter(sample, time, open);
        }
        self.note_first();
    }

    fn note_first(&mut self) {
        let first = [self.comms.first(), self.counters.first()];
        self.from = first
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(TimeNs(i64::MAX));
    }
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            first: 0,
        }
    }
}

impl<T: Copy> Waiting<T> {
    /// Keeps the events sorted by time, later arrivals last at equal time; says whether this one was late.
    fn push(&mut self, time: TimeNs, event: T) -> bool {
        let waiting = &self.events[self.first..];
        let is_late = waiting.last().is_some_and(|last| last.0 > time);
        if is_late {
            let position = waiting.partition_point(|queued| queued.0 <= time);
            self.events.insert(self.first + position, (time, event));
        } else {
            self.events.push((time, event));
        }
        is_late
    }

    /// The time of the first one.
    fn first(&self) -> Option<TimeNs> {
        self.events.get(self.first).map(|event| event.0)
    }

    /// The first one, if its time is like that; it waits no more.
    #[inline]
    fn take_if(&mut self, is_wanted: impl Fn(TimeNs) -> bool) -> Option<(TimeNs, T)> {
        let event = self.events.get(self.first).copied();
        let event = event.filter(|event| is_wanted(event.0))?;
        self.first += 1;
        Some(event)
    }

    /// Forgets those that wait no more.
    fn forget_taken(&mut self) {
        self.events.drain(..self.first);
        self.first = 0;
        if self.events.capacity() > ROOM_KEPT {
            self.events.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CommKind;

    const T: ThreadId = ThreadId(0);

    fn step(events: &[(FuncEventKind, u32, i64)], sends: &[i64]) -> StepBatch {
        let mut batch = StepBatch::empty(ProgramId(0), RankId(0), StepId(0));
        for (row, &(kind, func, time)) in (0..).zip(events) {
            batch.funcs.push(T, kind, FuncId(func), TimeNs(time), row);
        }
        for &time in sends {
            batch
                .comms
                .push(T, CommKind::Send, 0, RankId(1), 8, TimeNs(time));
            batch.counters.push(T, CounterId(0), 1, TimeNs(time));
        }
        batch
    }

    fn owners(batches: Vec<StepBatch>) -> (Vec<Option<u32>>, Vec<Option<u32>>) {
        let mut rank = RankBuilder::new(ProgramId(0), RankId(0));
        for batch in batches {
            rank.push(batch);
        }
        let trace = rank.finish(NameTable::default(), NameTable::default());
        let (_, _, comms, counters) = &trace.threads[0];
        let ids = |execs: &[Option<crate::NonMaxIdx>]| {
            execs
                .iter()
                .map(|e| e.map(|e| ExecIdx::from(e).0))
                .collect()
        };
        (ids(&comms.exec), ids(&counters.exec))
    }

    use FuncEventKind::{Entry, Exit};

    #[test]
    fn at_equal_time_messages_come_after_entry_and_before_exit() {
        let events = [(Entry, 0, 10), (Entry, 1, 20), (Exit, 1, 30), (Exit, 0, 40)];
        let (comms, counters) = owners(vec![step(&events, &[5, 10, 20, 30, 31, 40, 41])]);
        let expected = [None, Some(0), Some(1), Some(1), Some(0), Some(0), None];
        assert_eq!(comms, expected);
        assert_eq!(counters, expected);
    }

    #[test]
    fn a_message_after_the_last_event_of_a_step_waits_for_the_next_step() {
        let first = step(&[(Entry, 0, 10)], &[20]);
        let second = step(&[(Entry, 1, 20), (Exit, 1, 30), (Exit, 0, 40)], &[]);
        assert_eq!(owners(vec![first, second]).0, [Some(1)]);
    }

    #[test]
    fn late_messages_are_sorted_and_counted() {
        let mut rank = RankBuilder::new(ProgramId(0), RankId(0));
        rank.push(step(&[(Entry, 0, 10), (Exit, 0, 40)], &[30, 20]));
        let trace = rank.finish(NameTable::default(), NameTable::default());
        assert_eq!(trace.threads[0].2.time, [TimeNs(20), TimeNs(30)]);
        assert_eq!(trace.warnings.total(WarningKind::TimeWentBack), 2);
    }
}
