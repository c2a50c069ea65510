//! Who did it, and what recurs: wait states, causes and incidents across ranks; recurring patterns of events and
//! how long they usually take.

pub mod cause;
pub mod pattern;
