//! The repository's rules that no lint can check, as functions from files to findings.
//!
//! `tests/tidy.rs` applies each to the repository; the tests here show what each one catches.
//!
//! * [`repository`]: the files and crates that the rules check
//! * [`layers`]: which crate may use which
//! * [`manifests`]: lints, dependencies and their reasons
//! * [`sources`]: shape and wording of Rust files
//! * [`type_names`]: no public type name twice
//! * [`import_cycles`]: no import cycles between files
//! * [`folder_cycles`]: no import cycles between folders
//! * [`facade`]: no imports through the facade of a crate
//! * [`ratchets`]: numbers that may only improve
//! * [`purity`]: crates without access to the outside
//! * [`texts`]: crate map, named paths, linked headings, data folders, machines and hosts

pub mod facade;
mod finding;
pub mod folder_cycles;
pub mod import_cycles;
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
