//! Distances to the nearest neighbours.

use callgrove_model::Progress;

use callgrove_map::knn::all_nearest;
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;
use callgrove_trees::real::Real;

/// Returns the Euclidean distance of each row to its k-th nearest other row (to the farthest if there are fewer),
/// shape `[num_rows]`; a single row has 0. O(n²) distances.
///
/// S. Ramaswamy, R. Rastogi, K. Shim: Efficient algorithms for mining outliers from large data sets,
/// 2000 (doi:10.1145/335191.335437).
///
/// # Errors
/// [`callgrove_trees::MlError::Cancelled`].
pub fn kth_distances(rows: &Rows, k: usize, progress: Progress<'_>) -> Result<Vec<f64>> {
    let neighbours = all_nearest(rows, k, progress)?;
    let kth = |row| neighbours.of(row).1.last().copied().unwrap_or(0.0);
    Ok((0..rows.len()).map(kth).collect())
}

/// Returns the mean Euclidean distance of each row to its k nearest other rows, shape `[num_rows]`; a single row has
/// 0. O(n²) distances.
///
/// F. Angiulli, C. Pizzuti: Fast outlier detection in high dimensional spaces, 2002 (doi:10.1007/3-540-45681-3_2),
/// who use the sum instead of the mean.
///
/// # Errors
/// [`callgrove_trees::MlError::Cancelled`].
pub fn mean_distances(rows: &Rows, k: usize, progress: Progress<'_>) -> Result<Vec<f64>> {
    let neighbours = all_nearest(rows, k, progress)?;
    let mean = |row| neighbours.of(row).1.iter().sum::<f64>() / neighbours.k.max(1).real();
    Ok((0..rows.len()).map(mean).collect())
}
