//! Events within the executions of a lane: messages and counter samples.

mod comms;
mod counters;
mod pending;

pub use comms::{CommRef, Comms};
pub use counters::Counters;
pub(crate) use pending::PendingEvents;
