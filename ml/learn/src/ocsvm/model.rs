//! A trained one-class SVM.

use callgrove_model::Progress;
use serde::{Deserialize, Serialize};

use super::expansion::Expansion;
use super::kernel::{Kernel, RowCache};
use super::kernel_sum::{PreparedSum, SupportVector};
use super::params::ValidOcsvmParams;
use super::problem::Problem;
use super::row_sums::RowSums;
use super::solver::solve;
use callgrove_trees::dataset::{Rows, SparseRows};
use callgrove_trees::error::Result;

/// A trained one-class SVM, with everything needed to score rows of another run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ocsvm {
    /// Kernel width γ.
    pub gamma: f64,
    /// Offset ρ.
    pub rho: f64,
    /// Rows with α > 0.
    pub support: Vec<SupportVector>,
}

/// The result of a training: scores of the training rows, and the state for a warm start.
#[derive(Clone, Debug)]
pub struct Trained {
    pub(super) params: ValidOcsvmParams,
    pub(super) state: TrainingState,
    /// α of the training rows.
    pub(super) alpha: Vec<f64>,
    pub(super) rho: f64,
    pub(super) scores: Vec<f64>,
}

/// The state of a training, from which the next one continues.
#[derive(Clone, Debug)]
pub(super) enum TrainingState {
    Exact {
        problem: Problem,
        expansion: Expansion,
        cache: RowCache,
    },
    OnAnchors(RowSums),
}

/// Solves Eq. 1 for `rows` with `weights` u.
///
/// `warm` is a training on the same rows with other weights: it saves time and does not change the result, not even
/// the last bit. One with another γ or number of rows is not used.
///
/// # Errors
/// An error for weights that are not finite, negative, all zero, or sum to less than C; [`Cancelled`].
///
/// [`Cancelled`]: callgrove_trees::MlError::Cancelled
pub fn train(
    rows: &Rows,
    weights: &[f64],
    params: &ValidOcsvmParams,
    warm: Option<&Trained>,
    progress: Progress<'_>,
) -> Result<Trained> {
    let known = warm
        .filter(|warm| warm.is_of(rows, params))
        .and_then(|warm| match &warm.state {
            TrainingState::Exact {
                problem,
                expansion,
                cache,
            } => Some((problem.clone(), expansion.clone(), cache.clone())),
            TrainingState::OnAnchors(_) => None,
        });
    let (problem, mut expansion, mut cache) = known.unwrap_or_else(|| {
        let problem = Problem::new(rows, params.gamma());
        let num_distinct = problem.num_distinct();
        let cache = RowCache::new(num_distinct, params.cache_bytes());
        (problem, Expansion::zero(num_distinct), cache)
    });
    let bounds = problem.bounds(weights, params)?;
    let kernel = Kernel {
        rows,
        problem: &problem,
        gamma: params.gamma(),
    };
    let rho = solve(
        kernel,
        &mut cache,
        params.cache_bytes() / 4,
        &bounds,
        &mut expansion,
        progress.part(0.0, 0.95),
    )?;
    let f = expansion.all_f();
    let alpha = distribute(
        &problem,
        expansion.alpha(),
        &bounds.upper,
        weights,
        params.c(),
    );
    let scores = (0..rows.len())
        .map(|row| f[problem.distinct_of(row)] - rho)
        .collect();
    progress.at(1.0)?;
    Ok(Trained {
        params: *params,
        state: TrainingState::Exact {
            problem,
            expansion,
            cache,
        },
        alpha,
        rho,
        scores,
    })
}

impl Trained {
    /// Returns the scores of the training rows: negative = abnormal. Free support vectors have 0 up to rounding, so
    /// signs are meaningless below 10⁻⁶.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Returns α of the training rows; equal rows share theirs in proportion to their weights.
    pub fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    /// Returns the offset ρ.
    pub fn rho(&self) -> f64 {
        self.rho
    }

    /// Returns whether it is a training on the same number of rows with the same kernel.
    pub(super) fn is_of(&self, rows: &Rows, params: &ValidOcsvmParams) -> bool {
        self.alpha.len() == rows.len() && self.params.gamma().to_bits() == params.gamma().to_bits()
    }

