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
//! ρ is the mean of f = Kα over free α (0 < α_i < u_i/C); with none free it is the middle of
//! [max f at the upper bound, min f at 0], and with only one of these sets the bound of that set.
//! The weighted ν-property holds: Σ u over rows of negative score ≤ C ≤ Σ u over support vectors.
//! A row with u_i = 0 is taken out but still scored; a row with u_i ≥ C never gets a negative score
//! (it is usually a free support vector, so its score is 0 up to rounding).
//!
//! # Method
//!
//! Equal rows are merged (their α is not unique, their sum is). Sequential minimal optimisation with
//! second-order working set selection (Fan, Chen, Lin 2005) comes near the solution; an active-set
//! method then solves the optimality conditions on the free rows by Cholesky and moves violators
//! until none is left. f is kept as a sum of numbers rounded to multiples of 2⁻⁵⁰, which is exact in
//! any order. So the scores depend on the problem alone: a warm start from other labels and a cold
//! start agree bit by bit. Kernel rows are computed when asked for and kept in a bounded cache; no
//! n × n matrix exists. Cost: about (support vectors + touched rows) × n × d, then iterations × n.
//!
//! # Why not a library
//!
//! linfa-svm 0.8 has no weights and no warm start, wants the whole dense kernel, and its shrinking
//! counts below zero on some inputs; libsvm and its Rust port have no weights either (only
//! scikit-learn's fork has), and cache the kernel in `f32`, which limits scores to about 3·10⁻⁸.
//! Without weights all three agree with this solver within their own tolerance. Mapping to
//! scikit-learn: `sample_weight = u`, `nu = C / Σ u`, `score = decision_function / C`.

mod active;
mod exp;
mod expansion;
mod kernel;
mod model;
mod params;
mod polish;
mod problem;
mod smo;
mod solver;

pub use model::{Ocsvm, SupportVector, Trained, train};
pub use params::{OcsvmParams, ValidOcsvmParams};
