//! The task `lab`: real jobs with injected faults, and how well the program finds the faults.
//!
//! The jobs are Python programs in `tests/lab`. They need software that few machines have, so jobs whose requirements
//! are missing are left out, with the remedy.

mod machine;
mod programs;
mod score;
mod task;

pub(crate) use task::run;
