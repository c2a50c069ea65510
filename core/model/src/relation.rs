//! Facts about calls that a format states: who takes part in a collective, who launched work on a GPU, how much a call
//! moves, and which calls wait for a GPU.

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

/// The number of bytes that a call moves: a copy, a memory set or a collective.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CallSize {
    /// The lane of the call.
    pub lane: LaneIdx,
    /// The entry of the call.
    pub time: TimeNs,
    /// Number of bytes.
    pub bytes: u64,
}

/// A call of the host that returns only when work of a GPU has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DeviceWait {
    /// The lane of the call.
    pub lane: LaneIdx,
    /// The entry of the call.
    pub time: TimeNs,
    /// The stream whose work it waits for, or `None` for all streams of its process. The work of a stream that overlaps
    /// may be on several lanes; this is the first of them.
    pub stream: Option<LaneIdx>,
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

/// A [`CallSize`] as a reader delivers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SizeEvent {
    /// The thread or stream of the call.
    pub thread: ThreadId,
    /// The entry of the call.
    pub time: TimeNs,
    /// Number of bytes.
    pub bytes: u64,
}

/// A [`DeviceWait`] as a reader delivers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DeviceWaitEvent {
    /// The thread of the call.
    pub thread: ThreadId,
    /// The entry of the call.
    pub time: TimeNs,
    /// The stream whose work it waits for, or `None` for all streams of its process.
    pub stream: Option<ThreadId>,
}
