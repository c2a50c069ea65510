//! Changes between two runs, or between the halves of one.
//!
//! ```text
//! Trace ─ iterations, incidents ─ blocks ─ collect ─ RunSamples ─┐
//!                                                          ├─ SideComparison ─ rows, sentences
//! Trace ─ iterations, incidents ─ blocks ─ collect ─ RunSamples ─┘
//! ```
//!
//! `callgrove_compare` holds the statistics and their reasons.

mod blocks;
mod collect;
mod comparison;
mod rows;
mod text;

pub use blocks::ComparedPart;
pub use collect::unplaced_name;
pub use comparison::{ComparedRun, RunComparison};
pub use rows::ChangeRow;
