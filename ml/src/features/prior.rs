//! Weights and kernel width from the rows alone.

use super::params::{GammaRule, Prior};
use crate::calibration::NullModel;
use crate::dataset::Rows;
use crate::real::Real;

/// Rows whose distances are looked at for a median.
const MAX_SAMPLED_ROWS: usize = 2_000;
/// Share of the normal rows beyond the fence that [`GammaRule::Fence`] takes as the scale of normal rows.
const BEYOND_SCALE: f64 = 0.01;

/// A smaller weight carries nothing; the row would be a support vector for no effect.
const LEAST_WEIGHT: f64 = 1e-3;

/// Weights u of unlabelled rows; `null` was fitted to their norms.
pub(crate) fn prior_weights(rows: &Rows, prior: Prior, null: &NullModel) -> Vec<f64> {
    let Prior::Fence { p_value, power } = prior else {
        return vec![1.0; rows.len()];
    };
    let fence = null.distance_of(p_value);
    rows.squared_norms()
        .iter()
        .map(|squared_norm| {
            let norm = squared_norm.sqrt();
            if norm <= fence {
                1.0
            } else {
                let weight = (fence / norm).powf(power);
                if weight < LEAST_WEIGHT { 0.0 } else { weight }
            }
        })
        .collect()
}

impl GammaRule {
    /// γ for these rows; 1 if all rows are equal, since then it does not matter.
    pub(crate) fn gamma(self, rows: &Rows, null: &NullModel) -> f64 {
        let (factor, typical) = match self {
            Self::MeanDistance(factor) => (factor, rows.mean_squared_distance()),
            Self::MedianDistance(factor) => (factor, median_squared_distance(rows)),
            Self::NumColumns(factor) => (factor, rows.num_columns().real()),
            Self::Fence(factor) => (factor, null.distance_of(BEYOND_SCALE).powi(2)),
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
