//! Changes between two runs, between several runs a side, or between the halves of one.
//!
//! ```text
//! Trace ─ iterations, incidents ─ blocks ─ collect ─ SampledRun ─┐
//!                                      a file of runs ─ SampledRun ─┼─ SideComparison ─ rows, sentences
//! Trace ─ iterations, incidents ─ blocks ─ collect ─ SampledRun ─┘
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
pub use comparison::{COMPARED_SIDES, ComparedRun, RunComparison};
pub use rows::ChangeRow;
