//! Messages of XPlane files, read in pieces.

mod event;
mod message_stream;
mod probe;

pub(crate) use event::{PlaneEvent, StatValue, stat};
pub(crate) use message_stream::{FieldHead, HeadValue, MessageStream, StreamFault};
pub(crate) use probe::begins_with_plane;
