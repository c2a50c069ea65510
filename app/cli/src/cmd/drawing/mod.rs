//! Pictures and reports: what was found, for people without Callgrove.

mod input_hashes;
pub(crate) mod report;
pub(crate) mod session_wait;
