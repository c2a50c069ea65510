//! Builds the lanes of one rank from its steps: splits rows by thread, and assigns messages and counters to executions.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::call_stack::{CallStackBuilder, move_exits, pair_moved_exits, top};
use crate::event::{CommEvents, CounterEvents, FuncEvent, FuncEvents, StepBatch};
use crate::executions::Executions;
use crate::id::{CounterId, ExecIdx, FuncId, LaneIdx, ProgramId, RankId, StepId, ThreadId};
use crate::lane_events::{Comms, Counters, PendingEvents};
use crate::metadata::Metadata;
use crate::names::NameTable;
use crate::open_calls::{EndedCall, OpenCalls};
use crate::relation::{CollectiveEvent, DeviceWaitEvent, LaunchEvent, SizeEvent};
use crate::time::TimeNs;
use crate::tracer_write::{LaneEvent, StepEnd, find_writes, is_tracer_write, writing_calls};
use crate::warning::{FirstSeen, WarningKind, Warnings};

/// Takes the steps of one rank of one program, one after another.
#[derive(Debug)]
pub struct RankBuilder {
    program: ProgramId,
    rank: RankId,
    lanes: BTreeMap<ThreadId, LaneBuilder>,
    metadata: Vec<Metadata>,
    /// The time ranges in which the tracer says that it wrote, by thread.
    writes: Vec<(ThreadId, TimeNs, TimeNs)>,
    collectives: Vec<CollectiveEvent>,
    launches: Vec<LaunchEvent>,
    sizes: Vec<SizeEvent>,
    device_waits: Vec<DeviceWaitEvent>,
    warnings: Warnings,
    num_steps: u32,
}

/// The trace of one rank, with names numbered by the rank itself.
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
    /// Start and end of each time range in which the tracer wrote, by thread, in order of time.
    pub writes: Vec<(ThreadId, TimeNs, TimeNs)>,
    /// Calls that take part in collectives, by thread, then time.
    pub collectives: Vec<CollectiveEvent>,
    /// Launches, by thread, then time of the launched call.
    pub launches: Vec<LaunchEvent>,
    /// Sizes of calls, by thread, then time.
    pub sizes: Vec<SizeEvent>,
    /// Calls that wait for a GPU, by thread, then time.
    pub device_waits: Vec<DeviceWaitEvent>,
    /// Metadata in order of arrival.
    pub metadata: Vec<Metadata>,
    /// Warnings of the rank.
    pub warnings: Warnings,
    /// Number of I/O steps.
    pub num_steps: u32,
}

#[derive(Debug)]
struct LaneBuilder {
    stack: CallStackBuilder,
    waiting: PendingEvents,
    /// The newest step with events, and whether the tracer wrote when it ended.
    step: Option<(StepId, bool)>,
    /// The boundaries between consecutive steps at which the tracer wrote.
    ends: Vec<StepEnd>,
}

/// Moves the items of a step; small steps are many, and mostly have none.
#[inline]
fn append<T>(all: &mut Vec<T>, of_step: Vec<T>) {
    if !of_step.is_empty() {
        all.extend(of_step);
    }
}

impl RankBuilder {
    /// Returns a rank without events.
    pub fn new(program: ProgramId, rank: RankId) -> Self {
        Self {
            program,
            rank,
            lanes: BTreeMap::new(),
            metadata: Vec::new(),
            writes: Vec::new(),
            collectives: Vec::new(),
            launches: Vec::new(),
            sizes: Vec::new(),
            device_waits: Vec::new(),
            warnings: Warnings::default(),
            num_steps: 0,
        }
    }

    /// Adds the next step.
    ///
    /// Messages and counters are merged with the function events by time; at equal times they come after an ENTRY and
    /// before an EXIT. Those after the last function event wait for the next step, which determines their execution.
    pub fn push(&mut self, batch: StepBatch) {
        self.follow(batch, |_, _| {});
    }

    /// Adds the next step, and passes each execution that ended in it to `ended`, with the index of its lane among
    /// [`RankBuilder::lanes`]. Executions come thread by thread as in the step, in order of their ends.
    pub fn follow(&mut self, batch: StepBatch, ended: impl FnMut(u32, EndedCall<ExecIdx>)) {
        self.num_steps += 1;
        self.queue_comms(&batch.comms);
        self.queue_counters(&batch.counters);
        let step = (batch.step, batch.ends_with_write);
        self.run_funcs(&batch.funcs, step, ended);
        append(&mut self.metadata, batch.metadata);
        append(&mut self.writes, batch.writes);
        append(&mut self.collectives, batch.collectives);
        append(&mut self.launches, batch.launches);
        append(&mut self.sizes, batch.sizes);
        append(&mut self.device_waits, batch.device_waits);
    }

