//! Processes the events of a file: rows with their calls, and relations between calls of different rows.

mod async_calls;
mod chrome_function;
mod collectives;
mod counter_sample;
mod event_recorder;
mod event_values;
mod flows;
mod gpu_facts;
mod launches;
mod own_file;
mod points;
mod rows;

pub(crate) use async_calls::AsyncCalls;
pub(crate) use collectives::MessageKernel;
pub(crate) use event_recorder::EventRecorder;
pub(crate) use flows::{FlowPoint, hops};
pub(crate) use gpu_facts::AwaitedWork;
pub(crate) use launches::{LaunchEnd, LaunchPair, on_axis};
pub(crate) use own_file::{OwnEventKind, OwnEvents};
pub(crate) use rows::{ChromeRow, ChromeRowKind, RowName, RowNumber, RowPlace};
