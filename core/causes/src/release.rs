//! The release of each operation: the event that ended its wait.

use callgrove_model::{CommKind, CommRef, DurationNs, ExecRef, LaneIdx, TimeNs, Trace};
use callgrove_segments::{
    CallKind, Clocks, Meetings, Operation, OperationKind, OperationRef, Segments, TIE, index,
    number,
};

use super::outcome::WaitKind;
use super::replay_order::by_end;

/// Minimum time after a send's stamp with which a sender that is still in its send has not sent yet. A shorter send did
/// not wait for its receiver.
pub(super) const STILL_SENDING: DurationNs = DurationNs::from_us(60);

/// The state of the peer that matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PeerState {
    /// Its state at the time of the release.
    Now,
    /// Its state before this operation.
    Before(OperationRef),
    /// Its state after this operation.
    After(OperationRef),
}

/// The event that an operation waited for. There is one for nearly every operation, so it has 24 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Release {
    /// Time of the event on the common clock.
    pub(super) time: TimeNs,
    /// The lane that it waited for.
    pub(super) peer: LaneIdx,
    /// The peer's operation before or after which its state matters; [`NO_OPERATION`] if that of now matters.
    peer_operation: u32,
    /// The row of the message in the operation; [`NO_ROW`] if it waited for none.
    row: u32,
    /// The kind of wait.
    pub(super) kind: WaitKind,
    /// True if the state after the peer's operation matters, not that before it.
    is_after: bool,
}

/// The number of no operation.
const NO_OPERATION: u32 = u32::MAX;
/// The row of no message.
const NO_ROW: u32 = u32::MAX;

const _: () = assert!(size_of::<Released>() == 24);

impl Release {
    /// Returns a release by the state of a peer at a time.
    pub(super) fn now(peer: LaneIdx, time: TimeNs, kind: WaitKind) -> Self {
        Self {
            time,
            peer,
            peer_operation: NO_OPERATION,
            row: NO_ROW,
            kind,
            is_after: false,
        }
    }

    /// Returns a release by the entry of a peer's operation.
    fn before(operation: OperationRef, time: TimeNs, kind: WaitKind) -> Self {
        Self {
            peer_operation: number(operation.at()),
            ..Self::now(operation.lane, time, kind)
        }
    }

    /// Returns a release by the exit of a peer's operation.
    fn after(operation: OperationRef, time: TimeNs, kind: WaitKind) -> Self {
        Self {
            is_after: true,
            ..Self::before(operation, time, kind)
        }
    }

    fn with_row(self, row: usize) -> Self {
        let row = number(row);
        Self { row, ..self }
    }

    /// Returns the row of the message in the operation, if it waited for one.
    pub(super) fn row(&self) -> Option<usize> {
        (self.row != NO_ROW).then(|| index(self.row))
    }

    /// Returns the state of the peer that matters.
    pub(super) fn state(&self) -> PeerState {
        let operation = OperationRef::new(self.peer, index(self.peer_operation));
        match (self.peer_operation, self.is_after) {
            (NO_OPERATION, _) => PeerState::Now,
            (_, false) => PeerState::Before(operation),
            (_, true) => PeerState::After(operation),
        }
    }
}

/// The release of an operation, which splits its time into two parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Released {
    pub(super) by: Option<Release>,
}

impl Released {
    /// Returns the end of the wait; the operation's start if it did not wait.
    pub(super) fn at(&self, operation: &Operation) -> TimeNs {
        let (start, end) = (operation.start, operation.end);
        self.by.map_or(start, |it| it.time.min(end).max(start))
    }

    /// Returns how long the operation waited.
    pub(super) fn wait(&self, operation: &Operation) -> DurationNs {
        self.at(operation).since(operation.start)
    }

    /// Returns the time of the operation after its release.
    pub(super) fn rest(&self, operation: &Operation) -> DurationNs {
        operation.end.since(self.at(operation))
    }
}

/// Maps message events to operations, and to their mates.
pub(super) struct Partners<'a> {
    pub(super) trace: &'a Trace,
    pub(super) clocks: &'a Clocks,
    /// The operation of each message event, by lane and row; `u32::MAX` outside every operation.
    of_row: Vec<Vec<u32>>,
}

