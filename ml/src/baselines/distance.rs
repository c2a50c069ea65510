//! Distances to the nearest neighbours.

use callgrove_model::Progress;

use super::neighbours::all_nearest;
use crate::dataset::Rows;
use crate::error::Result;

/// Euclidean distance of each row to its k-th nearest other row (to the farthest if there are fewer),
/// shape `[num_rows]`; a lonely row has 0. O(n²) distances.
///
/// S. Ramaswamy, R. Rastogi, K. Shim: Efficient algorithms for mining outliers from large data sets,
/// 2000 (doi:10.1145/335191.335437).
///
/// # Errors
/// [`crate::MlError::Cancelled`].
pub fn kth_distances(rows: &Rows, k: usize, progress: Progress<'_>) -> Result<Vec<f64>> {
    let neighbours = all_nearest(rows, k, progress)?;
    let farthest = |near: &Vec<(usize, f64)>| near.last().map_or(0.0, |&(_, distance)| distance);
    Ok(neighbours.per_row.iter().map(farthest).collect())
}

/// Mean Euclidean distance of each row to its k nearest other rows, shape `[num_rows]`; a lonely row
/// has 0. O(n²) distances.
///
/// F. Angiulli, C. Pizzuti: Fast outlier detection in high dimensional spaces, 2002
/// (doi:10.1007/3-540-45681-3_2), who add up where this divides by k.
///
/// # Errors
/// [`crate::MlError::Cancelled`].
pub fn mean_distances(rows: &Rows, k: usize, progress: Progress<'_>) -> Result<Vec<f64>> {
    let neighbours = all_nearest(rows, k, progress)?;
    let mean = |near: &Vec<(usize, f64)>| {
        let sum: f64 = near.iter().map(|&(_, distance)| distance).sum();
        sum / near.len().max(1) as f64
    };
    Ok(neighbours.per_row.iter().map(mean).collect())
}
