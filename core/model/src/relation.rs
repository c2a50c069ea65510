//! Relations between calls that a format states: who takes part in a collective, and who launched work on a GPU.

use crate::id::{LaneIdx, ThreadId};
use crate::time::TimeNs;

/// A call that takes part in a collective operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CollectiveMember {
    /// The lane.
    pub lane: LaneIdx,
    /// A time within the call.
    pub time: TimeNs,
    /// Identifies the communicator or process group in the whole run.
    pub communicator: u64,
    /// The number of the operation in its communicator, equal for all that take part.
    pub sequence: u64,
}

/// The launch of a call on a stream of a GPU, or on another thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Launch {
    /// The lane of the call.
    pub lane: LaneIdx,
    /// The entry of the call.
    pub time: TimeNs,
    /// The lane that launched it.
    pub by: LaneIdx,
    /// Time of the launch.
    pub launched: TimeNs,
}

/// A [`CollectiveMember`] as a reader delivers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CollectiveEvent {
    /// The thread or stream.
    pub thread: ThreadId,
    /// A time within the call.
    pub time: TimeNs,
    /// Identifies the communicator or process group in the whole run.
    pub communicator: u64,
    /// The number of the operation in its communicator, equal for all that take part.
    pub sequence: u64,
}

/// A [`Launch`] as a reader delivers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LaunchEvent {
    /// The stream or thread of the call.
    pub thread: ThreadId,
    /// The entry of the call.
    pub time: TimeNs,
    /// The thread that launched it.
    pub by: ThreadId,
    /// Time of the launch.
    pub launched: TimeNs,
}
