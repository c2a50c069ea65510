//! The effect of labels on the trees around them.

use std::sync::Arc;

use callgrove_model::{Label, Progress};
use serde::{Deserialize, Serialize};

use callgrove_learn::ocsvm::{KernelSum, SupportVector, kernel_columns};
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;
use callgrove_trees::real::{Real, whole};

/// Weight of the decision without labels, in labels.
const PRIOR_LABELS: f64 = 3.0;
/// Weight of a label for a row that equals its own, if few rows do. It exceeds that of the decision without labels.
const EQUAL_ROW_WEIGHT: f64 = 4.0;
/// Minimum number of rows near a labelled one with which its label has the normal weight at its own row. Normal rows
/// have this number of neighbours, and a wrong label must not affect all of them.
const MIN_CROWD: usize = 10;
/// Minimum kernel of rows that are near.
const MIN_NEAR_KERNEL: f64 = 0.5;
/// Minimum kernel of rows that are equal up to rounding.
const MIN_EQUAL_KERNEL: f64 = 1.0 - 1e-9;
/// Minimum doubt about a decision.
const MIN_DOUBT: f64 = 0.05;
/// Minimum prior probability of a tree that is classified as abnormal.
const MIN_ABNORMAL_PRIOR: f64 = 0.6;
/// Maximum prior probability of a tree that is not classified as abnormal.
const MAX_NORMAL_PRIOR: f64 = 0.25;
/// Kernels are summed in multiples of 2⁻³⁶, so that sums up to 2¹⁷ are exact and do not depend on the order.
const STEPS_PER_UNIT: f64 = 68_719_476_736.0;
/// Maximum number of normal rows whose neighbourhood is measured.
const MAX_MEASURED: usize = 60;
/// Maximum number of rows that they are compared with.
const MAX_COMPARED: usize = 6_000;
/// Rank of the neighbour that is at the distance h.
const NEIGHBOUR_RANK: f64 = 10.0;
/// Minimum squared distance of two rows.
const MIN_DISTANCE: f64 = 0.02;

/// The evidence of labels near each tree.
///
/// ```text
/// k_tj = exp(−γ d²)                       1/γ = 2 h², h² = 2 · median squared distance of normal rows to their 10th neighbour
/// P_t  = (a_t + 3 π_t) / (a_t + b_t + 3)  a, b: sums of k over labels "abnormal" and "normal"; π: the decision without labels
/// ```
///
/// A row that equals a labelled one counts its label four times, unless ten rows are near: so an execution that is
/// judged again gets its label. A tree is abnormal if P > 1/2, and its score moves by ln((a + 3/2) / (b + 3/2)). So a
/// few consistent labels affect similar trees, and three wrong ones do not outweigh the rest. One new label costs n
/// kernels.
#[derive(Clone, Debug, Default)]
pub struct LabelReach {
    gamma: f64,
    labels: Vec<Option<Label>>,
    /// Sums of kernels of labels "abnormal", shape `[n_trees]`.
    abnormal: Arc<Vec<f64>>,
    /// Sums of kernels of labels "normal", shape `[n_trees]`.
    normal: Arc<Vec<f64>>,
    /// Weight of the label of each tree at its own row, 1 or [`EQUAL_ROW_WEIGHT`]; shape `[n_trees]`.
    own: Arc<Vec<f64>>,
}

/// The sums of the labels around a tree.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Votes {
    /// Sum of the kernels of labels "abnormal".
    abnormal: f64,
    /// Sum of the kernels of labels "normal".
    normal: f64,
}

/// The labelled rows of a model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelledRows {
    /// Rows labelled abnormal, each with the weight of its label at its own row as factor.
    pub abnormal: KernelSum,
    /// Rows labelled normal, with their factors.
    pub normal: KernelSum,
}

