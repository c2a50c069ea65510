//! The rows of a run's calls, messages and events, in batches that are made while they are read.

mod calls;
mod events;
mod messages;
mod reader;

pub(crate) use calls::CallRows;
pub(crate) use events::Events;
pub(crate) use messages::Messages;
pub(crate) use reader::{LaneFilter, reader};
