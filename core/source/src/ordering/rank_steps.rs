//! The steps of a rank: its events in order of time, cut after a fixed number of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use callgrove_model::{
    CollectiveEvent, DeviceWaitEvent, FuncEvent, FuncEventKind, LaunchEvent, Metadata, ProgramId,
    RankId, SizeEvent, StepBatch, StepId, ThreadId, TimeNs, Warnings,
};

use super::nesting::{Nesting, nest};
use super::rank_events::{LaneEvents, LaneIdentity, LaneNumber, MessagePoint, RankEvents};

/// Number of function events in a step. It is fixed, so that the labels of executions do not change.
const STEP_EVENTS: usize = 8192;

/// The steps of a rank, in order.
pub(super) struct RankSteps {
    program: ProgramId,
    rank: RankId,
    lanes: Vec<OrderedLane>,
    /// Facts for the first step.
    metadata: Vec<Metadata>,
    /// The lanes that have more calls, by the time of the next event.
    order: BinaryHeap<Reverse<(TimeNs, usize)>>,
    next_step: u32,
    /// The thread of each lane number.
    threads: Vec<ThreadId>,
    /// The number of the next thread whose number is not stated.
    next_thread: usize,
}

/// A lane in order of time.
struct OrderedLane {
    thread: ThreadId,
    calls: Vec<FuncEvent>,
    next_call: usize,
    points: LanePoints,
}

/// The events of a lane other than calls, in order of time, and how many of each kind were delivered.
#[derive(Default)]
struct LanePoints {
    messages: Delivered<MessagePoint>,
    counters: Delivered<(TimeNs, callgrove_model::CounterId, u64)>,
    collectives: Delivered<(TimeNs, u64, u64)>,
    launches: Delivered<(TimeNs, LaneNumber, TimeNs)>,
    sizes: Delivered<(TimeNs, u64)>,
    device_waits: Delivered<(TimeNs, Option<LaneNumber>)>,
    writes: Delivered<(TimeNs, TimeNs)>,
}

/// Events in order of time, and the number of those that were delivered.
struct Delivered<T> {
    events: Vec<T>,
    num: usize,
}

impl<T> Default for Delivered<T> {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            num: 0,
        }
    }
}

impl<T: Copy> Delivered<T> {
    fn of(mut events: Vec<T>, time: impl Fn(&T) -> TimeNs) -> Self {
        if !events.is_sorted_by_key(&time) {
            events.sort_by_key(time);
        }
        Self { events, num: 0 }
    }

    /// Returns the events until a time, which it includes.
    fn until(&mut self, last: TimeNs, time: impl Fn(&T) -> TimeNs) -> &[T] {
        let first = self.num;
        self.num += self.events[first..].partition_point(|it| time(it) <= last);
        &self.events[first..self.num]
    }
}

impl RankSteps {
    /// Orders the events of a rank.
    pub(super) fn new(
        program: ProgramId,
        rank: RankId,
        events: RankEvents,
        warnings: &mut Warnings,
    ) -> Self {
        let main = events.main;
        let mut lanes: Vec<_> = events.lanes.into_iter().enumerate().collect();
        let stated = stated_threads(&lanes);
        if stated.is_some() {
            lanes.sort_by_key(|(_, lane)| lane.thread);
        } else {
            lanes.sort_by_key(|(number, lane)| (Some(LaneNumber(*number)) != main, lane.key));
        }
        let mut steps = Self {
            program,
            rank,
            lanes: Vec::with_capacity(lanes.len()),
            metadata: Vec::new(),
            order: BinaryHeap::new(),
            next_step: 0,
            threads: vec![ThreadId(0); lanes.len()],
            next_thread: stated.map_or(0, |last| last.index() + 1),
        };
        for (number, mut lane) in lanes {
            lane.thread = lane.thread.filter(|_| stated.is_some());
            steps.threads[number] = lane.thread.unwrap_or(thread(steps.next_thread));
            steps.add(lane, warnings);
        }
        steps
    }

