//! Pictures and reports: what was found, for people without Callgrove.

pub(crate) mod draw;
pub(crate) mod report;
pub(crate) mod session_wait;