impl<'a> Partners<'a> {
    pub(super) fn new(trace: &'a Trace, clocks: &'a Clocks, segments: &Segments) -> Self {
        let lanes = trace.lanes.iter();
        let mut of_row: Vec<Vec<u32>> = lanes.map(|it| vec![u32::MAX; it.comms.len()]).collect();
        for (it, operation) in segments.operations() {
            of_row[it.lane.index()][operation.rows()].fill(number(it.at()));
        }
        Self {
            trace,
            clocks,
            of_row,
        }
    }

    /// Returns whether the trace has no messages.
    pub(super) fn has_no_messages(&self) -> bool {
        self.of_row.iter().all(Vec::is_empty)
    }

    /// Returns the operation of a message event.
    fn operation(&self, event: CommRef) -> Option<OperationRef> {
        let number = self.of_row[event.lane.index()][index(event.row)];
        (number != u32::MAX).then(|| OperationRef::new(event.lane, index(number)))
    }

    /// Returns the other end of a message, with its time on the common clock; `None` for a message to the lane
    /// itself.
    pub(super) fn mate(&self, lane: LaneIdx, row: usize) -> Option<(OperationRef, TimeNs)> {
        let mate = self.trace.lane(lane).comms.mate[row].filter(|it| it.lane != lane)?;
        let time = self.trace.lane(mate.lane).comms.time[index(mate.row)];
        Some((self.operation(mate)?, self.clocks.common(mate.lane, time)))
    }

    /// Returns the lane of the other end of a message. If the trace does not have that end, as where it records sends
    /// only, it is the first lane of the stated rank.
    pub(super) fn lane(&self, segments: &Segments, lane: LaneIdx, row: usize) -> Option<LaneIdx> {
        if let Some((mate, _)) = self.mate(lane, row) {
            return Some(mate.lane);
        }
        let own = self.trace.lane(lane);
        let process = (own.program, own.comms.partner[row]);
        let process = segments.processes.binary_search(&process).ok()?;
        let first = segments.lanes.partition_point(|it| it.process < process);
        let first = LaneIdx::from_index(first);
        (own.comms.mate[row].is_none() && first != lane).then_some(first)
    }

    /// Returns the rows of an operation with messages of one kind.
    pub(super) fn rows(
        &self,
        lane: LaneIdx,
        operation: &Operation,
        kind: CommKind,
    ) -> impl Iterator<Item = usize> + '_ {
        let kinds = &self.trace.lane(lane).comms.kind;
        let rows = operation.rows();
        rows.filter(move |&row| kinds[row] == kind)
    }
}

/// Returns the GPU streams of each rank.
fn streams_by_process(segments: &Segments) -> Vec<Vec<LaneIdx>> {
    let mut streams = vec![Vec::new(); segments.processes.len()];
    for (index, lane) in segments.lanes.iter().enumerate() {
        if lane.is_device {
            streams[lane.process].push(LaneIdx::from_index(index));
        }
    }
    streams
}

/// The members of meetings by entry.
struct MeetingEntries<'a> {
    segments: &'a Segments,
    meetings: &'a Meetings,
    /// For each meeting, its members by entry.
    entries: Vec<Vec<(TimeNs, OperationRef)>>,
}

impl<'a> MeetingEntries<'a> {
    /// Sorts the members of meetings. Cost: O(n log n) in the members of each.
    fn new(segments: &'a Segments, meetings: &'a Meetings) -> Self {
        let by_entry = meetings.all.iter().map(|meeting| {
            let members = meeting.operations.iter();
            let mut entries: Vec<_> = members
                .map(|it| (segments.operation(*it).start, *it))
                .collect();
            entries.sort_unstable();
            entries
        });
        Self {
            segments,
            meetings,
            entries: by_entry.collect(),
        }
    }

    fn entered(&self, it: OperationRef) -> Option<(usize, &[(TimeNs, OperationRef)])> {
        let number = index(self.meetings.number(it)?);
        let end = self.segments.operation(it).end;
        let entries = &self.entries[number];
        let num_entered = entries.partition_point(|entry| entry.0 <= end + TIE);
        Some((number, &entries[..num_entered]))
    }
}

