//! The events of one I/O step of one rank, as a reader decodes them.

use serde::{Deserialize, Serialize};

use crate::id::{CounterId, FuncId, ProgramId, RankId, StepId, ThreadId};
use crate::metadata::Metadata;
use crate::relation::{CollectiveEvent, DeviceWaitEvent, LaunchEvent, SizeEvent};
use crate::time::TimeNs;

/// The kind of a function event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FuncEventKind {
    /// ENTRY.
    Entry,
    /// EXIT.
    Exit,
}

/// The kind of a message event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum CommKind {
    /// SEND, stamped before the real call.
    Send,
    /// RECV, stamped after the real call.
    Recv,
}

/// An entry or exit of a function, on the thread of its segment of [`FuncEvents`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FuncEvent {
    /// Time.
    pub time: TimeNs,
    /// Function, an id of the rank's own name table.
    pub func: FuncId,
    /// Twice the row, plus one for an exit, so that an event takes sixteen bytes.
    row_and_kind: u32,
}

/// Function events, stored row by row because every use needs all columns. Events of one thread are in order of time;
/// the order between threads is arbitrary. Events may only be swapped within a thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FuncEvents {
    events: Vec<FuncEvent>,
    /// The start of each segment of one thread.
    segments: Vec<(ThreadId, usize)>,
}

/// Messages sent and received; all columns have one length.
#[derive(Clone, Debug, Default)]
pub struct CommEvents {
    /// Thread.
    pub thread: Vec<ThreadId>,
    /// Send or receive.
    pub kind: Vec<CommKind>,
    /// Message tag; the upper half is the number of the communicator, where the format states one ([`tag_text`]).
    pub tag: Vec<u64>,
    /// The other rank: destination of a send, source of a receive.
    pub partner: Vec<RankId>,
    /// Size; for a receive, the size of the posted buffer, not of what arrived.
    pub size_bytes: Vec<u64>,
    /// Time.
    pub time: Vec<TimeNs>,
}

/// Counter samples; all columns have one length.
#[derive(Clone, Debug, Default)]
pub struct CounterEvents {
    /// Thread.
    pub thread: Vec<ThreadId>,
    /// Counter, an id of the rank's own counter table.
    pub counter: Vec<CounterId>,
    /// Value, in the counter's own unit.
    pub value: Vec<u64>,
    /// Time.
    pub time: Vec<TimeNs>,
}

/// The events that one rank wrote in one I/O step.
#[derive(Clone, Debug)]
pub struct StepBatch {
    /// Program.
    pub program: ProgramId,
    /// Rank.
    pub rank: RankId,
    /// Step of this rank's stream.
    pub step: StepId,
    /// Function events.
    pub funcs: FuncEvents,
    /// Messages.
    pub comms: CommEvents,
    /// Counter samples.
    pub counters: CounterEvents,
    /// Calls that take part in collectives, where the format states it.
    pub collectives: Vec<CollectiveEvent>,
    /// Launches of calls, where the format states them.
    pub launches: Vec<LaunchEvent>,
    /// Sizes of calls, where the format states them.
    pub sizes: Vec<SizeEvent>,
    /// Calls that wait for a GPU, where the format states them.
    pub device_waits: Vec<DeviceWaitEvent>,
    /// Metadata that is new in this step.
    pub metadata: Vec<Metadata>,
    /// Time ranges in which the tracer says that it stalled a thread to write its data. They contain no events of it.
    pub writes: Vec<(ThreadId, TimeNs, TimeNs)>,
    /// True if the tracer wrote its data when the step ended, without saying how long that took: a gap between this
    /// step and the next may be the tracer's. False if the step is only a number of events.
    pub ends_with_write: bool,
}

impl StepBatch {
    /// Returns a step without events.
    pub fn empty(program: ProgramId, rank: RankId, step: StepId) -> Self {
        Self {
            program,
            rank,
            step,
            funcs: FuncEvents::default(),
            comms: CommEvents::default(),
            counters: CounterEvents::default(),
            collectives: Vec::new(),
            launches: Vec::new(),
            sizes: Vec::new(),
            device_waits: Vec::new(),
            metadata: Vec::new(),
            writes: Vec::new(),
            ends_with_write: false,
        }
    }
}

