//! The facts that events and files state under the keys of the format.

mod arguments;
mod category;
mod file_facts;
mod trace_event;

pub(crate) use arguments::{
    CallArguments, CollectiveFacts, PartnerMessage, UNSTATED_COMMUNICATOR, UNSTATED_EXCHANGE,
};
pub(crate) use category::{ChromeCallKind, is_launch_flow};
pub(crate) use file_facts::{FileFacts, for_members};
pub(crate) use trace_event::TraceEvent;