    /// Returns the support vectors: rows, of equal ones the first, with α.
    pub(super) fn support(&self) -> Vec<(usize, f64)> {
        match &self.state {
            TrainingState::Exact {
                problem, expansion, ..
            } => {
                let alpha = expansion.alpha().iter().enumerate();
                let support = alpha.filter(|&(_, &alpha)| alpha > 0.0);
                let row_of = |(distinct, &alpha)| (problem.row_of(distinct), alpha);
                support.map(row_of).collect()
            }
            TrainingState::OnAnchors(sums) => sums.factors().collect(),
        }
    }

    /// Returns the model without the state for a warm start; `rows` are those it was trained on.
    pub fn model(&self, rows: &Rows) -> Ocsvm {
        let vector = |(row, alpha)| SupportVector {
            alpha,
            row: rows.row(row).to_sparse(),
        };
        Ocsvm {
            gamma: self.params.gamma(),
            rho: self.rho,
            support: self.support().into_iter().map(vector).collect(),
        }
    }
}

/// Maximum rounding error of Σ α, and of a score relative to ρ.
const ROUNDING: f64 = 1e-6;

impl Ocsvm {
    /// Returns whether it can be the solution of Eq. 1 on some rows: γ ≥ 0, all α > 0 with sum 1, and the conditions
    /// of the optimum at its support vectors, f ≤ ρ for all and ρ no larger than twice the largest f. (ρ is the f of
    /// those between their bounds; without any, it is above the largest.) One kernel for each two support
    /// vectors.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::BadNumber`] if a support vector is not finite, [`callgrove_trees::MlError::Cancelled`].
    pub fn is_optimal(&self, num_columns: usize, progress: Progress<'_>) -> Result<bool> {
        let alphas = || self.support.iter().map(|term| term.alpha);
        let sum: f64 = alphas().sum();
        let is_possible = self.gamma.is_finite()
            && self.gamma >= 0.0
            && alphas().all(|alpha| alpha > 0.0)
            && (sum - 1.0).abs() <= ROUNDING
            && self.rho > 0.0
            && self.rho <= 1.0 + ROUNDING;
        if !is_possible {
            return Ok(false);
        }
        let support = self.support.iter().map(|term| term.row.clone());
        let support = Rows::Sparse(SparseRows::new(num_columns, support)?);
        let scores = self.scores(&support, progress)?;
        let largest = scores.into_iter().fold(f64::NEG_INFINITY, f64::max);
        Ok((-self.rho / 2.0..=ROUNDING * self.rho.max(ROUNDING)).contains(&largest))
    }

    /// Returns the scores of rows: negative = abnormal. A row of the training gets its training score.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::BadNumber`] if a support vector is not finite, [`callgrove_trees::MlError::Cancelled`].
    pub fn scores(&self, rows: &Rows, progress: Progress<'_>) -> Result<Vec<f64>> {
        self.scorer(rows.num_columns())?.scores(rows, progress)
    }

    /// Prepares the SVM for rows of `num_columns` columns.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::BadNumber`] if a support vector is not finite.
    pub fn scorer(&self, num_columns: usize) -> Result<Scorer> {
        let (gamma, rho) = (self.gamma, self.rho);
        let sums = PreparedSum::new(gamma, &self.support, num_columns)?;
        Ok(Scorer { sums, rho })
    }
}

/// A one-class SVM that is prepared to score rows in small batches.
#[derive(Debug)]
pub struct Scorer {
    sums: PreparedSum,
    rho: f64,
}

impl Scorer {
    /// Returns the scores of rows, as [`Ocsvm::scores`].
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::Cancelled`].
    pub fn scores(&self, rows: &Rows, progress: Progress<'_>) -> Result<Vec<f64>> {
        let mut scores = self.sums.at(rows, progress)?;
        for score in &mut scores {
            *score -= self.rho;
        }
        Ok(scores)
    }
}

fn distribute(
    problem: &Problem,
    alpha: &[f64],
    upper: &[f64],
    weights: &[f64],
    c: f64,
) -> Vec<f64> {
    weights
        .iter()
        .enumerate()
        .map(|(row, weight)| {
            let distinct = problem.distinct_of(row);
            let bound = weight / c;
            if bound > 0.0 {
                alpha[distinct] * (bound / upper[distinct])
            } else {
                0.0
            }
        })
        .collect()
}
