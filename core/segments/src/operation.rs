//! Operations: the calls in which a lane can wait, and its idle times.

use std::ops::Range;

use callgrove_model::{ExecIdx, FuncId, LaneIdx, TimeNs};

use super::call_kind::CallKind;
use super::numbers::{index, number};
use super::places::PathIdx;

/// The way in which an operation can wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperationKind {
    /// A call of this kind.
    Call(CallKind),
    /// A thread or stream is idle until the first thread of its rank gives it work.
    Idle,
    /// A thread waits for an operation of another thread of its rank, which its calls do not show.
    Thread(LaneIdx),
}

/// The outermost call that can wait, with everything called in it; or an idle time. Times are on the common clock.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The time at which the call was entered.
    pub start: TimeNs,
    /// The time at which it was left.
    pub end: TimeNs,
    /// The call; for an idle time, the call that is open around it.
    pub call: ExecIdx,
    /// Its function.
    pub func: FuncId,
    /// Its call path.
    pub path: PathIdx,
    /// How it can wait.
    pub kind: OperationKind,
    /// The longest time range in it without any event.
    pub silence: Range<TimeNs>,
    /// The message events in it, as rows of the lane.
    pub(crate) rows: Range<u32>,
}

impl Operation {
    /// Returns the message events in it, as rows of the lane.
    pub fn rows(&self) -> Range<usize> {
        index(self.rows.start)..index(self.rows.end)
    }
}

/// An operation, by its lane and its index there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OperationRef {
    /// The lane.
    pub lane: LaneIdx,
    /// The index in [`crate::LaneSegments::operations`], in 32 bits: there are millions of references.
    number: u32,
}

impl OperationRef {
    /// Returns the reference to an operation of a lane.
    pub fn new(lane: LaneIdx, at: usize) -> Self {
        Self {
            lane,
            number: number(at),
        }
    }

    /// Returns the index in [`crate::LaneSegments::operations`].
    pub fn at(self) -> usize {
        index(self.number)
    }
}
