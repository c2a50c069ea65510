//! The views of what was found in a run, each a folder that no other folder uses.
//!
//! ```text
//! incidents   delays that spread, and trends, by cost
//! patterns    recurring call sequences, and occurrences that took too long
//! waits       which rank waits for which, and why
//! changes     what changed from an earlier run
//! ```

pub mod changes;
pub mod incidents;
pub mod patterns;
pub mod waits;
