//! The record that the Chimbuko schemas use for every statistic.

use serde::{Deserialize, Serialize};

/// Statistics of some quantity, `RunStats` in the Chimbuko schemas, in the unit of the quantity.
///
/// All numbers are finite, so that JSON can hold them: without values all are 0, and where a spread is
/// 0, skewness and kurtosis are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunStats {
    /// Sum of all values.
    pub accumulate: f64,
    /// Number of values.
    pub count: u64,
    /// Excess kurtosis, n M4 / M2² − 3.
    pub kurtosis: f64,
    /// Largest value.
    pub maximum: f64,
    /// Mean.
    pub mean: f64,
    /// Smallest value.
    pub minimum: f64,
    /// Skewness, √n M3 / M2^1.5.
    pub skewness: f64,
    /// Standard deviation of a sample (n − 1).
    pub stddev: f64,
}
