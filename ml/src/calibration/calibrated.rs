//! What the scores of the one-class SVM mean: distances, p-values and a border.

use serde::{Deserialize, Serialize};

use super::NullModel;
use crate::real::{Real, whole};

/// Scores from here up to 0 are rounding of 0, so no anomaly.
const ABNORMAL_BELOW: f64 = -1e-6;
/// Knots of the map from scores to distances.
const NUM_KNOTS: usize = 256;

/// What the scores of a one-class SVM mean: the distance from the usual that each stands for, and how
/// rare that is.
///
/// The SVM orders the trees. How far out each place in that order is, the norms of the rows say: the
/// k-th smallest score stands for the k-th largest norm. So p-values are those of a distance whose
/// distribution is known, in the order of the SVM.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Which distances occur when nothing is wrong.
    null: NullModel,
    /// Scores, ascending, with their distances, which descend; two or more.
    knots: Vec<Knot>,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Knot {
    score: f64,
    distance: f64,
}

impl Calibration {
    /// From the norms of the rows that `null` was fitted to and their scores, in the same order; one or more.
    pub(crate) fn new(null: NullModel, mut norms: Vec<f64>, mut ascending: Vec<f64>) -> Self {
        norms.sort_unstable_by(|a, b| b.total_cmp(a));
        ascending.sort_unstable_by(f64::total_cmp);
        let last = norms.len().saturating_sub(1);
        let num_knots = NUM_KNOTS.min(norms.len());
        // The more, the further out: that is what p-values are about.
        let place = |knot: usize| {
            let share = knot.real() / num_knots.saturating_sub(1).max(1).real();
            whole((share * share * last.real()).round())
        };
        let all: Vec<Knot> = (0..num_knots)
            .map(|knot| Knot {
                score: rounded(ascending[place(knot)]),
                distance: norms[place(knot)],
            })
            .collect();
        // Free support vectors all have one score up to rounding: they stand for one distance.
        let mut knots: Vec<Knot> = all
            .chunk_by(|a, b| a.score >= b.score)
            .map(|tied| {
                let sum: f64 = tied.iter().map(|knot| knot.distance).sum();
                Knot {
                    score: tied[0].score,
                    distance: sum / tied.len().real(),
                }
            })
            .collect();
        if let [only] = knots[..] {
            // All trees are alike: whatever is further from them is further out.
            let distance = only.distance + null.distance_of(0.1);
            let score = only.score - only.score.abs().max(1e-3);
            knots.insert(0, Knot { score, distance });
        }
        Self { null, knots }
    }

    /// Which distances occur when nothing is wrong.
    pub fn null(&self) -> &NullModel {
        &self.null
    }

    /// The share of normal trees that stand out as far or further than one with this score, in (0, 1].
    pub fn p_value(&self, score: f64) -> f64 {
        self.null.p_value(self.distance(score))
    }

    /// [`Calibration::p_value`] of scores less a border.
    pub fn p_values(&self, scores: &[f64], border: f64) -> Vec<f64> {
        scores
            .iter()
            .map(|score| self.p_value(score + border))
            .collect()
    }

    /// The score below which trees are called abnormal, such that about a share `rate` of those with such
    /// `scores` is so by chance (Benjamini and Hochberg 1995). Where nothing can be called abnormal at
    /// that rate it lies below all of them.
    pub fn border(&self, scores: &[f64], rate: f64) -> f64 {
        let mut p_values: Vec<f64> = scores.iter().map(|&score| self.p_value(score)).collect();
        p_values.sort_unstable_by(f64::total_cmp);
        let num_trees = p_values.len().real();
        let is_discovery =
            |&(at, &p_value): &(usize, &f64)| p_value * num_trees <= rate * (at + 1).real();
        let distance = match p_values.iter().enumerate().rfind(is_discovery) {
            _ if self.null.is_too_small() => f64::INFINITY,
            // Halfway to the next one, so that rounding does not decide.
            Some((at, &p_value)) => {
                let next = p_values.get(at + 1).copied().unwrap_or(rate);
                self.null.distance_of((p_value * next).sqrt())
            }
            None => self.null.distance_of(rate / num_trees.max(1.0)),
        };
        let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
        if distance.is_finite()
            && self.null.p_value(distance) >= p_values.first().copied().unwrap_or(0.0)
        {
            self.score(distance)
        } else {
            // Out of reach of all trees, by more than rounding.
            self.score(distance.min(self.distance(least) + self.null.distance_of(0.1)))
                .min(least - least.abs() * 1e-3)
        }
    }

    /// The distance that a score stands for; beyond the knots along the last two.
    fn distance(&self, score: f64) -> f64 {
        let score = rounded(score);
        let above = self.knots.partition_point(|knot| knot.score <= score);
        let (a, b) = self.around(above);
        let share = (score - a.score) / (b.score - a.score);
        (a.distance + share * (b.distance - a.distance)).max(0.0)
    }

    /// The score that stands for a distance.
    fn score(&self, distance: f64) -> f64 {
        let above = self.knots.partition_point(|knot| knot.distance >= distance);
        let (a, b) = self.around(above);
        if a.distance > b.distance {
            let share = (a.distance - distance) / (a.distance - b.distance);
            a.score + share * (b.score - a.score)
        } else {
            a.score
        }
    }

    /// The knots on both sides of a place among them, or the first or last two.
    fn around(&self, above: usize) -> (Knot, Knot) {
        let above = above.clamp(1, self.knots.len() - 1);
        (self.knots[above - 1], self.knots[above])
    }

    /// Whether all numbers are finite and in order.
    pub(crate) fn is_whole(&self) -> bool {
        let numbers = self
            .knots
            .iter()
            .flat_map(|knot| [knot.score, knot.distance]);
        self.null.is_whole()
            && self.knots.len() >= 2
            && numbers.into_iter().all(f64::is_finite)
            && self
                .knots
                .is_sorted_by(|a, b| a.score < b.score && a.distance >= b.distance)
    }
}

/// Scores that differ by less are equal up to rounding.
fn rounded(score: f64) -> f64 {
    (score * 1e9).round() * 1e-9
}

/// Whether a score, less its border, means an anomaly: below 0 by more than rounding.
pub(crate) fn is_abnormal(score: f64) -> bool {
    score < ABNORMAL_BELOW
}
