//! The events of one rank, in any order.

use std::collections::BTreeMap;

use callgrove_model::{CommKind, CounterId, FuncId, Property, RankId, ThreadId, TimeNs};

use super::listed_calls::ListedCalls;

/// The identity of a lane in its file. The threads of a rank are numbered in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LaneIdentity {
    /// A thread, by the number that the system or the file gave it.
    Thread(u64),
    /// A stream or queue of a GPU.
    Stream {
        /// The number of the GPU.
        device: u64,
        /// The number of the stream on the GPU.
        stream: u64,
    },
    /// Calls of another kind, such as asynchronous ones.
    Track(u64),
}

/// A lane of a [`RankEvents`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LaneNumber(pub(super) usize);

/// The events of one rank. They may be added in any order: a file of complete calls has a call where it ended, and the
/// calls of a GPU in lists of their own.
#[derive(Debug, Default)]
pub struct RankEvents {
    pub(super) lanes: Vec<LaneEvents>,
    by_key: BTreeMap<LaneIdentity, LaneNumber>,
    pub(super) main: Option<LaneNumber>,
}

/// The events of one lane.
#[derive(Debug)]
pub(super) struct LaneEvents {
    pub(super) key: LaneIdentity,
    /// The thread, if its number is stated.
    pub(super) thread: Option<ThreadId>,
    pub(super) calls: ListedCalls,
    pub(super) messages: Vec<MessagePoint>,
    pub(super) counters: Vec<(TimeNs, CounterId, u64)>,
    pub(super) collectives: Vec<(TimeNs, u64, u64)>,
    pub(super) launches: Vec<(TimeNs, LaneNumber, TimeNs)>,
    pub(super) sizes: Vec<(TimeNs, u64)>,
    pub(super) device_waits: Vec<(TimeNs, Option<LaneNumber>)>,
    /// Time ranges in which the tracer wrote.
    pub(super) writes: Vec<(TimeNs, TimeNs)>,
    pub(super) metadata: Vec<(String, String)>,
}

/// A message sent or received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MessagePoint {
    pub(super) time: TimeNs,
    pub(super) kind: CommKind,
    pub(super) partner: RankId,
    pub(super) tag: u64,
    pub(super) num_bytes: u64,
}

impl RankEvents {
    /// Returns the lane of a key, which is new if it was not asked for before.
    pub fn lane(&mut self, key: LaneIdentity) -> LaneNumber {
        let lanes = &mut self.lanes;
        *self.by_key.entry(key).or_insert_with(|| {
            lanes.push(LaneEvents::new(key));
            LaneNumber(lanes.len() - 1)
        })
    }

    /// Returns the lane of a key, if it was asked for before.
    pub fn existing_lane(&self, key: LaneIdentity) -> Option<LaneNumber> {
        self.by_key.get(&key).copied()
    }

    /// Returns the number of calls of a lane so far, or of their ends where these are events of their own.
    pub fn num_calls(&self, lane: LaneNumber) -> usize {
        self.lanes[lane.0].calls.len()
    }

