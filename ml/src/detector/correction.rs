//! What labels say where they contradict the score.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_model::Label;

use super::params::CorrectionParams;
use crate::cholesky::Cholesky;
use crate::dataset::{Rows, dot};
use crate::ocsvm::{KernelSum, SupportVector, kernel_columns};
use crate::real::Real;

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
/// Trees without a label that are called normal have a say, too: each is an observation of r = 0 with
/// weight λ. So one "abnormal" among thousands of trees alike moves none of them but itself, one
/// among a few moves those, and the more such labels, the more. A tree that is called abnormal has none:
/// to say of one of them that it is normal is what labels are for.
///
/// # Method
///
/// With many labels the regression runs on pivots (subset of regressors, same book section 8.3.1) that
/// a pivoted Cholesky decomposition picks; with few, all distinct labelled rows are pivots and it is
/// exact. L labels, m pivots, n trees: m n kernels and m² n products, kept between trainings, and
/// L m² + n m additions.
/// No labels, or none that contradicts: zero.
#[derive(Clone, Debug, Default)]
pub struct Correction {
    gamma: f64,
    terms: Vec<Term>,
    /// Products of two pivots' columns over the unlabelled trees that are called normal; the smaller tree
    /// first.
    products: Arc<BTreeMap<(usize, usize), f64>>,
}

#[derive(Clone, Debug)]
struct Term {
    tree: usize,
    coefficient: f64,
    /// Kernels of this tree and all others, shape `[n_trees]`.
    column: Arc<[f64]>,
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

    /// The correction that `labels` ask for, of `scores` of the one-class SVM; `evidence` says which trees
    /// are called normal before any label. All have shape `[n_trees]`.
    pub(super) fn fit(
        rows: &Rows,
        gamma: f64,
        params: &CorrectionParams,
        scores: &[f64],
        evidence: &[bool],
        labels: &[Option<Label>],
        warm: Option<&Self>,
    ) -> Self {
        let residuals = Residuals::new(params.margin, scores, labels);
        let kept = warm.filter(|warm| warm.gamma.to_bits() == gamma.to_bits());
        if residuals.values.iter().all(|&value| value == 0.0) {
            return Self {
                gamma,
                products: kept
                    .map(|warm| Arc::clone(&warm.products))
                    .unwrap_or_default(),
                ..Self::none()
            };
        }
        let column_of = |tree: usize| {
            let known = kept.and_then(|warm| warm.terms.iter().find(|term| term.tree == tree));
            known.map_or_else(
                || Arc::from(kernel_columns(rows, gamma, &[tree]).swap_remove(0)),
                |term| Arc::clone(&term.column),
            )
        };
        let factor = Factor::new(&residuals.trees, column_of);
        let mut products = kept
            .map(|warm| Arc::clone(&warm.products))
            .unwrap_or_default();
        let weighed = factor.weigh(&residuals.trees, evidence, Arc::make_mut(&mut products));
        let coefficients =
            factor.regress(&residuals.values, params.noise, params.evidence, &weighed);
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
        Self {
            gamma,
            terms,
            products,
        }
    }

