//! The open run compared with an earlier one.

mod compared_run;
mod usual_pair;

pub use compared_run::{COMPARED_ELSEWHERE, ComparedWith};
pub use usual_pair::UsualPair;
