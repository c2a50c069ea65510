//! The house rules that no lint can check, as functions from files to findings.
//!
//! `tests/tidy.rs` applies each to the repository; the tests in here show what each one catches.
//!
//! * [`repository`]: what the rules look at
//! * [`layers`]: which crate may use which
//! * [`manifests`]: lints, dependencies and their reasons
//! * [`sources`]: shape and words of Rust files
//! * [`type_names`]: no public type name twice
//! * [`circles`]: no files that need each other
//! * [`ratchets`]: numbers that may only get better
//! * [`purity`]: crates that touch nothing outside
//! * [`texts`]: crate map, named paths, linked headings, data folders, machines and hosts

pub mod circles;
mod finding;
pub mod layers;
pub mod manifests;
mod prose;
pub mod purity;
pub mod ratchets;
pub mod repository;
pub mod sources;
pub mod texts;
mod tokens;
pub mod type_names;

pub use finding::{Finding, assert_none};
pub use repository::{Member, Repository, TextFile};