    /// Adds the correction to `scores`, shape `[n_trees]`, term by term as [`KernelSum::add_to`] does.
    pub(super) fn add_to(&self, scores: &mut [f64]) {
        for term in &self.terms {
            for (score, &kernel) in scores.iter_mut().zip(term.column.iter()) {
                *score += term.coefficient * kernel;
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
        let margin = margin * size / scores.len().max(1).real();
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
    columns: Vec<Arc<[f64]>>,
    /// Columns of G, shape `[num_pivots][num_labelled]`.
    g: Vec<Vec<f64>>,
}

impl Factor {
    fn new(trees: &[usize], column_of: impl Fn(usize) -> Arc<[f64]>) -> Self {
        let mut unexplained = vec![1.0; trees.len()];
        let (mut pivots, mut columns): (Vec<usize>, Vec<Arc<[f64]>>) = (Vec::new(), Vec::new());
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
                    (column[trees[place]] - known) / scale
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

    /// Products of all pairs of pivots' columns over the trees of `evidence`, shape [num_pivots,
    /// num_pivots]; `known` are those of former trainings and takes the new ones.
    fn weigh(
        &self,
        trees: &[usize],
        evidence: &[bool],
        known: &mut BTreeMap<(usize, usize), f64>,
    ) -> Vec<f64> {
        let m = self.pivots.len();
        let mut products = vec![0.0; m * m];
        for row in 0..m {
            for column in 0..=row {
                let (a, b) = (trees[self.pivots[row]], trees[self.pivots[column]]);
                let product = *known.entry((a.min(b), a.max(b))).or_insert_with(|| {
                    let pairs = self.columns[row].iter().zip(self.columns[column].iter());
                    let counted = pairs.zip(evidence).filter(|&(_, &is_evidence)| is_evidence);
                    counted.map(|((a, b), _)| a * b).sum()
                });
                products[row * m + column] = product;
                products[column * m + row] = product;
            }
        }
        products
    }

    /// Coefficients of the pivots' kernels: a = L⁻ᵀ (GᵀG + λ L⁻¹ P L⁻ᵀ + σ²I)⁻¹ Gᵀ r, with L the rows of G
    /// at the pivots, which is lower triangular, and P the products of [`Factor::weigh`].
    fn regress(&self, residuals: &[f64], noise: f64, evidence: f64, products: &[f64]) -> Vec<f64> {
        let m = self.pivots.len();
        let unlabelled = self.solve_both_sides(products);
        let normal: Vec<f64> = (0..m * m)
            .map(|place| {
                let (row, column) = (place / m, place % m);
                let ridge = if row == column { noise } else { 0.0 };
                dot(&self.g[row], &self.g[column]) + evidence * unlabelled[place] + ridge
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

    /// L⁻¹ P L⁻ᵀ of a symmetric P, shape [num_pivots, num_pivots].
    fn solve_both_sides(&self, products: &[f64]) -> Vec<f64> {
        let m = self.pivots.len();
        let mut solved = products.to_vec();
        // Twice from the left; P is symmetric, so the transpose in between stands for the right side.
        for _ in 0..2 {
            for column in 0..m {
                for row in 0..m {
                    let earlier: f64 = (0..row)
                        .map(|other| self.g[other][self.pivots[row]] * solved[other * m + column])
                        .sum();
                    let place = row * m + column;
                    solved[place] = (solved[place] - earlier) / self.g[row][self.pivots[row]];
                }
            }
            solved = (0..m * m)
                .map(|place| solved[place % m * m + place / m])
                .collect();
        }
        solved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows on a line, one after the other at distance 1.
    fn column(from: usize) -> Arc<[f64]> {
        let kernel = |to: usize| (-0.3 * from.abs_diff(to).pow(2).real()).exp();
        (0..40).map(kernel).collect()
    }

    #[test]
    fn with_few_labels_it_is_the_mean_of_a_gaussian_process() {
        let trees = [1, 4, 5, 9, 30];
        let residuals = [0.5, -0.2, 0.3, 0.0, -1.0];
        let noise = 0.05;
        let factor = Factor::new(&trees, column);
        assert_eq!(factor.pivots.len(), trees.len());
        let a = factor.regress(&residuals, noise, 0.0, &[0.0; 25]);
        let kernels: Vec<f64> = trees
            .iter()
            .flat_map(|&from| trees.map(|to| column(from)[to]))
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
        let a = factor.regress(&[1.0, -1.0, 0.5], 0.05, 0.0, &[0.0; 4]);
        assert!(a[0].abs() < 1e-6 && a[1] > 0.4, "{a:?}");
    }

    #[test]
    fn unlabelled_trees_alike_hold_against_a_label() {
        let trees = [10, 30];
        let residuals = [-1.0, -1.0];
        let factor = Factor::new(&trees, column);
        // Trees around 10 are called normal, those around 30 are not.
        let evidence: Vec<bool> = (0..40).map(|tree| tree < 20).collect();
        let products = factor.weigh(&trees, &evidence, &mut BTreeMap::new());
        // What the regression should minimise, set up with an observation per unlabelled tree.
        let weight: f64 = 0.5;
        let rows: Vec<[f64; 2]> = (0..20)
            .map(|tree| trees.map(|pivot| weight.sqrt() * column(pivot)[tree]))
            .chain(trees.map(|tree| trees.map(|pivot| column(pivot)[tree])))
            .collect();
        let kernels = trees.map(|a| trees.map(|b| column(a)[b]));
        let normal: Vec<f64> = (0..4)
            .map(|place| {
                let (a, b) = (place / 2, place % 2);
                rows.iter().map(|row| row[a] * row[b]).sum::<f64>() + 0.05 * kernels[a][b]
            })
            .collect();
        let rhs = [0, 1].map(|a| -(rows[20][a] + rows[21][a]));
        let exact = Cholesky::new(&normal, 2).solve(&rhs);
        let found = factor.regress(&residuals, 0.05, weight, &products);
        for (place, &pivot) in factor.pivots.iter().enumerate() {
            assert!(
                (found[place] - exact[pivot]).abs() < 1e-9,
                "{found:?} {exact:?}"
            );
        }
        assert!(exact[0].abs() < 0.5 && exact[1] < -0.9, "{exact:?}");
    }
}