    fn add(&mut self, lane: LaneEvents, warnings: &mut Warnings) {
        let nesting = match lane.key {
            LaneIdentity::Stream { .. } => Nesting::Concurrent,
            LaneIdentity::Thread(_) | LaneIdentity::Track(_) => Nesting::Callees,
        };
        let calls = nest(lane.calls, nesting, self.rank, warnings);
        let mut collectives = by_lane(lane.collectives, &calls, |it| it.0);
        let mut launches = by_lane(lane.launches, &calls, |it| it.0);
        let mut sizes = by_lane(lane.sizes, &calls, |it| it.0);
        let mut waits = by_lane(lane.device_waits, &calls, |it| it.0);
        let mut points = LanePoints {
            messages: Delivered::of(lane.messages, |it| it.time),
            counters: Delivered::of(lane.counters, |it| it.0),
            writes: Delivered::of(lane.writes, |it| it.0),
            ..LanePoints::default()
        };
        let mut stated = lane.thread;
        for (index, calls) in calls.into_iter().enumerate() {
            let thread = stated.take().unwrap_or_else(|| {
                self.next_thread += 1;
                thread(self.next_thread - 1)
            });
            let mut of_lane = std::mem::take(&mut points);
            of_lane.collectives = Delivered::of(std::mem::take(&mut collectives[index]), |it| it.0);
            of_lane.launches = Delivered::of(std::mem::take(&mut launches[index]), |it| it.0);
            of_lane.sizes = Delivered::of(std::mem::take(&mut sizes[index]), |it| it.0);
            of_lane.device_waits = Delivered::of(std::mem::take(&mut waits[index]), |it| it.0);
            self.describe(&lane.metadata, lane.key, thread);
            self.push(thread, calls, of_lane);
        }
    }

    /// Adds the known facts about a lane.
    fn describe(&mut self, facts: &[(String, String)], key: LaneIdentity, thread: ThreadId) {
        let mut add = |key: &str, value: String| {
            self.metadata.push(Metadata {
                program: ProgramId(0),
                rank: self.rank,
                thread,
                key: key.to_owned(),
                value,
            });
        };
        for (key, value) in facts {
            add(key, value.clone());
        }
        if let LaneIdentity::Stream { device, stream } = key {
            add(
                callgrove_model::Property::GpuDevice.key(),
                device.to_string(),
            );
            add(
                callgrove_model::Property::GpuStream.key(),
                stream.to_string(),
            );
        }
    }

    fn push(&mut self, thread: ThreadId, calls: Vec<FuncEvent>, points: LanePoints) {
        if let Some(first) = calls.first() {
            self.order.push(Reverse((first.time, self.lanes.len())));
        }
        self.lanes.push(OrderedLane {
            thread,
            calls,
            next_call: 0,
            points,
        });
    }

    /// Returns the next step, or `None` after the last one.
    pub(super) fn next_step(&mut self, functions_only: bool) -> Option<StepBatch> {
        if self.next_step > 0 && self.order.is_empty() {
            return None;
        }
        let mut batch = StepBatch::empty(self.program, self.rank, StepId(self.next_step));
        batch.metadata = std::mem::take(&mut self.metadata);
        self.next_step += 1;
        let (firsts, last) = self.advance();
        let mut row = 0;
        for (index, first) in firsts {
            let lane = &mut self.lanes[index];
            let calls = lane.calls[first..lane.next_call].iter();
            let numbered = calls.map(|event| {
                let event = FuncEvent::new(event.kind(), event.func, event.time, row);
                row += 1;
                event
            });
            batch.funcs.extend(lane.thread, numbered);
            if lane.next_call == lane.calls.len() {
                (lane.calls, lane.next_call) = (Vec::new(), 0);
            }
        }
        let last = if self.order.is_empty() {
            TimeNs(i64::MAX)
        } else {
            last
        };
        if !functions_only {
            for lane in &mut self.lanes {
                lane.points
                    .deliver(last, lane.thread, &self.threads, &mut batch);
            }
        }
        Some(batch)
    }

