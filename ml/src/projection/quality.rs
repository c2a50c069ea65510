//! How far a map can be trusted.

use rayon::prelude::*;

use crate::dataset::{DenseRows, Rows};
use crate::error::Result;

/// Trustworthiness (Venna and Kaski 2001), 0..=1: whether the `k` nearest on the map are also near
/// among the rows. 1 if nobody is near on the map who is far in truth.
///
/// ```text
/// T = 1 − 2 / (n k (2n − 3k − 1)) Σ_i Σ_(j in the k nearest on the map, not in truth) (rank_ij − k)
/// ```
///
/// Equally distant rows rank in order of index. With fewer than 3k/2 + 1 rows it has no meaning and
/// is 1. Cost: n² log n.
///
/// # Errors
/// [`crate::MlError::BadNumber`] if a point is not finite.
pub fn trustworthiness(rows: &Rows, points: &[[f64; 2]], k: usize) -> Result<f64> {
    let n = rows.len();
    if k == 0 || 2 * n <= 3 * k + 1 {
        return Ok(1.0);
    }
    let map = Rows::Dense(DenseRows::new(2, points.concat())?);
    let penalty: u64 = (0..n)
        .into_par_iter()
        .map(|row| {
            let in_truth = rows.squared_distances(rows.row(row));
            let ranks = ranks_of(row, &in_truth);
            let order = order_of(row, &map.squared_distances(map.row(row)));
            order[..k]
                .iter()
                .map(|&other| (ranks[other] as u64).saturating_sub(k as u64))
                .sum::<u64>()
        })
        .sum();
    let (n, k) = (n as f64, k as f64);
    Ok(1.0 - 2.0 * penalty as f64 / (n * k * (2.0 * n - 3.0 * k - 1.0)))
}

/// [`trustworthiness`] of every step-th row, so that at most `max_rows` count.
///
/// # Errors
/// [`crate::MlError::BadNumber`] if a point is not finite.
pub fn trustworthiness_sampled(
    rows: &Rows,
    points: &[[f64; 2]],
    k: usize,
    max_rows: usize,
) -> Result<f64> {
    let step = rows.len().div_ceil(max_rows.max(1)).max(1);
    let sampled: Vec<usize> = (0..rows.len()).step_by(step).collect();
    let points: Vec<[f64; 2]> = sampled.iter().map(|&row| points[row]).collect();
    trustworthiness(&rows.select(&sampled), &points, k)
}

/// The others from near to far.
fn order_of(from: usize, distances: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..distances.len())
        .filter(|&other| other != from)
        .collect();
    order.sort_by(|&a, &b| distances[a].total_cmp(&distances[b]));
    order
}

/// Rank of each other row, the nearest has 1.
fn ranks_of(from: usize, distances: &[f64]) -> Vec<usize> {
    let mut ranks = vec![0; distances.len()];
    for (rank, other) in order_of(from, distances).into_iter().enumerate() {
        ranks[other] = rank + 1;
    }
    ranks
}
