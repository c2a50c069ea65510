//! What labels say about the trees around them.

use std::sync::Arc;

use callgrove_model::{Label, Progress};
use serde::{Deserialize, Serialize};

use crate::dataset::Rows;
use crate::error::Result;
use crate::ocsvm::{KernelSum, SupportVector, kernel_columns};
use crate::real::{Real, whole};

/// Labels that the decision without labels counts as.
const PRIOR: f64 = 3.0;
/// The doubt that a decision leaves at least.
const LEAST_DOUBT: f64 = 0.05;
/// Probability of a tree that is called abnormal, at least, and of one that is not, at most.
const CALLED: f64 = 0.6;
const NOT_CALLED: f64 = 0.25;
/// Kernels are summed in steps of 2⁻⁴⁰, so that a sum does not depend on the order.
const STEPS: f64 = 1_099_511_627_776.0;
/// Normal rows whose neighbourhood is measured, and rows that they are compared with, at most.
const MAX_MEASURED: usize = 60;
const MAX_COMPARED: usize = 6_000;
/// The neighbour that a label reaches.
const NEIGHBOUR: f64 = 10.0;
/// Squared distance that two rows differ by at least.
const LEAST_DISTANCE: f64 = 0.02;

/// The evidence of labels near each tree.
///
/// ```text
/// k_tj = exp(−γ d²)                       1/γ = 2 h², h² = 2 · median squared distance of normal rows to their 10th neighbour
/// P_t  = (a_t + 3 π_t) / (a_t + b_t + 3)  a, b: sums of k over labels "abnormal" and "normal"; π: the decision without labels
/// ```
///
/// A tree is abnormal if P > 1/2, and its score moves by the change of ln(P / (1 − P)). So a few labels
/// that agree carry over to the trees like them, and three wrong ones do not outweigh the rest. One new
/// label costs n kernels.
#[derive(Clone, Debug, Default)]
pub struct LabelReach {
    gamma: f64,
    labels: Vec<Option<Label>>,
    /// Sums of kernels in steps, shape `[n_trees]`.
    abnormal: Arc<Vec<u64>>,
    normal: Arc<Vec<u64>>,
}

/// The labelled rows of a model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelledRows {
    /// Rows labelled abnormal, each with factor 1.
    pub abnormal: KernelSum,
    /// Rows labelled normal, each with factor 1.
    pub normal: KernelSum,
}

impl LabelReach {
    /// The evidence of `labels`, shape `[n_trees]`. `warm` is that of other labels of the same rows; it
    /// makes this faster and changes nothing else.
    pub fn new(rows: &Rows, gamma: f64, labels: &[Option<Label>], warm: Option<&Self>) -> Self {
        let usable = warm.filter(|warm| {
            warm.labels.len() == labels.len() && warm.gamma.to_bits() == gamma.to_bits()
        });
        let mut reach = usable.cloned().unwrap_or_else(|| Self {
            gamma,
            labels: vec![None; labels.len()],
            abnormal: Arc::new(vec![0; labels.len()]),
            normal: Arc::new(vec![0; labels.len()]),
        });
        for (tree, &label) in labels.iter().enumerate() {
            let was = reach.labels[tree];
            if was == label {
                continue;
            }
            let column = kernel_columns(rows, gamma, &[tree]).swap_remove(0);
            for (label, is_new) in [(was, false), (label, true)] {
                let sums = match label {
                    None => continue,
                    Some(Label::Abnormal) => &mut reach.abnormal,
                    Some(Label::Normal) => &mut reach.normal,
                };
                for (sum, &kernel) in Arc::make_mut(sums).iter_mut().zip(&column) {
                    let step = steps(kernel);
                    *sum = if is_new {
                        *sum + step
                    } else {
                        sum.saturating_sub(step)
                    };
                }
            }
            reach.labels[tree] = label;
        }
        reach
    }

    /// Probability that each tree is abnormal, given `priors` (see [`prior`]); shape `[n_trees]`.
    pub fn probabilities(&self, priors: &[f64]) -> Vec<f64> {
        let sums = self.abnormal.iter().zip(self.normal.iter());
        sums.zip(priors)
            .map(|((&abnormal, &normal), &prior)| posterior(abnormal, normal, prior))
            .collect()
    }

    /// The same of one labelled tree without its own label.
    pub fn without_own(&self, tree: usize, prior: f64) -> f64 {
        let own = steps(1.0);
        let (mut abnormal, mut normal) = (self.abnormal[tree], self.normal[tree]);
        match self.labels[tree] {
            Some(Label::Abnormal) => abnormal = abnormal.saturating_sub(own),
            Some(Label::Normal) => normal = normal.saturating_sub(own),
            None => {}
        }
        posterior(abnormal, normal, prior)
    }

    /// What a model keeps of the labels; `rows` are those of the training.
    pub fn model(&self, rows: &Rows) -> LabelledRows {
        let of = |wanted: Label| {
            let labelled = self.labels.iter().enumerate();
            let labelled = labelled.filter(|(_, label)| **label == Some(wanted));
            let terms = labelled.map(|(tree, _)| SupportVector {
                alpha: 1.0,
                row: rows.row(tree).to_sparse(),
            });
            KernelSum {
                gamma: self.gamma,
                terms: terms.collect(),
            }
        };
        LabelledRows {
            abnormal: of(Label::Abnormal),
            normal: of(Label::Normal),
        }
    }
}