    /// Advances the lanes to the end of the next step. Returns the lanes with events in it, each with its first one, in
    /// order of lane, and the time of the last event.
    fn advance(&mut self) -> (Vec<(usize, usize)>, TimeNs) {
        let (mut num, mut last) = (0, TimeNs(i64::MIN));
        let mut firsts = BTreeMap::new();
        while num < STEP_EVENTS
            && let Some(Reverse((_, index))) = self.order.pop()
        {
            let until = self.order.peek().map(|next| next.0);
            let lane = &mut self.lanes[index];
            firsts.entry(index).or_insert(lane.next_call);
            let is_next =
                |event: &FuncEvent| until.is_none_or(|until| (event.time, index) <= until);
            while num < STEP_EVENTS
                && let Some(event) = lane.calls.get(lane.next_call).filter(|it| is_next(it))
            {
                last = event.time;
                lane.next_call += 1;
                num += 1;
            }
            if let Some(next) = lane.calls.get(lane.next_call) {
                self.order.push(Reverse((next.time, index)));
            }
        }
        (firsts.into_iter().collect(), last)
    }
}

impl LanePoints {
    /// Appends the events until a time to a step.
    fn deliver(
        &mut self,
        last: TimeNs,
        thread: ThreadId,
        threads: &[ThreadId],
        batch: &mut StepBatch,
    ) {
        for it in self.messages.until(last, |it| it.time) {
            let comms = &mut batch.comms;
            comms.push(thread, it.kind, it.tag, it.partner, it.num_bytes, it.time);
        }
        for &(time, counter, value) in self.counters.until(last, |it| it.0) {
            batch.counters.push(thread, counter, value, time);
        }
        let collectives = self.collectives.until(last, |it| it.0).iter();
        batch
            .collectives
            .extend(
                collectives.map(|&(time, communicator, sequence)| CollectiveEvent {
                    thread,
                    time,
                    communicator,
                    sequence,
                }),
            );
        for &(start, end) in self.writes.until(last, |it| it.0) {
            batch.writes.push((thread, start, end));
        }
        let launches = self.launches.until(last, |it| it.0).iter();
        batch
            .launches
            .extend(launches.map(|&(time, by, launched)| LaunchEvent {
                thread,
                time,
                by: threads[by.0],
                launched,
            }));
        let sizes = self.sizes.until(last, |it| it.0).iter();
        batch.sizes.extend(sizes.map(|&(time, bytes)| SizeEvent {
            thread,
            time,
            bytes,
        }));
        let waits = self.device_waits.until(last, |it| it.0).iter();
        batch
            .device_waits
            .extend(waits.map(|&(time, stream)| DeviceWaitEvent {
                thread,
                time,
                stream: stream.map(|it| threads[it.0]),
            }));
    }
}

/// Returns the facts about calls, distributed to the lanes of the calls. A call that overlaps others is on a lane of
/// its own, and so are the facts with its time; those of calls that begin together are distributed in their order.
fn by_lane<T>(
    points: Vec<T>,
    lanes: &[Vec<FuncEvent>],
    time: impl Fn(&T) -> TimeNs,
) -> Vec<Vec<T>> {
    let mut by_lane: Vec<Vec<T>> = lanes.iter().map(|_| Vec::new()).collect();
    if let ([_], [all]) = (lanes, &mut by_lane[..]) {
        *all = points;
        return by_lane;
    }
    let begins_at = |events: &Vec<FuncEvent>, time: TimeNs| {
        let first = events.partition_point(|event| event.time < time);
        let same = events[first..]
            .iter()
            .take_while(|event| event.time == time);
        same.into_iter()
            .any(|event| event.kind() == FuncEventKind::Entry)
    };
    let mut num_at: BTreeMap<TimeNs, usize> = BTreeMap::new();
    for point in points {
        let time = time(&point);
        let num = num_at.entry(time).or_default();
        let has_call = |lane: &usize| begins_at(&lanes[*lane], time);
        let mut with_call = (0..lanes.len()).filter(has_call);
        let first = with_call.next().unwrap_or(0);
        let lane = num.checked_sub(1).and_then(|it| with_call.nth(it));
        *num += 1;
        by_lane[lane.unwrap_or(first)].push(point);
    }
    by_lane
}

/// Returns the largest number of a thread if those of all lanes are stated and differ.
fn stated_threads(lanes: &[(usize, LaneEvents)]) -> Option<ThreadId> {
    let stated = lanes.iter().map(|(_, lane)| lane.thread);
    let stated: BTreeSet<ThreadId> = stated.collect::<Option<_>>()?;
    let last = stated.last().copied();
    last.filter(|_| stated.len() == lanes.len())
}

fn thread(index: usize) -> ThreadId {
    ThreadId(u32::try_from(index).unwrap_or(u32::MAX))
}