    /// Moves the exits of the next step that end calls of other lanes to these lanes ([`move_exits`]). For runs that are
    /// judged step by step; [`RankBuilder::finish`] pairs those of a complete run, with the knowledge of all steps.
    pub fn move_exits(&mut self, funcs: &mut FuncEvents) {
        let lanes = self.lanes.iter();
        let open = lanes.map(|(&thread, lane)| (thread, lane.stack.open_calls()));
        move_exits(funcs, open, self.rank, &mut self.warnings);
    }

    /// Returns the current lanes in order of thread.
    pub fn lanes(&self) -> impl Iterator<Item = (ThreadId, &CallStackBuilder)> {
        self.lanes
            .iter()
            .map(|(&thread, lane)| (thread, &lane.stack))
    }

    /// Drops ended executions on every lane ([`CallStackBuilder::retire`]), and passes each thread with the old rows of
    /// its kept executions to `kept`. `first_kept` returns the row of a lane from which all rows are kept. For runs
    /// that are judged step by step rather than collected.
    pub fn retire(
        &mut self,
        num_last: usize,
        first_kept: impl Fn(ThreadId) -> Option<ExecIdx>,
        max_events: usize,
        mut kept: impl FnMut(ThreadId, &[ExecIdx]),
    ) {
        self.metadata.clear();
        self.writes.clear();
        self.collectives.clear();
        self.launches.clear();
        self.sizes.clear();
        self.device_waits.clear();
        for (&thread, lane) in &mut self.lanes {
            lane.ends.clear();
            let kept_rows = lane.stack.retire(num_last, first_kept(thread), max_events);
            kept(thread, &kept_rows);
        }
    }

    /// Returns the memory of rows that were reserved and are not used. For a rank whose steps have probably all come,
    /// while those of others come.
    pub fn shrink_to_fit(&mut self) {
        for lane in self.lanes.values_mut() {
            lane.stack.shrink_to_fit();
            lane.waiting.shrink_to_fit();
        }
    }

    /// Ends the rank.
    pub fn finish(
        mut self,
        names: NameTable<FuncId>,
        counter_names: NameTable<CounterId>,
    ) -> RankTrace {
        let mut warnings = self.warnings;
        let mut threads = Vec::with_capacity(self.lanes.len());
        let mut writes = self.writes;
        for lane in self.lanes.values_mut() {
            lane.stack.assign_rest(&mut lane.waiting);
            lane.stack.take_assigned(&mut lane.waiting);
        }
        let stacks = self.lanes.iter_mut();
        let mut stacks = stacks
            .map(|(&thread, lane)| (thread, &mut lane.stack))
            .collect();
        pair_moved_exits(&mut stacks, self.rank, &mut warnings);
        let are_writes: Vec<bool> = names
            .iter()
            .map(|(_, name)| is_tracer_write(name))
            .collect();
        while let Some((thread, lane)) = self.lanes.pop_first() {
            let (executions, comms, counters) = lane.stack.finish(&mut warnings);
            let of_lane = find_writes(&executions, &lane.ends).into_iter();
            writes.extend(of_lane.map(|(start, end)| (thread, start, end)));
            if are_writes.contains(&true) {
                let calls = writing_calls(&executions, &are_writes);
                writes.extend(calls.map(|(start, end)| (thread, start, end)));
            }
            threads.push((thread, executions, comms, counters));
        }
        writes.retain(|&(thread, start, end)| {
            end > start && threads.iter().any(|(known, ..)| *known == thread)
        });
        writes.sort_unstable();
        writes.dedup_by(|later, earlier| later.0 == earlier.0 && later.1 < earlier.2);
        self.collectives.sort_unstable();
        self.launches.sort_unstable();
        self.sizes.sort_unstable();
        self.device_waits.sort_unstable();
        RankTrace {
            program: self.program,
            rank: self.rank,
            names,
            counter_names,
            threads,
            writes,
            collectives: self.collectives,
            launches: self.launches,
            sizes: self.sizes,
            device_waits: self.device_waits,
            metadata: self.metadata,
            warnings,
            num_steps: self.num_steps,
        }
    }

