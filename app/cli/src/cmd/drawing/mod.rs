//! Pictures and reports: what was found, for people without Callgrove.

pub(crate) mod draw;
mod input_hashes;
pub(crate) mod report;
pub(crate) mod session_wait;
