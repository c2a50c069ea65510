//! Changes between two runs of a program, or between the halves of one, and their significance.
//!
//! ```text
//! calls ─ blocks of iterations ─ RunSamples ─┐
//!                                      ├─ SideComparison ─ RunChange, the costliest first
//! calls ─ blocks of iterations ─ RunSamples ─┘
//! ```
//!
//! # The unit
//!
//! The executions of a run are not independent: caches and clocks warm up, work drifts, a busy core slows neighbouring
//! iterations and all ranks at once. A test with executions as its unit finds differences between any two halves of any
//! run. The unit here is a block: consecutive iterations of all ranks, at most 16 blocks a run. A block's value
//! averages over its ranks, so a disturbance of all ranks counts once. The first block of a run is warm-up and is not
//! compared.
//!
//! # The rule
//!
//! A level (typical duration, calls per iteration, waiting time per iteration) has changed if
//!
//! 1. the exact rank-sum test of the blocks rejects equality, with a variance for the correlation of neighbouring
//!    blocks, corrected for all tests by Benjamini and Hochberg, and
//! 2. the ranges of the two sides' blocks are farther apart than either range is wide.
//!
//! The second condition is needed because the correlation can only be estimated, and not at all beyond the length of a
//! run. The parts of a run have the same program, input and machine, so a further run may differ by as much as they do.
//! A run is a range, not a number, and a change must leave the range. A run that drifts may drift as far again before
//! the next one begins, or in its second half, so the distance must exceed the width of the range. A steady drift makes
//! the halves of a run differ by exactly their own width, and is not a finding. One block in eight is left out at
//! either end of a range, since a single disturbance is an incident and says nothing about a level.
//!
//! # New and vanished
//!
//! A path or structure that one side lacks may be rare and absent by chance. Inside the iterations it is judged by the
//! blocks in which it occurs (Fisher's exact test): one in 1 of 16 blocks is expected in 1 of the other's 16 blocks,
//! and is absent there in every second pair of runs. Outside the iterations, where all happens once, the ranks are the
//! only repetition and are the unit.
//!
//! # Incidents
//!
//! Incidents of a kind are compared by their number per iteration (exact binomial test of the share of each side).
//! Where incidents come in groups, their counts are divided by the variance over the mean of the blocks
//! (quasi-Poisson). Their delays per iteration are compared by the rank-sum test of the blocks; of the two tests the
//! better one counts, times two.
//!
//! # Several runs a side
//!
//! Blocks of one run do not show what runs of one program differ by: with noise of 2 % from run to run, two of twelve
//! comparisons of one run with one other found a change that was none. From three runs of a side on, the unit is the run: `run_test.rs` has the test and
//! its reasons. New is then what all runs of the second side have and none of the first, judged by all their blocks; the
//! variance of numbers of incidents over their mean is that over blocks or that over runs, whichever is larger.
//!
//! # Limits
//!
//! With one run a side, a change of the machine between them cannot be distinguished from one of the program. Levels
//! outside the iterations are not compared, since there is one value of each a run.
//!
//! The result is deterministic and has no random numbers.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod change;
mod comparison;
mod correction;
mod dependence;
mod incidents;
mod level_test;
mod paths;
mod presence;
mod rank_sum;
mod run_test;
mod runs_of_side;
mod sampled_run;
mod side;

pub use change::{ChangeAspect, ChangeSubject, FALSE_DISCOVERIES, RunChange};
pub use comparison::{ComparisonUnit, MIN_RUNS, SideComparison};
pub use level_test::{LevelTest, MIN_BLOCKS, compare_levels, typical_ns};
pub use paths::{CallStructure, NameId, PathId, PathTable};
pub use sampled_run::SampledRun;
pub use side::{
    ALL_INCIDENTS, BlockSample, BlockSeries, FeaturePresence, IncidentSample, RunSamples,
};
