//! The accuracy of the decision on simulated programs ([`crate::programs`]) on which no setting was chosen, as
//! Markdown.
//!
//! `cargo run --release -p callgrove-benches --bin program_study` prints it for all programs.

mod case;
mod folds;
mod runs;
mod tables;

pub use tables::program_study;
