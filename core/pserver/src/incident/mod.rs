//! Incidents: anomalies of several ranks that belong together, and where they came from, while the run goes on.
//!
//! ```text
//! StepBrief of every rank ─ IncidentBook ─┬─ MessageEnds: SEND and RECV of one number are mates
//! (with its step report)    (a window of  ├─ WaitLinks: who stood because of whom
//!                            open steps)  └─ joined: overlap and links make incidents, links lead to the root ─ documents
//! ```
//!
//! What is compared is the longest time in which an anomaly stood: nothing happened on its thread though it was on top of
//! the stack. The rules are those of the crate for recorded runs (`core/patterns`), as far as anomalies and the messages
//! around them tell: a call waited for the peer that came last if that was in the latter half of its time; else, where a
//! message connects two ranks that stood together, the one that fell silent first is what the other waited for. The
//! clocks of hosts are taken as they are.
//!
//! The steps of two ranks cover different times, so anomalies are joined across steps. An incident is told when every
//! live rank has told the step after its last one, or has kept it waiting for ten seconds; whatever comes later changes
//! the document under the same key.

mod book;
mod brief;
mod document;
mod join;
mod link;
mod message_ends;
#[cfg(test)]
mod tests;

pub(crate) use book::{IncidentBook, RankProgress};
pub(crate) use brief::bound_briefs;
pub use brief::{AnomalyBrief, BriefKey, MessageBrief, StepBrief};
pub use document::IncidentDocument;