/// Returns a message tag as text, with its communicator unless that is the one of all ranks, number 0.
pub fn tag_text(tag: u64) -> String {
    match (tag >> 32, tag & u64::from(u32::MAX)) {
        (0, tag) => format!("tag {tag}"),
        (communicator, tag) => format!("tag {tag} of communicator {communicator}"),
    }
}

impl FuncEvents {
    /// Returns the segments of events of one thread, in order. They are long, because TAU writes a step thread by
    /// thread.
    pub fn segments(&self) -> impl Iterator<Item = (ThreadId, &[FuncEvent])> {
        let ends = self.segments.iter().skip(1).map(|&(_, start)| start);
        let ends = ends.chain([self.events.len()]);
        let segments = self.segments.iter().zip(ends);
        segments.map(|(&(thread, start), end)| (thread, &self.events[start..end]))
    }

    /// Appends one event.
    pub fn push(
        &mut self,
        thread: ThreadId,
        kind: FuncEventKind,
        func: FuncId,
        time: TimeNs,
        row: u32,
    ) {
        self.extend(thread, [FuncEvent::new(kind, func, time, row)]);
    }

    /// Appends events of one thread.
    #[inline]
    pub fn extend(&mut self, thread: ThreadId, events: impl IntoIterator<Item = FuncEvent>) {
        let start = self.events.len();
        self.events.extend(events);
        let is_new = self.segments.last().is_none_or(|last| last.0 != thread);
        if is_new && self.events.len() > start {
            self.segments.push((thread, start));
        }
    }

    /// Reserves memory for this many more events.
    pub fn reserve_exact(&mut self, num_events: usize) {
        self.events.reserve_exact(num_events);
    }
}

impl FuncEvent {
    /// The limit on rows: larger ones do not fit an event.
    pub const MAX_ROWS: u64 = 1 << 31;

    /// Returns an event. `row` is the row in the stored array, which differs from the position here if damaged rows
    /// were left out.
    #[inline]
    pub const fn new(kind: FuncEventKind, func: FuncId, time: TimeNs, row: u32) -> Self {
        let is_exit = matches!(kind, FuncEventKind::Exit);
        Self {
            time,
            func,
            row_and_kind: row << 1 | if is_exit { 1 } else { 0 },
        }
    }

    /// Returns whether this is an entry or an exit.
    #[inline]
    pub const fn kind(self) -> FuncEventKind {
        if self.row_and_kind & 1 == 0 {
            FuncEventKind::Entry
        } else {
            FuncEventKind::Exit
        }
    }

    /// Returns the row in the stored array.
    #[inline]
    pub const fn row(self) -> u32 {
        self.row_and_kind >> 1
    }
}

impl std::ops::Deref for FuncEvents {
    type Target = [FuncEvent];

    fn deref(&self) -> &[FuncEvent] {
        &self.events
    }
}

impl std::ops::DerefMut for FuncEvents {
    fn deref_mut(&mut self) -> &mut [FuncEvent] {
        &mut self.events
    }
}

impl CommEvents {
    /// Appends one event.
    pub fn push(
        &mut self,
        thread: ThreadId,
        kind: CommKind,
        tag: u64,
        partner: RankId,
        size_bytes: u64,
        time: TimeNs,
    ) {
        self.thread.push(thread);
        self.kind.push(kind);
        self.tag.push(tag);
        self.partner.push(partner);
        self.size_bytes.push(size_bytes);
        self.time.push(time);
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Returns whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }
}

impl CounterEvents {
    /// Appends one sample.
    pub fn push(&mut self, thread: ThreadId, counter: CounterId, value: u64, time: TimeNs) {
        self.thread.push(thread);
        self.counter.push(counter);
        self.value.push(value);
        self.time.push(time);
    }

    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Returns whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }
}
