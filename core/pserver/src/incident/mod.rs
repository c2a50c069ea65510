//! Incidents: executions of several ranks that stood together, and where that came from, while the run goes on.
//!
//! ```text
//! StepBrief of every rank ─ IncidentBook ─┬─ MessageEnds: SEND and RECV of one number are mates
//! (with its step report)    (a window of  ├─ WaitLinks: who stood because of whom
//!                            open steps)  └─ joined: overlap and links make incidents, links lead to the root ─ documents
//! ```
//!
//! What is compared is the longest time in which an execution stood: nothing happened on its thread while it was on top
//! of the stack. Anomalies are told, and whatever else stood longer than all but one in a thousand gaps of its rank: who is
//! stopped makes so many others stand that none of them need be rare for the detector. The rules are those of the crate
//! for recorded runs (`core/patterns`), as far as these executions and the messages around them tell: a call waited for
//! the peer that came last if that was in the latter half of its time; else, where a message connects two ranks that stood
//! together, the one that fell silent first is what the other waited for. The clocks of hosts are taken as they are.
//! Collectives have no messages: where all wait in one, there is no root.
//!
//! The steps of two ranks cover different times, so they are joined across steps. An incident is told when every
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
pub use brief::{BriefKey, MessageBrief, OwnTimeBrief, StepBrief, StoodBrief};
pub use document::IncidentDocument;
