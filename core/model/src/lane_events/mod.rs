//! Events within the executions of a lane: messages and counter samples, and exits on another lane.

mod comms;
mod counters;
mod moved_exits;
mod waiting;

pub use comms::{CommRef, Comms};
pub use counters::Counters;
pub(crate) use moved_exits::pair_moved_exits;
pub(crate) use waiting::WaitingEvents;