/// What operations depend on, except what released them, and the order in which that was done.
pub(super) struct Dependences<'a> {
    members: MeetingEntries<'a>,
    /// All operations by their end.
    order: Vec<OperationRef>,
    /// The events that operations depend on, except those that released them, by lane and operation.
    others: Vec<Release>,
    /// For each lane, the first of these of each operation, and the end of the last one's.
    first: Vec<Vec<u32>>,
}

impl<'a> Dependences<'a> {
    /// Returns them, and the release of every operation, by lane and operation. Cost: linear in operations and messages,
    /// O(n log n) in the members of each meeting.
    pub(super) fn find(
        segments: &'a Segments,
        partners: &Partners<'_>,
        meetings: &'a Meetings,
    ) -> (Self, Vec<Vec<Released>>) {
        let members = MeetingEntries::new(segments, meetings);
        let search = Search {
            segments,
            partners,
            members: &members,
            streams: streams_by_process(segments),
        };
        let (mut others, mut first, mut released) = (Vec::new(), Vec::new(), Vec::new());
        for (lane, it) in segments.lanes.iter().enumerate() {
            let lane = LaneIdx::from_index(lane);
            let mut first_of = Vec::with_capacity(it.operations.len() + 1);
            let of_lane = it.operations.iter().enumerate().map(|(at, operation)| {
                first_of.push(number(others.len()));
                let by = search.release(OperationRef::new(lane, at), operation, &mut others);
                Released { by }
            });
            released.push(of_lane.collect());
            first_of.push(number(others.len()));
            first.push(first_of);
        }
        let dependences = Self {
            members,
            order: by_end(segments),
            others,
            first,
        };
        (dependences, released)
    }

    /// Returns the events that an operation depends on, except the one that released it; of the members of a meeting
    /// none.
    pub(super) fn others(&self, it: OperationRef) -> &[Release] {
        let first = &self.first[it.lane.index()];
        &self.others[index(first[it.at()])..index(first[it.at() + 1])]
    }

    /// Returns the number of the meeting of an operation and its members that entered before its end, by entry.
    pub(super) fn entered(&self, it: OperationRef) -> Option<(usize, &[(TimeNs, OperationRef)])> {
        self.members.entered(it)
    }

    /// Returns all operations by their end.
    pub(super) fn order(&self) -> &[OperationRef] {
        &self.order
    }

    /// Returns the meetings.
    pub(super) fn meetings(&self) -> &'a Meetings {
        self.members.meetings
    }
}

/// The search for the events that operations depend on: messages, the members of their meeting, other lanes of their rank.
struct Search<'a> {
    segments: &'a Segments,
    partners: &'a Partners<'a>,
    members: &'a MeetingEntries<'a>,
    streams: Vec<Vec<LaneIdx>>,
}

