//! How well the decision holds on simulated programs ([`crate::programs`]) that nothing was chosen on, as Markdown.
//!
//! `cargo run --release -p callgrove-benches --bin program_study` prints it for all programs.

mod case;
mod folds;
mod runs;
mod tables;

pub use tables::program_study;