impl LabelReach {
    /// Computes the evidence of `labels`, shape `[n_trees]`. `warm` is that of other labels of the same rows; it
    /// makes this faster and does not change the result.
    pub fn new(rows: &Rows, gamma: f64, labels: &[Option<Label>], warm: Option<&Self>) -> Self {
        let usable = warm.filter(|warm| {
            warm.labels.len() == labels.len() && warm.gamma.to_bits() == gamma.to_bits()
        });
        let mut reach = usable.cloned().unwrap_or_else(|| Self {
            gamma,
            labels: vec![None; labels.len()],
            abnormal: Arc::new(vec![0.0; labels.len()]),
            normal: Arc::new(vec![0.0; labels.len()]),
            own: Arc::new(vec![1.0; labels.len()]),
        });
        for (tree, &label) in labels.iter().enumerate() {
            let was = reach.labels[tree];
            if was == label {
                continue;
            }
            let column = kernel_columns(rows, gamma, &[tree]).swap_remove(0);
            let num_near = column
                .iter()
                .filter(|kernel| **kernel >= MIN_NEAR_KERNEL)
                .count();
            let own = if num_near < MIN_CROWD {
                EQUAL_ROW_WEIGHT
            } else {
                1.0
            };
            Arc::make_mut(&mut reach.own)[tree] = own;
            for (label, is_new) in [(was, false), (label, true)] {
                let sums = match label {
                    None => continue,
                    Some(Label::Abnormal) => &mut reach.abnormal,
                    Some(Label::Normal) => &mut reach.normal,
                };
                for (sum, &kernel) in Arc::make_mut(sums).iter_mut().zip(&column) {
                    let step = evidence(kernel, own);
                    *sum += if is_new { step } else { -step };
                }
            }
            reach.labels[tree] = label;
        }
        reach
    }

    /// Returns the votes for each tree, shape `[n_trees]`.
    pub fn votes(&self) -> Vec<Votes> {
        let sums = self.abnormal.iter().zip(self.normal.iter());
        sums.map(|(&abnormal, &normal)| Votes { abnormal, normal })
            .collect()
    }

    /// Returns the probability for one labelled tree without its own label.
    pub fn without_own(&self, tree: usize, prior: f64) -> f64 {
        let own = evidence(1.0, self.own[tree]);
        let (mut abnormal, mut normal) = (self.abnormal[tree], self.normal[tree]);
        match self.labels[tree] {
            Some(Label::Abnormal) => abnormal -= own,
            Some(Label::Normal) => normal -= own,
            None => {}
        }
        Votes { abnormal, normal }.probability(prior)
    }

    /// Returns the weights of the other labels near a labelled tree: of its own class, and of the other one.
    pub fn others(&self, tree: usize) -> [f64; 2] {
        let own = evidence(1.0, self.own[tree]);
        let (abnormal, normal) = (self.abnormal[tree], self.normal[tree]);
        match self.labels[tree] {
            Some(Label::Abnormal) => [abnormal - own, normal],
            Some(Label::Normal) => [normal - own, abnormal],
            None => [0.0; 2],
        }
    }

