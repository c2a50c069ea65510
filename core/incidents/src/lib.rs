//! Incidents of a running job: executions of several ranks that stalled together, and their origin.
//!
//! ```text
//! StallSummary of every rank ─ IncidentBook ─ Excerpt: a small ─ Causes::of_stalls ─ JoinedIncident ─ documents
//! (with its step report)       (a window of   trace of stalls    (core/causes)
//!                               open steps)   and messages
//! ```
//!
//! The engine, the kinds of causes and their confidence are those of recorded runs (`core/causes`). The engine compares
//! the longest stall of each execution: the longest interval without any event on its thread while it was on top of the
//! stack. Instances report anomalies, and every other stall that is longer than all but one in a thousand gaps of its
//! rank: a stopped rank stalls such a number of others that none of them need be rare for the detector. Stall summaries
//! are too few to know what is usual, so a stall counts in full as delay unless a message explains it. A rank that
//! others waited for without a stall of its own was slow. If the messages of a call are unknown, the cause is unknown.
//!
//! Steps of different ranks cover different times, so stalls are joined across steps. An incident is written when every
//! live rank has reported the step after its last one, or after ten seconds; later reports change the document under
//! the same key. An incident whose stalls are all of one rank is not recorded.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod book;
mod document;
mod excerpt;
mod gaps;
mod joined_incident;
mod message_numbers;
mod names;
mod nested_calls;
mod open_steps;
mod record;
mod saved_reports;
mod stall_summary;

pub use book::{DueIncidents, IncidentBook};
pub use document::IncidentDocument;
pub use gaps::GapTracker;
pub use message_numbers::MessageNumbers;
pub use names::FunctionNames;
pub use open_steps::RankProgress;
pub use record::{
    INCIDENT_VERSION, IncidentHopRecord, IncidentMessageRecord, IncidentRecord, MessageEnd,
};
pub use saved_reports::ReportsPart;
pub use stall_summary::{
    MessageEntry, OwnTimeEntry, StallEntry, StallSummary, StallSummaryKey, bound_stall_summaries,
};
