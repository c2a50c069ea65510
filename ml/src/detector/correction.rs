//! What labels say where they contradict the score.

use std::sync::Arc;

use callgrove_model::Label;

use super::params::CorrectionParams;
use crate::cholesky::Cholesky;
use crate::dataset::{Rows, dot};
use crate::ocsvm::{KernelSum, SupportVector, kernel_columns};

/// Labelled trees that carry the correction, at most; further ones still count through those.
const MAX_PIVOTS: usize = 256;
/// A labelled tree whose kernel the pivots explain up to this needs no pivot of its own.
const EXPLAINED: f64 = 1e-2;

/// A smooth function that is added to the scores of the one-class SVM.
///
/// # Problem
///
/// The weights of section 5.1 reach as far as the wide kernel of the one-class SVM, so one "normal"
/// for a slow tree takes truly anomalous neighbours along, and an "abnormal" teaches nothing where
/// the weight was small before. What a label says of its neighbourhood is the residual
///
/// ```text
/// r_i = max(m − s_i, 0)   labelled normal          s  score of the one-class SVM
///       min(−m − s_i, 0)  labelled abnormal        m  margin · mean |s|
/// ```
///
/// which is 0 where label and score agree. Kernel ridge regression of r on the labelled rows (the mean
/// of a Gaussian process, Rasmussen and Williams 2006, Eq. 2.25; kernel exp(−γ_c d²), noise σ²) carries
/// it over to all rows. Labels that agree hold the correction at 0 around them, those that contradict
/// each other in one place share it.
///
/// # Method
///
/// With many labels the regression runs on pivots (subset of regressors, same book section 8.3.1) that
/// a pivoted Cholesky decomposition picks; with few, all distinct labelled rows are pivots and it is
/// exact. L labels, m pivots, n trees: m n kernels, kept between trainings, L m² + n m additions.
/// No labels, or none that contradicts: zero.
#[derive(Clone, Debug, Default)]
pub struct Correction {
    gamma: f64,
    terms: Vec<Term>,
}

#[derive(Clone, Debug)]
struct Term {
    tree: usize,
    coefficient: f64,
    /// Kernels of this tree and all others, shape `[n_trees]`.
    column: Arc<[f32]>,
}

/// The labelled rows: places in the forest and residuals, in order of tree.
struct Residuals {
    trees: Vec<usize>,
    values: Vec<f64>,
}

impl Correction {
    /// No correction.
    pub(super) fn none() -> Self {
        Self::default()
    }

    /// The correction that `labels` ask for, of `scores` of the one-class SVM; both `[n_trees]`.
    pub(super) fn fit(
        rows: &Rows,
        gamma: f64,
        params: &CorrectionParams,
        scores: &[f64],
        labels: &[Option<Label>],
        warm: Option<&Self>,
    ) -> Self {
        let residuals = Residuals::new(params.margin, scores, labels);
        if residuals.values.iter().all(|&value| value == 0.0) {
            return Self {
                gamma,
                ..Self::none()
            };
        }
        let kept = warm.filter(|warm| warm.gamma.to_bits() == gamma.to_bits());
        let column_of = |tree: usize| {
            let known = kept.and_then(|warm| warm.terms.iter().find(|term| term.tree == tree));
            known.map_or_else(
                || Arc::from(kernel_columns(rows, gamma, &[tree]).swap_remove(0)),
                |term| Arc::clone(&term.column),
            )
        };
        let factor = Factor::new(&residuals.trees, column_of);
        let coefficients = factor.regress(&residuals.values, params.noise);
        let terms = factor
            .pivots
            .iter()
            .zip(factor.columns)
            .zip(coefficients)
            .map(|((&place, column), coefficient)| Term {
                tree: residuals.trees[place],
                coefficient,
                column,
            })
            .collect();
        Self { gamma, terms }
    }

    /// Adds the correction to `scores`, shape `[n_trees]`.
    pub(super) fn add_to(&self, scores: &mut [f64]) {
        for term in &self.terms {
            for (score, &kernel) in scores.iter_mut().zip(term.column.iter()) {
                *score += term.coefficient * f64::from(kernel);
            }
        }
    }

    /// What is needed to correct the scores of another run; `rows` are those of the training.
    pub fn model(&self, rows: &Rows) -> KernelSum {
        let terms = self.terms.iter().map(|term| SupportVector {
            alpha: term.coefficient,
            row: rows.row(term.tree).to_sparse(),
        });
        KernelSum {
            gamma: self.gamma,
            terms: terms.collect(),
        }
    }
}

