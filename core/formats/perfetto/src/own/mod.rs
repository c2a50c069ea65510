//! Files that Callgrove wrote: facts that other writers do not state.
//!
//! The description of a track states its kind: a lane, or findings, which are not part of the run. After the first such
//! track of a sequence, the source location with the number of a name has the full name of the function, and the
//! instants of the category `callgrove` contain facts that only this reader needs.

mod facts;
mod marks;

pub(crate) use facts::{OwnFact, OwnFactKind};
pub(crate) use marks::OwnTrack;
