//! Wait states: the calls that waited for other ranks, their peers and durations.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use callgrove_model::{DurationNs, ExecRef, LaneIdx, ProgramId, RankId, TimeNs};

/// The kind of a wait. The names are Scalasca's where it has one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// A receive waited for a message that was sent after the receive was called.
    LateSender,
    /// A send waited for a receiver that was not ready.
    LateReceiver,
    /// A receive waited for a message while an older one of the same sender was available.
    WrongOrder,
    /// A message had arrived, but the call that completes it took long.
    LateCompletion,
    /// A collective waited for the last rank to arrive (wait at N×N, early reduce, late broadcast).
    WaitAtCollective,
    /// A barrier waited for the last rank to arrive.
    WaitAtBarrier,
    /// A thread or stream had nothing to do.
    WaitForWork,
    /// The host waited for its device.
    WaitForDevice,
    /// A thread waited for an operation of another thread of its rank.
    WaitForThread,
    /// There was no wait: the lane itself was late.
    OwnDelay,
}

impl fmt::Display for WaitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LateSender => "late_sender",
            Self::LateReceiver => "late_receiver",
            Self::WrongOrder => "wrong_order",
            Self::LateCompletion => "late_completion",
            Self::WaitAtCollective => "wait_at_collective",
            Self::WaitAtBarrier => "wait_at_barrier",
            Self::WaitForWork => "wait_for_work",
            Self::WaitForDevice => "wait_for_device",
            Self::WaitForThread => "wait_for_thread",
            Self::OwnDelay => "own_delay",
        })
    }
}

/// The message or collective that a call waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WaitedFor {
    /// A message, an index into [`callgrove_model::Trace::messages`].
    Message(u32),
    /// A collective operation, an index into [`Waits::collectives`].
    Collective(u32),
    /// Nothing in the trace.
    Nothing,
}

/// One call that waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The waiting call.
    pub call: ExecRef,
    /// The kind of wait.
    pub kind: WaitKind,
    /// The lane that it waited for; `None` for an own delay.
    pub peer: Option<LaneIdx>,
    /// The message or collective.
    pub waited_for: WaitedFor,
    /// Start of the wait: the call's entry or later.
    pub start: TimeNs,
    /// End of the wait: the call's exit or earlier.
    pub end: TimeNs,
}

impl Wait {
    /// Returns how long it waited.
    pub fn duration(&self) -> DurationNs {
        self.end.since(self.start)
    }
}

/// One collective operation: the calls of all ranks, or threads of a rank, that took part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collective {
    /// The calls, in order of lane.
    pub calls: Vec<ExecRef>,
    /// The call that was entered last, for which the others waited.
    pub last: ExecRef,
    /// Time of its entry.
    pub last_entry: TimeNs,
}

/// The number and total time of the waits of one rank for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WaitCell {
    /// Program of both ranks.
    pub program: ProgramId,
    /// The rank that waited.
    pub waiter: RankId,
    /// The rank that it waited for.
    pub peer: RankId,
    /// Number of waits.
    pub num_waits: u64,
    /// Total time of the waits within the range.
    pub total: DurationNs,
}

/// The wait states of a run, ordered by lane, then start.
#[derive(Clone, Default, Debug)]
pub struct Waits {
    all: Vec<Wait>,
    collectives: Vec<Collective>,
    lanes: Vec<(ProgramId, RankId)>,
}

impl Waits {
    /// Takes waits in any order; `lanes` holds the program and rank of each lane.
    pub(crate) fn new(
        mut waits: Vec<Wait>,
        collectives: Vec<Collective>,
        lanes: Vec<(ProgramId, RankId)>,
    ) -> Self {
        waits.sort_by_key(|wait| (wait.call.lane, wait.start, wait.call.exec, wait.waited_for));
        Self {
            all: waits,
            collectives,
            lanes,
        }
    }

    /// Returns all waits, ordered by lane, then start.
    pub fn all(&self) -> &[Wait] {
        &self.all
    }

    /// Returns the waits of one lane, in order of start.
    pub fn on_lane(&self, lane: LaneIdx) -> &[Wait] {
        let from = self.all.partition_point(|wait| wait.call.lane < lane);
        let to = self.all.partition_point(|wait| wait.call.lane <= lane);
        &self.all[from..to]
    }

    /// Returns the waits of one call, in order of start.
    pub fn of_call(&self, call: ExecRef) -> impl Iterator<Item = &Wait> {
        self.on_lane(call.lane)
            .iter()
            .filter(move |wait| wait.call == call)
    }

    /// Returns the collective operations, in order of their first entry on the lowest lane.
    pub fn collectives(&self) -> &[Collective] {
        &self.collectives
    }

    /// Returns the waits within a time range by pair of ranks, ordered by waiter, then peer. Waits of a rank for
    /// itself are own delays and are left out.
    pub fn matrix(&self, range: Range<TimeNs>) -> Vec<WaitCell> {
        let mut cells: BTreeMap<_, (u64, DurationNs)> = BTreeMap::new();
        for wait in &self.all {
            let Some(peer) = wait.peer else { continue };
            let (start, end) = (wait.start.max(range.start), wait.end.min(range.end));
            if start >= end {
                continue;
            }
            let key = (
                self.lanes[wait.call.lane.index()],
                self.lanes[peer.index()].1,
            );
            let cell = cells.entry(key).or_default();
            cell.0 += 1;
            cell.1 += end.since(start);
        }
        let cell = |(((program, waiter), peer), (num_waits, total))| WaitCell {
            program,
            waiter,
            peer,
            num_waits,
            total,
        };
        cells.into_iter().map(cell).collect()
    }
}
