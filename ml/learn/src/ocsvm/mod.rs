//! Weighted one-class support vector machine: Eq. 1 of the paper, solved exactly.
//!
//! # Problem
//!
//! Rows x_i (shape [n, d]) with weights u_i ≥ 0, RBF kernel K(x, y) = exp(−γ |x − y|²):
//!
//! ```text
//! min over w, ρ, ξ   1/2 |w|² − ρ + 1/C Σ u_i ξ_i      with  w·Φ(x_i) − ρ ≥ −ξ_i,  ξ_i ≥ 0     (1)
//! min over α         1/2 α'Kα                          with  0 ≤ α_i ≤ u_i/C,  Σ α_i = 1   (dual)
//! score(x) = Σ α_i K(x_i, x) − ρ,  negative = abnormal
//! ```
//!
//! ρ is the mean of f = Kα over free α (0 < α_i < u_i/C); if no α is free it is the middle of [max f at the upper
//! bound, min f at 0], and with only one of these sets the bound of that set. The weighted ν-property holds: Σ u over
//! rows of negative score ≤ C ≤ Σ u over support vectors. A row with u_i = 0 is excluded but still scored; a row with
//! u_i ≥ C never gets a negative score (it is usually a free support vector, so its score is 0 up to rounding).
//!
//! # Method
//!
//! Equal rows are merged (their α is not unique, their sum is). A cold start assigns α to rows of smallest f, eight
//! at a time, until Σ α = 1; most of them stay support vectors. Then rounds follow on *active* rows (all with α > 0
//! and some of smallest f; the others have α = 0), as in chunking (Osuna, Freund, Girosi 1997):
//!
//! 1. Sequential minimal optimisation with second-order working set selection (Fan, Chen, Lin 2005) on the kernel
//!    between active rows approaches the optimum.
//! 2. An active-set method solves the optimality conditions on the free rows by Cholesky and moves violators until
//!    none remain.
//! 3. The changes are added to f of all rows. Rows below ρ become active; the number of active rows at least doubles.
//!    Without such rows the solution is that of the complete problem.
//!
//! f is stored as a sum of numbers rounded to multiples of 2⁻⁵⁰, which is exact in any order. So the scores depend on
//! the problem alone: a warm start from other labels and a cold start agree bit by bit. Kernel values are sums in
//! order of columns without fused operations, so neither the vector width nor the rows that are computed together
//! change a bit.
//!
//! # Cost and memory
//!
//! With s support vectors, a of them free, and d numbers in a row: a cold start takes s n d operations for the kernel
//! (s ≈ C/u, so n² ν d), a label a n additions and a few rows of n d. SMO and polish use only about 1.5 s + 192 rows.
//! Complete kernel rows are cached in [`OcsvmParams::cache_bytes`] (512 MiB by default: all rows of 5,792 trees,
//! 1,342 rows of 50,000, where a label takes three times as long with half of it), parts of rows between active rows
//! in a quarter of that; the least recently used row is evicted. The polish stores the parts of the free rows in
//! addition. There is no n × n matrix.
//!
//! The cost of a cold start grows with the square of the rows. Beyond 20,000 different ones [`train_on_anchors`] uses
//! some 4,000 that represent all.
//!
//! # Comparison with libraries
//!
//! linfa-svm 0.8 has no weights and no warm start, needs the full dense kernel, and its shrinking counts below zero
//! on some inputs; libsvm and its Rust port have no weights either (only scikit-learn's fork has), and cache the
//! kernel in `f32`, which limits scores to about 3·10⁻⁸. Without weights all three agree with this solver within
//! their own tolerance. Mapping to scikit-learn: `sample_weight = u`, `nu = C / Σ u`, `score = decision_function /
//! C`.

#![expect(
    clippy::inline_always,
    reason = "loops get the wide vectors of their caller only if they become part of it"
)]

mod active_rows;
mod anchors;
mod exp;
mod expansion;
mod kernel;
mod kernel_sum;
mod model;
mod on_anchors;
mod params;
mod polish;
mod problem;
mod row_sums;
mod smo;
mod solver;

pub use anchors::Anchors;
pub use exp::exp_of_negative;
pub use kernel_sum::kernel_columns;
pub use kernel_sum::{KernelSum, SupportVector};
pub use model::{Ocsvm, Scorer, Trained, train};
pub use on_anchors::train_on_anchors;
pub use params::{OcsvmParams, ValidOcsvmParams};