    fn queue_comms(&mut self, comms: &CommEvents) {
        for rows in segments(&comms.thread) {
            let lane = lane(&mut self.lanes, self.rank, comms.thread[rows.start]);
            for late in lane.waiting.add_comms(comms, rows) {
                count_time_going_back(&mut self.warnings, self.rank, late, "message");
            }
        }
    }

    fn queue_counters(&mut self, counters: &CounterEvents) {
        for rows in segments(&counters.thread) {
            let lane = lane(&mut self.lanes, self.rank, counters.thread[rows.start]);
            for late in lane.waiting.add_counters(counters, rows) {
                count_time_going_back(&mut self.warnings, self.rank, late, "counter");
            }
        }
    }

    fn run_funcs(
        &mut self,
        funcs: &FuncEvents,
        step: (StepId, bool),
        mut ended: impl FnMut(u32, EndedCall<ExecIdx>),
    ) {
        for (thread, _) in funcs.segments() {
            lane(&mut self.lanes, self.rank, thread);
        }
        let threads: Vec<ThreadId> = self.lanes.keys().copied().collect();
        for (thread, events) in funcs.segments() {
            let position = threads.partition_point(|&other| other < thread);
            let position = LaneIdx::from_index(position).0;
            let lane = lane(&mut self.lanes, self.rank, thread);
            let (warnings, ended) = (&mut self.warnings, |call| ended(position, call));
            lane.take_in(events, step, warnings, ended);
            lane.stack.take_assigned(&mut lane.waiting);
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

fn count_time_going_back(warnings: &mut Warnings, rank: RankId, time: TimeNs, what: &str) {
    warnings.count(WarningKind::TimeWentBack, Some(rank), || {
        FirstSeen::at(time, format!("{what} event"))
    });
}

/// Returns the row ranges of one thread each, in order.
fn segments(threads: &[ThreadId]) -> impl Iterator<Item = Range<usize>> {
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
            waiting: PendingEvents::default(),
            step: None,
            ends: Vec::new(),
        }
    }

    /// Records the boundary to this step, whose first event is `next`, if it directly follows the step before, whose
    /// last event is `last`.
    fn begin_step(
        &mut self,
        (step, ends_with_write): (StepId, bool),
        last: Option<LaneEvent>,
        next: Option<LaneEvent>,
    ) {
        let step_before = self.step.replace((step, ends_with_write));
        let follows = step_before.is_some_and(|(before, has_write)| {
            has_write && before.0.checked_add(1) == Some(step.0)
        });
        if let (true, Some(last), Some(next)) = (follows, last, next)
            && last != next
        {
            self.ends.push(StepEnd { last, next });
        }
    }

    /// Processes the function events of a step, with the messages and counters between them.
    fn take_in(
        &mut self,
        events: &[FuncEvent],
        (step, ends_with_write): (StepId, bool),
        warnings: &mut Warnings,
        ended: impl FnMut(EndedCall<ExecIdx>),
    ) {
        let waiting = &mut self.waiting;
        let assign = |event: FuncEvent, open: &OpenCalls<ExecIdx>| {
            waiting.assign_before(event, || top(open));
        };
        let before = self.stack.last_event();
        let next = self.stack.take_in(events, step, warnings, assign, ended);
        self.begin_step((step, ends_with_write), before, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CommKind, FuncEventKind};

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
    fn at_equal_times_messages_come_after_entry_and_before_exit() {
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
    fn calls_of_a_region_of_the_tracer_are_writes() {
        let mut rank = RankBuilder::new(ProgramId(0), RankId(0));
        let events = [(Entry, 0, 10), (Entry, 1, 20), (Exit, 1, 30), (Exit, 0, 40)];
        rank.push(step(&events, &[]));
        rank.push(step(&[(Entry, 1, 50)], &[]));
        let mut names = NameTable::default();
        for name in ["flush_all() [{io.c} {1,0}]", "FLUSH"] {
            names.intern(name);
        }
        let trace = rank.finish(names, NameTable::default());
        // The second call has no exit.
        assert_eq!(trace.writes, [(T, TimeNs(20), TimeNs(30))]);
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
