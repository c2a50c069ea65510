//! Files that Callgrove wrote: what they state beyond what other writers do.
//!
//! The description of a track says what it is: a lane, or findings, which are no part of the run. After the first such
//! track of a sequence, the source location with the number of a name has the full name of the function, and the
//! instants of the category `callgrove` have what only this reader needs.

mod facts;
mod marks;

pub(crate) use facts::{OwnFact, OwnFactKind};
pub(crate) use marks::OwnTrack;
