//! The views of a running job and of its records, each a folder that no other folder uses.
//!
//! ```text
//! overview   ranks, functions and steps with their anomalies
//! profile    all functions
//! counters   all counters
//! records    a query of the provenance database, and its answer
//! record     one execution with its context
//! ```

pub mod counters;
pub mod overview;
pub mod profile;
pub mod record;
pub mod records;