impl LabelledRows {
    /// Probability that each tree is abnormal, given its row and prior; shape `[n_rows]`.
    ///
    /// # Errors
    /// [`crate::MlError::BadNumber`] if a row is not finite, [`crate::MlError::Cancelled`].
    pub fn probabilities(
        &self,
        rows: &Rows,
        priors: &[f64],
        progress: Progress<'_>,
    ) -> Result<Vec<f64>> {
        let sums_of = |labelled: &KernelSum| -> Result<Vec<u64>> {
            let mut sums = vec![0_u64; rows.len()];
            for term in &labelled.terms {
                let one = KernelSum {
                    gamma: labelled.gamma,
                    terms: vec![term.clone()],
                };
                let mut column = vec![0.0; rows.len()];
                one.add_to(&mut column, rows, progress)?;
                for (sum, &kernel) in sums.iter_mut().zip(&column) {
                    *sum += steps(kernel);
                }
            }
            Ok(sums)
        };
        let (abnormal, normal) = (sums_of(&self.abnormal)?, sums_of(&self.normal)?);
        let sums = abnormal.into_iter().zip(normal).zip(priors);
        let of = |((abnormal, normal), &prior)| posterior(abnormal, normal, prior);
        Ok(sums.map(of).collect())
    }

    /// The two sums.
    pub(crate) fn sums(&self) -> [&KernelSum; 2] {
        [&self.abnormal, &self.normal]
    }
}

/// Probability that a tree is abnormal before any label, from its decision and q-value.
pub(crate) fn prior(is_called: bool, q_value: f64) -> f64 {
    let probability = (1.0 - q_value).clamp(LEAST_DOUBT, 1.0 - LEAST_DOUBT);
    if is_called {
        probability.max(CALLED)
    } else {
        probability.min(NOT_CALLED)
    }
}

/// ln(P / (1 − P)).
pub(crate) fn logit(probability: f64) -> f64 {
    (probability / (1.0 - probability)).ln()
}

/// γ of labels for rows of which `normal` are so: that of the distance to their 10th neighbour.
pub(crate) fn gamma_of_labels(rows: &Rows, normal: &[usize]) -> f64 {
    let compared: Vec<usize> = evenly(normal, MAX_COMPARED).collect();
    let share = compared.len().real() / normal.len().max(1).real();
    // The place of itself is 0.
    let place = whole((NEIGHBOUR * share).round())
        .max(1)
        .min(compared.len().saturating_sub(1));
    let others = rows.select(&compared);
    let mut distances: Vec<f64> = evenly(normal, MAX_MEASURED)
        .filter_map(|row| {
            let mut distances = others.squared_distances(rows.row(row));
            (!distances.is_empty())
                .then(|| *distances.select_nth_unstable_by(place, f64::total_cmp).1)
        })
        .collect();
    if distances.is_empty() {
        return 1.0 / (4.0 * LEAST_DISTANCE);
    }
    let middle = distances.len() / 2;
    let median = *distances.select_nth_unstable_by(middle, f64::total_cmp).1;
    1.0 / (4.0 * median.max(LEAST_DISTANCE))
}

fn evenly(values: &[usize], most: usize) -> impl Iterator<Item = usize> + '_ {
    let step = values.len().div_ceil(most).max(1);
    values.iter().step_by(step).copied()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a kernel is between 0 and 1"
)]
fn steps(kernel: f64) -> u64 {
    (kernel.clamp(0.0, 1.0) * STEPS).round() as u64
}

fn posterior(abnormal: u64, normal: u64, prior: f64) -> f64 {
    let (abnormal, normal) = (abnormal.real() / STEPS, normal.real() / STEPS);
    (abnormal + PRIOR * prior) / (abnormal + normal + PRIOR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::DenseRows;

    fn line(num: u32) -> Rows {
        let values = (0..num).map(|at| f64::from(at) * 0.01).collect();
        Rows::Dense(DenseRows::new(1, values).unwrap())
    }

    #[test]
    fn a_few_labels_carry_over_to_trees_alike_and_to_no_other() {
        let rows = line(400);
        let mut labels = vec![None; 400];
        let reach = |labels: &[Option<Label>]| LabelReach::new(&rows, 50.0, labels, None);
        let count = |labels: &[Option<Label>]| {
            let found = reach(labels).probabilities(&[prior(false, 0.9); 400]);
            found
                .iter()
                .filter(|&&probability| probability > 0.5)
                .count()
        };
        labels[50] = Some(Label::Abnormal);
        assert_eq!(count(&labels), 0, "one label is no crowd");
        labels[45..55].fill(Some(Label::Abnormal));
        let carried = count(&labels);
        assert!((10..60).contains(&carried), "{carried}");
        labels[45..55].fill(Some(Label::Normal));
        assert_eq!(count(&labels), 0);
    }

    #[test]
    fn sums_do_not_depend_on_the_order_of_labels() {
        let rows = line(60);
        let mut labels = vec![None; 60];
        let mut warm: Option<LabelReach> = None;
        for (tree, label) in [
            (3, Label::Normal),
            (40, Label::Abnormal),
            (3, Label::Abnormal),
            (7, Label::Normal),
        ] {
            labels[tree] = Some(label);
            let cold = LabelReach::new(&rows, 3.0, &labels, None);
            let next = LabelReach::new(&rows, 3.0, &labels, warm.as_ref());
            assert_eq!(
                (&cold.abnormal, &cold.normal),
                (&next.abnormal, &next.normal)
            );
            warm = Some(next);
        }
        let reach = warm.unwrap();
        let priors = [0.3; 60];
        let model = reach
            .model(&rows)
            .probabilities(&rows, &priors, Progress::none());
        assert_eq!(model.unwrap(), reach.probabilities(&priors));
    }
}
