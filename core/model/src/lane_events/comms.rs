//! The messages of a lane, in columns.

use std::ops::Range;

use crate::columns::{events_kept, keep_rows, move_first, reorder};
use crate::event::{CommEvents, CommKind};
use crate::id::{ExecIdx, LaneIdx, NonMaxIdx, RankId};
use crate::time::TimeNs;

/// Messages sent and received on one lane in order of time. All columns have the same length.
#[derive(Clone, Debug, Default)]
pub struct Comms {
    /// Time.
    pub time: Vec<TimeNs>,
    /// Send or receive.
    pub kind: Vec<CommKind>,
    /// The other rank.
    pub partner: Vec<RankId>,
    /// Tag.
    pub tag: Vec<u64>,
    /// Size reported on this side.
    pub size_bytes: Vec<u64>,
    /// The execution in which it happened; `None` outside every function.
    pub exec: Vec<Option<NonMaxIdx>>,
    /// The matching event on the other side.
    pub mate: Vec<Option<CommRef>>,
}

/// A message event: the lane and the row in its [`Comms`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CommRef {
    /// The lane.
    pub lane: LaneIdx,
    /// The row in its messages.
    pub row: u32,
}

impl Comms {
    /// Returns the memory of rows that were reserved and are not used.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.time.shrink_to_fit();
        self.kind.shrink_to_fit();
        self.partner.shrink_to_fit();
        self.tag.shrink_to_fit();
        self.size_bytes.shrink_to_fit();
        self.exec.shrink_to_fit();
        self.mate.shrink_to_fit();
    }

    /// Adds events whose execution is not known yet.
    pub(crate) fn add_events(&mut self, events: &CommEvents, rows: Range<usize>) {
        self.time.extend_from_slice(&events.time[rows.clone()]);
        self.kind.extend_from_slice(&events.kind[rows.clone()]);
        let partners = &events.partner[rows.clone()];
        self.partner.extend_from_slice(partners);
        self.tag.extend_from_slice(&events.tag[rows.clone()]);
        self.size_bytes.extend_from_slice(&events.size_bytes[rows]);
        self.exec.resize(self.time.len(), None);
        self.mate.resize(self.time.len(), None);
    }

    /// Reorders the events, whose executions are not known yet.
    pub(crate) fn reorder(&mut self, order: &[usize]) {
        reorder(&mut self.time, order);
        reorder(&mut self.kind, order);
        reorder(&mut self.partner, order);
        reorder(&mut self.tag, order);
        reorder(&mut self.size_bytes, order);
    }

    /// Moves the first events to the end of others.
    pub(crate) fn move_first(&mut self, num_rows: usize, to: &mut Self) {
        if num_rows == 0 {
            return;
        }
        move_first(num_rows, &mut self.time, &mut to.time);
        move_first(num_rows, &mut self.kind, &mut to.kind);
        move_first(num_rows, &mut self.partner, &mut to.partner);
        move_first(num_rows, &mut self.tag, &mut to.tag);
        move_first(num_rows, &mut self.size_bytes, &mut to.size_bytes);
        move_first(num_rows, &mut self.exec, &mut to.exec);
        move_first(num_rows, &mut self.mate, &mut to.mate);
    }

    /// Keeps the newest `max_events` events of the executions for which `new_row` returns a row.
    pub(crate) fn keep(&mut self, new_row: impl Fn(ExecIdx) -> Option<ExecIdx>, max_events: usize) {
        let kept = events_kept(&mut self.exec, new_row, max_events);
        keep_rows(&mut self.time, &kept);
        keep_rows(&mut self.kind, &kept);
        keep_rows(&mut self.partner, &kept);
        keep_rows(&mut self.tag, &kept);
        keep_rows(&mut self.size_bytes, &kept);
        keep_rows(&mut self.exec, &kept);
        keep_rows(&mut self.mate, &kept);
    }

    /// Returns the number of message events.
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Returns whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }
}
