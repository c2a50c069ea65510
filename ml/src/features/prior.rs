//! Weights and kernel width from the rows alone.

use super::params::{GammaRule, Prior};
use crate::dataset::Rows;

/// Rows whose distances are looked at for a median.
const MAX_SAMPLED_ROWS: usize = 2_000;

/// Weights u of unlabelled rows. At least three quarters of them are 1.
pub(crate) fn prior_weights(rows: &Rows, prior: Prior) -> Vec<f64> {
    let Prior::Fence { factor, power } = prior else {
        return vec![1.0; rows.len()];
    };
    let norms: Vec<f64> = rows
        .squared_norms()
        .iter()
        .map(|norm| norm.sqrt())
        .collect();
    let mut sorted = norms.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let quartile = |share: f64| {
        let place = share * (sorted.len() - 1) as f64;
        let (low, high) = (place.floor() as usize, place.ceil() as usize);
        sorted[low] + (place - place.floor()) * (sorted[high] - sorted[low])
    };
    let (q1, q3) = (quartile(0.25), quartile(0.75));
    let fence = q3 + factor * (q3 - q1);
    norms
        .iter()
        .map(|&norm| {
            if norm <= fence {
                1.0
            } else {
                (fence / norm).powf(power)
            }
        })
        .collect()
}

impl GammaRule {
    /// γ for these rows; 1 if all rows are equal, since then it does not matter.
    pub(crate) fn gamma(self, rows: &Rows) -> f64 {
        let (factor, typical) = match self {
            Self::OverMean(factor) => (factor, rows.mean_squared_distance()),
            Self::OverMedian(factor) => (factor, median_squared_distance(rows)),
        };
        let gamma = factor / typical;
        if gamma.is_finite() { gamma } else { 1.0 }
    }
}

fn median_squared_distance(rows: &Rows) -> f64 {
    let step = rows.len().div_ceil(MAX_SAMPLED_ROWS).max(1);
    let sampled: Vec<usize> = (0..rows.len()).step_by(step).collect();
    let mut distances = Vec::with_capacity(sampled.len() * sampled.len() / 2);
    for (place, &row) in sampled.iter().enumerate() {
        let from_row = rows.squared_distances(rows.row(row));
        distances.extend(sampled[..place].iter().map(|&other| from_row[other]));
    }
    if distances.is_empty() {
        return 0.0;
    }
    let middle = distances.len() / 2;
    *distances.select_nth_unstable_by(middle, f64::total_cmp).1
}