    /// Returns the labelled rows that a model stores; `rows` are those of the training.
    pub fn model(&self, rows: &Rows) -> LabelledRows {
        let of = |wanted: Label| {
            let labelled = self.labels.iter().enumerate();
            let labelled = labelled.filter(|(_, label)| **label == Some(wanted));
            let terms = labelled.map(|(tree, _)| SupportVector {
                alpha: self.own[tree],
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

impl Votes {
    /// Returns the probability that the tree is abnormal, given that before any label.
    pub fn probability(self, prior: f64) -> f64 {
        (self.abnormal + PRIOR_LABELS * prior) / (self.abnormal + self.normal + PRIOR_LABELS)
    }

    /// Returns the change of the score towards abnormal, nats. Unlike a prior it does not depend on other trees.
    pub fn log_odds(self) -> f64 {
        let half = PRIOR_LABELS / 2.0;
        ((self.abnormal + half) / (self.normal + half)).ln()
    }
}

impl LabelledRows {
    /// Returns the votes for each row, shape `[n_rows]`.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::BadNumber`] if a row is not finite, [`callgrove_trees::MlError::Cancelled`].
    pub fn votes(&self, rows: &Rows, progress: Progress<'_>) -> Result<Vec<Votes>> {
        let sums_of = |labelled: &KernelSum| -> Result<Vec<f64>> {
            let mut sums = vec![0.0; rows.len()];
            for term in &labelled.terms {
                let one = KernelSum {
                    gamma: labelled.gamma,
                    terms: vec![SupportVector {
                        alpha: 1.0,
                        row: term.row.clone(),
                    }],
                };
                let mut column = vec![0.0; rows.len()];
                one.add_to(&mut column, rows, progress)?;
                let own = if term.alpha > 1.0 {
                    EQUAL_ROW_WEIGHT
                } else {
                    1.0
                };
                for (sum, &kernel) in sums.iter_mut().zip(&column) {
                    *sum += evidence(kernel, own);
                }
            }
            Ok(sums)
        };
        let (abnormal, normal) = (sums_of(&self.abnormal)?, sums_of(&self.normal)?);
        let sums = abnormal.into_iter().zip(normal);
        Ok(sums
            .map(|(abnormal, normal)| Votes { abnormal, normal })
            .collect())
    }

    /// Returns the sums of both labels.
    pub(crate) fn sums(&self) -> [&KernelSum; 2] {
        [&self.abnormal, &self.normal]
    }
}

/// Returns the probability that a tree is abnormal before any label, from its decision and q-value.
pub(crate) fn prior(is_abnormal: bool, q_value: f64) -> f64 {
    let probability = (1.0 - q_value).clamp(MIN_DOUBT, 1.0 - MIN_DOUBT);
    if is_abnormal {
        probability.max(MIN_ABNORMAL_PRIOR)
    } else {
        probability.min(MAX_NORMAL_PRIOR)
    }
}

/// Returns γ of labels for rows of which `normal` are normal, from the distance to their 10th neighbour.
pub(crate) fn gamma_of_labels(rows: &Rows, normal: &[usize]) -> f64 {
    let compared: Vec<usize> = evenly(normal, MAX_COMPARED).collect();
    let share = compared.len().real() / normal.len().max(1).real();
    // The row itself has rank 0.
    let place = whole((NEIGHBOUR_RANK * share).round())
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
        return 1.0 / (4.0 * MIN_DISTANCE);
    }
    let middle = distances.len() / 2;
    let median = *distances.select_nth_unstable_by(middle, f64::total_cmp).1;
    1.0 / (4.0 * median.max(MIN_DISTANCE))
}

fn evenly(values: &[usize], most: usize) -> impl Iterator<Item = usize> + '_ {
    let step = values.len().div_ceil(most).max(1);
    values.iter().step_by(step).copied()
}

/// Returns the weight of a label for a row at this kernel of its own; `own` is its weight at its own row.
fn evidence(kernel: f64, own: f64) -> f64 {
    let kernel = (kernel.clamp(0.0, 1.0) * STEPS_PER_UNIT).round() / STEPS_PER_UNIT;
    if kernel >= MIN_EQUAL_KERNEL {
        own
    } else {
        kernel
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgrove_trees::dataset::DenseRows;

    fn line(num: u32) -> Rows {
        let values = (0..num).map(|at| f64::from(at) * 0.01).collect();
        Rows::Dense(DenseRows::new(1, values).unwrap())
    }

    #[test]
    fn a_few_labels_affect_similar_trees_only() {
        let rows = line(400);
        let mut labels = vec![None; 400];
        let reach = |labels: &[Option<Label>]| LabelReach::new(&rows, 50.0, labels, None);
        let count = |labels: &[Option<Label>]| {
            let votes = reach(labels).votes().into_iter();
            let prior = prior(false, 0.9);
            votes.filter(|votes| votes.probability(prior) > 0.5).count()
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
    fn a_label_decides_equal_rows_unless_they_are_many() {
        let mut values = vec![0.0; 400];
        values[398..].fill(9.0);
        let rows = Rows::Dense(DenseRows::new(1, values).unwrap());
        let mut labels = vec![None; 400];
        labels[399] = Some(Label::Normal);
        labels[0] = Some(Label::Abnormal);
        let votes = LabelReach::new(&rows, 50.0, &labels, None).votes();
        assert!(votes[398].probability(prior(true, 1e-9)) < 0.5);
        assert!(votes[1].probability(prior(false, 0.9)) < 0.5);
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
        let model = reach.model(&rows).votes(&rows, Progress::none());
        assert_eq!(model.unwrap(), reach.votes());
    }
}