impl Search<'_> {
    /// Returns the event that released an operation, and adds the others that it depends on.
    fn release(
        &self,
        it: OperationRef,
        operation: &Operation,
        others: &mut Vec<Release>,
    ) -> Option<Release> {
        let mut last: Option<Release> = None;
        self.each_cause(it, operation, |cause| {
            // Of two at the same time, prefer the more precise one: a stamp rather than the end of a call.
            let rank = |it: &Release| (it.time, !it.is_after);
            let is_last = last.as_ref().is_none_or(|last| rank(&cause) > rank(last));
            if is_last {
                others.extend(last.replace(cause));
            } else {
                others.push(cause);
            }
        });
        last
    }

    /// Calls `each` with all events that an operation depends on; of the members of a meeting only with the last one.
    fn each_cause(&self, it: OperationRef, operation: &Operation, mut each: impl FnMut(Release)) {
        match operation.kind {
            OperationKind::Idle => self.of_idle(it, operation, &mut each),
            OperationKind::Call(CallKind::DeviceSync) => self.of_streams(it, operation, &mut each),
            OperationKind::Thread(peer) => {
                let kind = if self.segments.lane(peer).is_device {
                    WaitKind::WaitForDevice
                } else {
                    WaitKind::WaitForThread
                };
                each(Release::now(peer, operation.end, kind));
            }
            OperationKind::Call(_) => self.of_meeting(it, &mut each),
        }
        self.of_messages(it, operation, &mut each);
    }

    fn of_idle(&self, it: OperationRef, operation: &Operation, each: &mut impl FnMut(Release)) {
        let lane = self.segments.lane(it.lane);
        if lane.is_device && operation.end.since(operation.start) <= TIE {
            // A stream that was idle for a shorter time had its next kernel queued: its own queue determines its start.
            return;
        }
        let launch = self.launch(it.lane, operation);
        let first = || {
            let first = self
                .segments
                .first_thread(self.partners.trace, lane.process)?;
            Some((first, operation.end))
        };
        if let Some((peer, time)) = launch.or_else(first) {
            each(Release::now(peer, time, WaitKind::WaitForWork));
        }
        // A kernel that was launched earlier waited for an event of another stream.
        if lane.is_device && launch.is_some() {
            self.of_streams(it, operation, each);
        }
    }

    /// Returns who launched the call that ends an idle time, and when.
    fn launch(&self, lane: LaneIdx, operation: &Operation) -> Option<(LaneIdx, TimeNs)> {
        let launches = self.partners.trace.launches_on(lane);
        let (clocks, end) = (self.partners.clocks, operation.end);
        let at = launches.partition_point(|it| clocks.common(lane, it.time) < end);
        let launch = launches.get(at)?;
        let is_next = clocks.common(lane, launch.time) == end;
        is_next.then(|| (launch.by, clocks.common(launch.by, launch.launched)))
    }

    /// Adds the last call of each other stream of the rank that ended in an operation.
    fn of_streams(&self, it: OperationRef, operation: &Operation, each: &mut impl FnMut(Release)) {
        let process = self.segments.lane(it.lane).process;
        let call = ExecRef {
            lane: it.lane,
            exec: operation.call,
        };
        let only = self.segments.stream_waited_for(call);
        let is_waited_for = |stream: &LaneIdx| only.map_or(*stream != it.lane, |it| it == *stream);
        for stream in self.streams[process].iter().copied().filter(is_waited_for) {
            let lane = self.segments.lane(stream);
            let ended = lane.gaps.partition_point(|it| it.end <= operation.end);
            let kernel = ended.checked_sub(1).map(|last| lane.gaps[last].end);
            let ended = lane
                .operations
                .partition_point(|it| it.end <= operation.end);
            let mut calls = lane.operations[..ended].iter().rev();
            let call = calls.find(|it| it.kind != OperationKind::Idle);
            let last = kernel.max(call.map(|it| it.end));
            if let Some(time) = last.filter(|last| *last > operation.start) {
                each(Release::now(stream, time, WaitKind::WaitForDevice));
            }
        }
    }

    fn of_meeting(&self, it: OperationRef, each: &mut impl FnMut(Release)) {
        let Some((number, &[.., (time, last)])) = self.members.entered(it) else {
            return;
        };
        if last != it {
            let is_barrier = matches!(
                self.members.meetings.all[number].kind,
                CallKind::Barrier | CallKind::ThreadSync
            );
            let kind = if is_barrier {
                WaitKind::WaitAtBarrier
            } else {
                WaitKind::WaitAtCollective
            };
            each(Release::before(last, time, kind));
        }
    }

    fn of_messages(&self, it: OperationRef, operation: &Operation, each: &mut impl FnMut(Release)) {
        for row in operation.rows() {
            let Some((mate, stamp)) = self.partners.mate(it.lane, row) else {
                continue;
            };
            let other = self.segments.operation(mate);
            let (start, end) = (operation.start, operation.end);
            let is_recv = self.partners.trace.lane(it.lane).comms.kind[row] == CommKind::Recv;
            let before = |time, kind| Release::before(mate, time, kind).with_row(row);
            let after = |kind| Release::after(mate, other.end, kind).with_row(row);
            if is_recv {
                each(before(stamp, WaitKind::LateSender));
                if other.end > stamp + STILL_SENDING && other.end <= end && other.end > start {
                    each(after(WaitKind::LateSender));
                }
            } else if end <= start + STILL_SENDING {
                // It did not wait: that its receiver came meanwhile is chance.
            } else if start < other.start && other.start <= end {
                each(before(other.start, WaitKind::LateReceiver));
            } else if other.start <= start && start < other.end && other.end <= end {
                each(after(WaitKind::LateReceiver));
            }
        }
    }
}
