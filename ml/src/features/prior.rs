//! Weights and kernel width from the rows alone.

use super::params::{GammaRule, Prior};
use crate::dataset::Rows;

/// Rows whose distances are looked at for a median.
const MAX_SAMPLED_ROWS: usize = 2_000;
/// Factor of the fence that [`GammaRule::Fence`] takes as the scale of normal rows.
const SCALE_FENCE: f64 = 2.0;

/// Weights u of unlabelled rows. At least three quarters of them are 1.
pub(crate) fn prior_weights(rows: &Rows, prior: Prior) -> Vec<f64> {
    let Prior::Fence { factor, power } = prior else {
        return vec![1.0; rows.len()];
    };
    let fence = fence(rows, factor);
    rows.squared_norms()
        .iter()
        .map(|squared_norm| {
            let norm = squared_norm.sqrt();
            if norm <= fence {
                1.0
            } else {
                (fence / norm).powf(power)
            }
        })
        .collect()
}

/// Tukey's fence Q3 + factor (Q3 − Q1) of the norms of all rows; 0 of no rows.
fn fence(rows: &Rows, factor: f64) -> f64 {
    let mut norms: Vec<f64> = rows
        .squared_norms()
        .iter()
        .map(|norm| norm.sqrt())
        .collect();
    if norms.is_empty() {
        return 0.0;
    }
    norms.sort_unstable_by(f64::total_cmp);
    let quartile = |share: f64| {
        let place = share * (norms.len() - 1) as f64;
        let (low, high) = (place.floor() as usize, place.ceil() as usize);
        norms[low] + (place - place.floor()) * (norms[high] - norms[low])
    };
    let (q1, q3) = (quartile(0.25), quartile(0.75));
    q3 + factor * (q3 - q1)
}

impl GammaRule {
    /// γ for these rows; 1 if all rows are equal, since then it does not matter.
    pub(crate) fn gamma(self, rows: &Rows) -> f64 {
        let (factor, typical) = match self {
            Self::MeanDistance(factor) => (factor, rows.mean_squared_distance()),
            Self::MedianDistance(factor) => (factor, median_squared_distance(rows)),
            Self::Fence(factor) => {
                let fence = fence(rows, SCALE_FENCE);
                if fence > 0.0 {
                    (factor, fence * fence)
                } else {
                    (factor, rows.mean_squared_distance())
                }
            }
        };
        let gamma = factor / typical;
        if gamma.is_finite() { gamma } else { 1.0 }
    }
}

fn median_squared_distance(rows: &Rows) -> f64 {
    let step = rows.len().div_ceil(MAX_SAMPLED_ROWS).max(1);
    let sampled: Vec<usize> = (0..rows.len()).step_by(step).collect();
    let sampled = rows.select(&sampled);
    let mut distances = Vec::with_capacity(sampled.len() * sampled.len() / 2);
    for row in 0..sampled.len() {
        let from_row = sampled.squared_distances(sampled.row(row));
        distances.extend_from_slice(&from_row[..row]);
    }
    if distances.is_empty() {
        return 0.0;
    }
    let middle = distances.len() / 2;
    *distances.select_nth_unstable_by(middle, f64::total_cmp).1
}
