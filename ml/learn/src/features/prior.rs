//! Kernel width from the rows.

use super::params::GammaRule;
use callgrove_trees::dataset::Rows;
use callgrove_trees::real::Real;

/// Maximum number of rows whose distances are used for a median.
const MAX_SAMPLED_ROWS: usize = 2_000;
/// Minimum of the norm that nearly all normal rows do not exceed.
const MIN_NORM: f64 = 1e-3;

impl GammaRule {
    /// Returns γ for these rows, of which nearly all normal ones have at most `normal_norm`; 1 if all rows are equal,
    /// since then it does not matter.
    pub fn gamma(self, rows: &Rows, normal_norm: f64) -> f64 {
        let (factor, typical) = match self {
            Self::MeanDistance(factor) => (factor, rows.mean_squared_distance()),
            Self::MedianDistance(factor) => (factor, median_squared_distance(rows)),
            Self::NumColumns(factor) => (factor, rows.num_columns().real()),
            Self::NormalNorm(factor) => (factor, normal_norm.max(MIN_NORM).powi(2)),
        };
        let gamma = factor / typical;
        if gamma.is_finite() { gamma } else { 1.0 }
    }

    /// Returns whether it can be the γ of some rows: no column count is below 1 and no norm counts as less than
    /// `MIN_NORM`; distances may be arbitrarily small.
    pub fn can_give(self, gamma: f64) -> bool {
        let most = match self {
            Self::NumColumns(factor) => factor,
            Self::NormalNorm(factor) => factor / MIN_NORM.powi(2),
            Self::MeanDistance(_) | Self::MedianDistance(_) => f64::MAX,
        };
        gamma <= most.max(1.0) * (1.0 + 1e-9)
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