impl Residuals {
    fn new(margin: f64, scores: &[f64], labels: &[Option<Label>]) -> Self {
        let size: f64 = scores.iter().map(|score| score.abs()).sum();
        let margin = margin * size / scores.len().max(1) as f64;
        let (trees, values) = labels
            .iter()
            .enumerate()
            .filter_map(|(tree, label)| match (*label)? {
                Label::Normal => Some((tree, (margin - scores[tree]).max(0.0))),
                Label::Abnormal => Some((tree, (-margin - scores[tree]).min(0.0))),
            })
            .unzip();
        Self { trees, values }
    }
}

/// A pivoted Cholesky factor G of the kernel matrix of the labelled rows, K ≈ G Gᵀ.
struct Factor {
    /// Places among the labelled rows, in the order they were picked.
    pivots: Vec<usize>,
    /// Their kernels with all trees.
    columns: Vec<Arc<[f32]>>,
    /// Columns of G, shape `[num_pivots][num_labelled]`.
    g: Vec<Vec<f64>>,
}

impl Factor {
    fn new(trees: &[usize], column_of: impl Fn(usize) -> Arc<[f32]>) -> Self {
        let mut unexplained = vec![1.0; trees.len()];
        let (mut pivots, mut columns): (Vec<usize>, Vec<Arc<[f32]>>) = (Vec::new(), Vec::new());
        let mut g: Vec<Vec<f64>> = Vec::new();
        while pivots.len() < MAX_PIVOTS {
            let worst = (0..trees.len())
                .reduce(|best, place| {
                    let is_worse = unexplained[place] > unexplained[best];
                    if is_worse { place } else { best }
                })
                .filter(|&place| unexplained[place] > EXPLAINED);
            let Some(pivot) = worst else {
                break;
            };
            let column = column_of(trees[pivot]);
            let scale = unexplained[pivot].sqrt();
            let next: Vec<f64> = (0..trees.len())
                .map(|place| {
                    let known: f64 = g.iter().map(|g| g[place] * g[pivot]).sum();
                    (f64::from(column[trees[place]]) - known) / scale
                })
                .collect();
            for (rest, value) in unexplained.iter_mut().zip(&next) {
                *rest -= value * value;
            }
            pivots.push(pivot);
            columns.push(column);
            g.push(next);
        }
        Self { pivots, columns, g }
    }

    /// Coefficients of the pivots' kernels: a = L⁻ᵀ (GᵀG + σ²I)⁻¹ Gᵀ r, with L the rows of G at the
    /// pivots, which is lower triangular.
    fn regress(&self, residuals: &[f64], noise: f64) -> Vec<f64> {
        let m = self.pivots.len();
        let normal: Vec<f64> = (0..m * m)
            .map(|place| {
                let (row, column) = (place / m, place % m);
                let ridge = if row == column { noise } else { 0.0 };
                dot(&self.g[row], &self.g[column]) + ridge
            })
            .collect();
        let rhs: Vec<f64> = self.g.iter().map(|g| dot(g, residuals)).collect();
        let mut a = Cholesky::new(&normal, m).solve(&rhs);
        for row in (0..m).rev() {
            let later: f64 = (row + 1..m)
                .map(|other| self.g[row][self.pivots[other]] * a[other])
                .sum();
            a[row] = (a[row] - later) / self.g[row][self.pivots[row]];
        }
        a
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows on a line, one after the other at distance 1.
    fn column(from: usize) -> Arc<[f32]> {
        let kernel = |to: usize| (-0.3 * from.abs_diff(to).pow(2) as f64).exp() as f32;
        (0..40).map(kernel).collect()
    }

    #[test]
    fn with_few_labels_it_is_the_mean_of_a_gaussian_process() {
        let trees = [1, 4, 5, 9, 30];
        let residuals = [0.5, -0.2, 0.3, 0.0, -1.0];
        let noise = 0.05;
        let factor = Factor::new(&trees, column);
        assert_eq!(factor.pivots.len(), trees.len());
        let a = factor.regress(&residuals, noise);
        let kernels: Vec<f64> = trees
            .iter()
            .flat_map(|&from| trees.map(|to| f64::from(column(from)[to])))
            .enumerate()
            .map(|(place, kernel)| kernel + if place % 6 == 0 { noise } else { 0.0 })
            .collect();
        let exact = Cholesky::new(&kernels, trees.len()).solve(&residuals);
        for (place, &pivot) in factor.pivots.iter().enumerate() {
            assert!((a[place] - exact[pivot]).abs() < 1e-6, "{a:?} {exact:?}");
        }
    }

    #[test]
    fn equal_rows_are_one_pivot_and_share_their_residuals() {
        let trees = [7, 7, 20];
        let factor = Factor::new(&trees, column);
        assert_eq!(factor.pivots, [0, 2]);
        let a = factor.regress(&[1.0, -1.0, 0.5], 0.05);
        assert!(a[0].abs() < 1e-6 && a[1] > 0.4, "{a:?}");
    }
}
