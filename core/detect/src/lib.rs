//! Mergeable statistics of execution times, and the detectors on top of them: excess, our own, and HBOS, SSTD and COPOD
//! as users of Chimbuko know them.
//!
//! ```text
//! times of a step ─ FuncModel::extend ─ FuncModel::merge ─ Judge::new ─ Judge::judge ─ Verdict
//!             Moments, Histogram, Contexts  steps, ranks        once a step   every execution
//! ```
//!
//! Times are integer microseconds. A step is judged by the model that includes it, so the first executions of a run are
//! judged by one another.
//!
//! ```
//! use callgrove_detect::{FuncModel, Judge, Params};
//!
//! # fn main() -> Result<(), callgrove_detect::DetectError> {
//! let params = Params::from_json(r#"{"algorithm": "hbos", "hbos_thres": 0.99}"#)?.check()?;
//! let mut model = FuncModel::new(&params);
//! let mut step = vec![1_000; 49];
//! step.push(100_000);
//! model.extend(&step);
//! let judge = Judge::new(&model, &params, None);
//! model.raise_threshold(judge.threshold());
//! assert!(judge.judge(100_000).is_outlier && !judge.judge(1_000).is_outlier);
//! # Ok(())
//! # }
//! ```
//!
//! # The detectors
//!
//! **Excess** ([`Algorithm::Excess`], the default) finds executions that took improbably long for their caller,
//! weighted by their cost. Its score is −log₁₀ of the probability, and 0 for usual executions. `excess.rs` describes
//! the rule, and `docs/method.md` its accuracy.
//!
//! The others judge a function regardless of its caller. With n executions of it so far:
//!
//! - **HBOS**: score −log₂(p + α), where p is the share of the executions in the same bin and α = 78.88·10⁻³² limits
//!   scores to 100. Bins are those of the [`Histogram`], coarsened until at most 2 ∛n are occupied and at most 64 per
//!   octave, so that short runs are not all singletons.
//! - **COPOD**: l and r are −log₂ of the shares that took at most, and at least, as long; the score is that of the tail
//!   to which the distribution is skewed, or (l + r) / 2 if that is larger. PyOD takes natural logarithms; bits are
//!   comparable with HBOS.
//! - **SSTD**: score |v − µ| / s; outliers are those above `sstd_sigma`.
//!
//! With HBOS and COPOD an execution is an outlier if both conditions hold:
//!
//! 1. Its score is in "the top 1 %", which has two readings: above 99 % of the range of scores, as
//!    Chimbuko computes it, or among the at most 1 % of executions with the highest scores. The lower
//!    threshold counts. With `glob_thres` it never falls from step to step
//!    ([`FuncModel::raise_threshold`]).
//! 2. It is isolated: within 1.6 times the half width of the body around it, there are at most as many executions as
//!    may be outliers. These are 1 % of n, above 10,000 executions 1 % of √(10,000 n), but always two, or n / 16 if
//!    that is less. The body is the densest 90 %, on the side of the median where the execution is.
//!
//! The 1 % is 1 − `hbos_thres`. Chimbuko only has the first reading, which flags the rarest bins of any function, even
//! without outliers: on short data, thousands at the ends of ordinary tails.
//!
//! # Accuracy of these three
//!
//! On generated runs of 50 functions (one to three modes, narrow and long-tailed, constant), where
//! outliers take 4 to 40 times as long as the longest mode, judged step by step; precision and recall.
//! Chimbuko's rule is its definition on the same calls, without the errors that it makes in rebinning.
//!
//! | run | outliers | HBOS | COPOD | SSTD | Chimbuko's HBOS |
//! |---|---|---|---|---|---|
//! | 2,000,000 calls, 20 steps | 1,070 | .99, .86 | 1.00, .86 | .85, .96 | .66, .90 |
//! | ten of 100,000 calls, 10 steps | 418 | .99, .85 | 1.00, .85 | .67, .96 | .01, .99 |
//! | ten of 10,000 calls, 4 steps | 218 | .95, .82 | .95, .82 | .90, .87 | .01, 1.00 |
//!
//! Most of what HBOS misses in the long run is in functions whose ordinary executions sometimes take several times
//! their typical time, as long as the missed ones. The figures are those of `cargo test -p callgrove-detect --test
//! evaluation -- --nocapture`.

#![cfg_attr(
    not(test),
    warn(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_lossless
    )
)]

mod contexts;
mod copod;
mod error;
mod excess;
mod grid;
mod hbos;
mod histogram;
mod isolation;
mod judge;
mod lookup;
mod model;
mod moments;
mod params;
mod power_sums;
mod recent_p_values;
mod run_stats;
mod threshold;
mod tree_judge;
mod verdict;
mod wide;

pub use contexts::{CallerKey, ContextPart, Contexts, same_epoch};
pub use error::{DetectError, Result};
pub use excess::CallsInRow;
pub use histogram::{Bin, Histogram};
pub use judge::Judge;
pub use model::{Distribution, FuncModel};
pub use moments::Moments;
pub use params::{Algorithm, Params, ValidParams};
pub use recent_p_values::RecentPValues;
pub use run_stats::RunStats;
pub use threshold::RunningThreshold;
pub use tree_judge::{TreeJudge, TreeModelReader, TreeVerdict};
pub use verdict::{USUAL_SCORE, Verdict};
