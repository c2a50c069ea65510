//! Events of one I/O step of one rank, as a reader decodes them.

use serde::{Deserialize, Serialize};

use crate::{CounterId, FuncId, ProgramId, RankId, StepId, ThreadId, TimeNs};

/// Whether a function was entered or left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FuncEventKind {
    /// ENTRY.
    Entry,
    /// EXIT.
    Exit,
}

/// Whether a message was sent or received.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum CommKind {
    /// SEND, stamped before the real call.
    Send,
    /// RECV, stamped after the real call.
    Recv,
}

/// A function was entered or left, on the thread of its stretch of [`FuncEvents`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FuncEvent {
    /// Time.
    pub time: TimeNs,
    /// Function, an id of the rank's own name table.
    pub func: FuncId,
    /// Twice the row, and one more for an exit: sixteen bytes hold it all.
    row_and_kind: u32,
}

/// Function events side by side, for whoever looks at one needs all of it. Those of one thread are in the order in which
/// they happened; those of different threads may stand in any order. Places may be exchanged within a thread only.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FuncEvents {
    events: Vec<FuncEvent>,
    /// Where stretches of one thread start.
    stretches: Vec<(ThreadId, usize)>,
}

/// Messages sent and received; all columns have one length.
#[derive(Clone, Debug, Default)]
pub struct CommEvents {
    /// Thread.
    pub thread: Vec<ThreadId>,
    /// Send or receive.
    pub kind: Vec<CommKind>,
    /// Message tag.
    pub tag: Vec<u64>,
    /// The other rank: destination of a send, source of a receive.
    pub partner: Vec<RankId>,
    /// Size; for a receive the size posted, not what arrived.
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

/// One entry of the run's metadata.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Metadata {
    /// Rank that reported it.
    pub rank: RankId,
    /// Thread that reported it.
    pub thread: ThreadId,
    /// Key, such as `Hostname`.
    pub key: String,
    /// Value.
    pub value: String,
}

/// What one rank wrote in one I/O step.
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
    /// Metadata that is new in this step.
    pub metadata: Vec<Metadata>,
}

impl StepBatch {
    /// A step without events.
    pub fn empty(program: ProgramId, rank: RankId, step: StepId) -> Self {
        Self {
            program,
            rank,
            step,
            funcs: FuncEvents::default(),
            comms: CommEvents::default(),
            counters: CounterEvents::default(),
            metadata: Vec::new(),
        }
    }
}

impl FuncEvents {
    /// Stretches of events of one thread, in order; TAU writes a step thread by thread, so they are long.
    pub fn stretches(&self) -> impl Iterator<Item = (ThreadId, &[FuncEvent])> {
        let ends = self.stretches.iter().skip(1).map(|&(_, start)| start);
        let ends = ends.chain([self.events.len()]);
        let stretches = self.stretches.iter().zip(ends);
        stretches.map(|(&(thread, start), end)| (thread, &self.events[start..end]))
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
        let is_new = self.stretches.last().is_none_or(|last| last.0 != thread);
        if is_new && self.events.len() > start {
            self.stretches.push((thread, start));
        }
    }

    /// Makes room for so many more.
    pub fn reserve_exact(&mut self, num_events: usize) {
        self.events.reserve_exact(num_events);
    }
}

impl FuncEvent {
    /// Rows from here on cannot be told.
    pub const MAX_ROWS: u64 = 1 << 31;

    /// An event; `row` is that in the stored array, which differs from its place where damaged rows were left out.
    #[inline]
    pub const fn new(kind: FuncEventKind, func: FuncId, time: TimeNs, row: u32) -> Self {
        let is_exit = matches!(kind, FuncEventKind::Exit);
        Self {
            time,
            func,
            row_and_kind: row << 1 | if is_exit { 1 } else { 0 },
        }
    }

    /// Entry or exit.
    #[inline]
    pub const fn kind(self) -> FuncEventKind {
        if self.row_and_kind & 1 == 0 {
            FuncEventKind::Entry
        } else {
            FuncEventKind::Exit
        }
    }

    /// The row in the stored array.
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

    /// Number of events.
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Whether there are no events.
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

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }
}
