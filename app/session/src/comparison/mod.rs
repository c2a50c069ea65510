//! The open run compared with an earlier one.

mod compared_run;

pub use compared_run::{COMPARED_ELSEWHERE, ComparedWith};