    /// Returns the lanes with their keys, in the order in which they were first asked for.
    pub fn lanes(&self) -> impl Iterator<Item = (LaneNumber, LaneIdentity)> + '_ {
        let lanes = self.lanes.iter().enumerate();
        lanes.map(|(index, lane)| (LaneNumber(index), lane.key))
    }

    /// Returns whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.lanes.iter().all(LaneEvents::is_empty)
    }

    /// States which thread is the main one. Otherwise it is the first by its key.
    pub fn set_main(&mut self, lane: LaneNumber) {
        self.main = Some(lane);
    }

    /// States the number of the thread of a lane. If that of each lane is stated, the threads of the rank have these
    /// numbers. Otherwise they are numbered in order.
    pub fn set_thread(&mut self, lane: LaneNumber, thread: ThreadId) {
        self.lanes[lane.0].thread = Some(thread);
    }

    /// States that the tracer wrote its own data on a lane in a time range, which contains no other event of it.
    pub fn tracer_write(&mut self, lane: LaneNumber, start: TimeNs, end: TimeNs) {
        self.lanes[lane.0].writes.push((start, end));
    }

    /// Adds a call.
    pub fn call(&mut self, lane: LaneNumber, func: FuncId, start: TimeNs, end: TimeNs) {
        self.lanes[lane.0].calls.call(func, start, end);
    }

    /// States that the ends of the complete calls of a lane are not rounded apart from their beginnings, so that a short
    /// overlap is no error of rounding.
    pub fn set_ends_exact(&mut self, lane: LaneNumber) {
        self.lanes[lane.0].calls.set_ends_exact();
    }

    /// Adds the beginning of a call. Those of a lane are paired with ends by time, and at equal times in the order in
    /// which they were added.
    pub fn begin(&mut self, lane: LaneNumber, func: FuncId, time: TimeNs) {
        self.lanes[lane.0].calls.begin(func, time);
    }

    /// Adds the end of the innermost call that has begun.
    pub fn end(&mut self, lane: LaneNumber, time: TimeNs) {
        self.lanes[lane.0].calls.end(time);
    }

    /// Adds calls. A lane without calls takes the memory of the list.
    pub fn add_calls(&mut self, lane: LaneNumber, calls: ListedCalls) {
        self.lanes[lane.0].calls.append(calls);
    }

    /// Adds a message.
    pub fn message(
        &mut self,
        lane: LaneNumber,
        time: TimeNs,
        kind: CommKind,
        partner: RankId,
        tag: u64,
        num_bytes: u64,
    ) {
        self.lanes[lane.0].messages.push(MessagePoint {
            time,
            kind,
            partner,
            tag,
            num_bytes,
        });
    }

    /// Adds a counter sample.
    pub fn counter(&mut self, lane: LaneNumber, time: TimeNs, counter: CounterId, value: u64) {
        self.lanes[lane.0].counters.push((time, counter, value));
    }

    /// States that the call at `time` takes part in a collective: the `sequence`-th of a communicator, whose number is
    /// the same on all ranks.
    pub fn collective(&mut self, lane: LaneNumber, time: TimeNs, communicator: u64, sequence: u64) {
        let collectives = &mut self.lanes[lane.0].collectives;
        collectives.push((time, communicator, sequence));
    }

    /// States that the call that begins at `time` was launched by another lane.
    pub fn launch(&mut self, lane: LaneNumber, time: TimeNs, by: LaneNumber, launched: TimeNs) {
        self.lanes[lane.0].launches.push((time, by, launched));
    }

    /// States the number of bytes that the call that begins at `time` moves.
    pub fn size(&mut self, lane: LaneNumber, time: TimeNs, bytes: u64) {
        self.lanes[lane.0].sizes.push((time, bytes));
    }

    /// States that the call that begins at `time` waits for the work of a stream, or of all streams of the rank.
    pub fn device_wait(&mut self, lane: LaneNumber, time: TimeNs, stream: Option<LaneNumber>) {
        self.lanes[lane.0].device_waits.push((time, stream));
    }

    /// Adds the events of another process of the rank. Lanes of equal keys become one; the main thread stays the main
    /// one.
    pub fn join(&mut self, other: Self) {
        if self.lanes.is_empty() {
            *self = other;
            return;
        }
        let keys = other.lanes.iter().map(|lane| lane.key);
        let numbers: Vec<LaneNumber> = keys.map(|key| self.lane(key)).collect();
        for (lane, number) in other.lanes.into_iter().zip(&numbers) {
            let own = &mut self.lanes[number.0];
            own.calls.append(lane.calls);
            own.messages.extend(lane.messages);
            own.counters.extend(lane.counters);
            own.collectives.extend(lane.collectives);
            own.sizes.extend(lane.sizes);
            own.writes.extend(lane.writes);
            own.thread = own.thread.or(lane.thread);
            own.metadata.extend(lane.metadata);
            let launches = lane.launches.into_iter();
            own.launches
                .extend(launches.map(|(time, by, launched)| (time, numbers[by.0], launched)));
            let waits = lane.device_waits.into_iter();
            own.device_waits
                .extend(waits.map(|(time, stream)| (time, stream.map(|it| numbers[it.0]))));
        }
        self.main = self.main.or(other.main.map(|main| numbers[main.0]));
    }

    /// Adds a fact about a lane, or about the rank.
    pub fn property(&mut self, lane: LaneNumber, property: Property, value: impl Into<String>) {
        self.metadata(lane, property.key(), value);
    }

    /// Adds a fact for which the model has no name of its own.
    pub fn metadata(&mut self, lane: LaneNumber, key: impl Into<String>, value: impl Into<String>) {
        let metadata = &mut self.lanes[lane.0].metadata;
        metadata.push((key.into(), value.into()));
    }
}

impl LaneEvents {
    fn new(key: LaneIdentity) -> Self {
        Self {
            key,
            thread: None,
            calls: ListedCalls::default(),
            messages: Vec::new(),
            counters: Vec::new(),
            collectives: Vec::new(),
            launches: Vec::new(),
            sizes: Vec::new(),
            device_waits: Vec::new(),
            writes: Vec::new(),
            metadata: Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.messages.is_empty() && self.counters.is_empty()
    }
}
