//! Incidents: executions of several ranks that stalled together, and where that came from, while the run goes on.
//!
//! ```text
//! StepBrief of every rank ─ IncidentBook ─ Excerpt: a small ─ Causes::of_stalls ─ JoinedIncident ─ documents
//! (with its step report)    (a window of   trace of stalls    (core/patterns)
//!                            open steps)   and messages
//! ```
//!
//! The engine is that of recorded runs (`core/patterns`), and so are the kinds of causes and their confidence. What is compared is
//! the longest time in which an execution stalled: nothing happened on its thread while it was on top of the stack. Anomalies
//! are reported, and all else that stalled longer than all but one in a thousand gaps of its rank: a rank that is stopped
//! makes so many others stall that none of them need be rare for the detector. The briefs are too few to say what is
//! usual, so all of a stall is a delay that no message explains; and a rank that was waited for without a stall of its own
//! was slow. Where the messages of a call are not known, the cause is unknown.
//!
//! The steps of two ranks cover different times, so they are joined across steps. An incident is written when every
//! live rank has reported the step after its last one, or has kept it waiting for ten seconds; what comes later changes
//! the document under the same key. An incident whose stalls are all of one rank is not recorded.

mod book;
mod brief;
mod document;
mod excerpt;
mod joined;
mod nested_calls;
#[cfg(test)]
mod tests;

pub(crate) use book::{IncidentBook, RankProgress};
pub(crate) use brief::bound_briefs;
pub use brief::{BriefKey, MessageBrief, OwnTimeBrief, StallBrief, StepBrief};
pub use document::IncidentDocument;
