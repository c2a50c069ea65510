//! Evidence: whom a stalled call can have waited for, from the messages and collectives in it.

use std::collections::BTreeMap;

use callgrove_model::{
    CommKind, CommRef, DurationNs, ExecIdx, ExecRef, Lane, LaneIdx, TimeNs, Trace,
};

use super::call_kind::CallKind;
use super::clock::Clocks;
use super::stall::Stall;
use super::wait::{Collective, WaitKind};

/// Sends that did not block are looked for among so many messages before the call that completes them.
const MAX_LOOK: usize = 64;

/// A wait of less than one in so many parts of a stall is short.
const SHORT: i64 = 100;

/// A lane that a call can have waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Evidence {
    /// The lane.
    pub(super) peer: LaneIdx,
    /// How the call waited, if it did.
    pub(super) kind: WaitKind,
    /// When the peer came: sent the message, called to receive it, entered the collective. `None` if not known.
    pub(super) came: Option<TimeNs>,
    /// The call in which the peer did its part. `None` if not known.
    pub(super) part: Option<ExecRef>,
}

/// What the evidence is taken from.
pub(super) struct Facts<'a> {
    pub(super) trace: &'a Trace,
    pub(super) clocks: &'a Clocks,
    pub(super) kinds: &'a [CallKind],
    pub(super) collectives: &'a [Collective],
    collective_of: BTreeMap<ExecRef, usize>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(
        trace: &'a Trace,
        clocks: &'a Clocks,
        kinds: &'a [CallKind],
        collectives: &'a [Collective],
    ) -> Self {
        let calls = collectives.iter().enumerate();
        let calls = calls.flat_map(|(at, it)| it.calls.iter().map(move |&call| (call, at)));
        let collective_of = calls.collect();
        Self {
            trace,
            clocks,
            kinds,
            collectives,
            collective_of,
        }
    }

    pub(super) fn kind(&self, call: ExecRef) -> CallKind {
        self.kinds[self.trace.lane(call.lane).executions.func[call.exec.index()].index()]
    }

    /// The collective that a call, or the probe in it, belongs to, as an index.
    fn collective_idx(&self, call: ExecRef) -> Option<usize> {
        let call = match self.kind(call) {
            CallKind::SyncProbe => ExecRef {
                exec: self.trace.lane(call.lane).executions.parent(call.exec)?,
                ..call
            },
            _ => call,
        };
        self.collective_of.get(&call).copied()
    }

    /// The collective that a call, or the probe in it, belongs to.
    fn collective(&self, call: ExecRef) -> Option<&'a Collective> {
        self.collectives.get(self.collective_idx(call)?)
    }

    /// The collective of a stall that began when all had come to it, as an index.
    pub(super) fn complete_collective(&self, stall: &Stall) -> Option<usize> {
        let index = self.collective_idx(stall.call)?;
        (self.collectives[index].last_entry <= stall.start).then_some(index)
    }

    /// How a call waits in a collective.
    pub(super) fn meeting(&self, call: ExecRef) -> WaitKind {
        match self.kind(call) {
            CallKind::Barrier => WaitKind::WaitAtBarrier,
            _ => WaitKind::WaitAtCollective,
        }
    }

    /// Everyone that the call of a stall can have waited for; nobody while it works.
    pub(super) fn of(&self, stall: &Stall) -> Vec<Evidence> {
        let lane = self.trace.lane(stall.lane());
        if self.kind(stall.call) == CallKind::Work {
            return Vec::new();
        }
        if let Some(collective) = self.collective(stall.call) {
            return self.of_collective(collective, stall);
        }
        let rows = rows_of(lane, stall.call.exec);
        let mut found: Vec<_> = rows.filter_map(|row| self.of_message(lane, row)).collect();
        if found.is_empty() {
            found = self.of_pending_sends(lane, stall.call.exec);
        }
        found
    }

    /// Until when a stalled call waited for a message, as far as that proves anything: until the last one that it
    /// receives was sent. Of a wait too short to be told from two ranks falling silent together, half counts.
    pub(super) fn due(&self, stall: &Stall) -> TimeNs {
        let lane = self.trace.lane(stall.lane());
        let received = rows_of(lane, stall.call.exec)
            .filter(|&row| lane.comms.kind[row] == CommKind::Recv)
            .filter_map(|row| lane.comms.mate[row])
            .map(|mate| self.clocks.common(mate.lane, self.time(mate)));
        let last = received.filter(|&sent| sent <= stall.end).max();
        let waited = last.map_or(0, |sent| sent.since(stall.start).0.max(0));
        let is_short = waited < stall.duration().0 / SHORT;
        stall.start + DurationNs(if is_short { waited / 2 } else { waited })
    }

    fn of_collective(&self, collective: &Collective, stall: &Stall) -> Vec<Evidence> {
        if collective.last.lane != stall.lane() && collective.last_entry > stall.start {
            return vec![Evidence {
                peer: collective.last.lane,
                kind: self.meeting(stall.call),
                came: Some(collective.last_entry),
                part: Some(collective.last),
            }];
        }
        // All had come: which of them did not go on the stalls tell.
        Vec::new()
    }

    fn of_message(&self, lane: &Lane, row: usize) -> Option<Evidence> {
        let mate = lane.comms.mate[row]?;
        // A rank that sends to itself waits for nobody.
        if self.is_of(mate, lane) {
            return None;
        }
        let part = self.call_of(mate);
        Some(match lane.comms.kind[row] {
            CommKind::Recv => Evidence {
                peer: mate.lane,
                kind: WaitKind::LateSender,
                came: Some(self.clocks.common(mate.lane, self.time(mate))),
                part,
            },
            CommKind::Send => Evidence {
                peer: mate.lane,
                kind: WaitKind::LateReceiver,
                came: part.map(|call| self.entry(call)),
                part,
            },
        })
    }

    /// The sends that have not been waited for before this call.
    fn of_pending_sends(&self, lane: &Lane, call: ExecIdx) -> Vec<Evidence> {
        let entry = lane.executions.entry[call.index()];
        let func = lane.executions.func[call.index()];
        let to = lane.comms.time.partition_point(|&time| time <= entry);
        let from = to.saturating_sub(MAX_LOOK);
        let mut before = lane.executions.func[..call.index()].iter();
        let before = before.rposition(|&it| it == func);
        let since = before.map(|row| lane.executions.exit(ExecIdx::from_index(row)));
        let rows =
            (from..to).filter(|&row| since.is_none_or(|since| lane.comms.time[row] >= since));
        let sends = rows.filter(|&row| lane.comms.kind[row] == CommKind::Send);
        sends.filter_map(|row| self.of_message(lane, row)).collect()
    }

    fn time(&self, event: CommRef) -> TimeNs {
        let lane = self.trace.lane(event.lane);
        lane.comms.time[ExecIdx(event.row).index()]
    }

    /// Whether an event is on a lane.
    fn is_of(&self, event: CommRef, lane: &Lane) -> bool {
        std::ptr::eq(self.trace.lane(event.lane), lane)
    }

    /// The call that a message event is in.
    pub(super) fn call_of(&self, event: CommRef) -> Option<ExecRef> {
        let lane = self.trace.lane(event.lane);
        let exec = lane.comms.exec[ExecIdx(event.row).index()]?.into();
        Some(ExecRef {
            lane: event.lane,
            exec,
        })
    }

    /// When a call was entered, on the common clock.
    pub(super) fn entry(&self, call: ExecRef) -> TimeNs {
        let entry = self.trace.lane(call.lane).executions.entry[call.exec.index()];
        self.clocks.common(call.lane, entry)
    }
}

/// The message events within one call, not those of calls in it.
pub(super) fn rows_of(lane: &Lane, call: ExecIdx) -> impl Iterator<Item = usize> + '_ {
    let entry = lane.executions.entry[call.index()];
    let exit = lane.executions.exit(call);
    let from = lane.comms.time.partition_point(|&time| time < entry);
    let to = lane.comms.time.partition_point(|&time| time <= exit);
    (from..to.max(from)).filter(move |&row| lane.comms.exec[row].map(ExecIdx::from) == Some(call))
}
