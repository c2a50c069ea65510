//! The local outlier factor.

use callgrove_model::Progress;

use callgrove_map::knn::all_nearest;
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;
use callgrove_trees::real::Real;

/// Minimum mean reach, which keeps the density of rows that equal all their neighbours finite, as in scikit-learn.
const SMALLEST_REACH: f64 = 1e-10;

/// Returns the local outlier factor of each row, shape `[num_rows]`: about 1 within a cluster, the larger the more
/// anomalous. O(n²) distances.
///
/// With N(p) the k nearest rows of p (without itself), kdist(o) the distance of o to its k-th nearest row and d the
/// Euclidean distance:
///
/// ```text
/// reach(p, o) = max(kdist(o), d(p, o))
/// density(p)  = 1 / (mean over o in N(p) of reach(p, o) + 1e-10)
/// factor(p)   = mean over o in N(p) of density(o) / density(p)
/// ```
///
/// M. Breunig et al.: LOF, 2000 (doi:10.1145/342009.335388). They include all rows at the distance of the k-th in
/// N(p); here, as in scikit-learn, it has exactly k rows, ties in order of index. Rows with k or more duplicates have
/// density 1e10, and rows next to them factors up to 1e9 and more. With fewer than k other rows all of them count; a
/// single row has factor 1.
///
/// # Errors
/// [`callgrove_trees::MlError::Cancelled`].
pub fn local_outlier_factors(rows: &Rows, k: usize, progress: Progress<'_>) -> Result<Vec<f64>> {
    let neighbours = all_nearest(rows, k, progress)?;
    if neighbours.is_empty() {
        return Ok(vec![1.0; rows.len()]);
    }
    let kth: Vec<f64> = (0..rows.len())
        .map(|row| neighbours.of(row).1[neighbours.k - 1])
        .collect();
    let mean = |sum: f64| sum / neighbours.k.real();
    let density: Vec<f64> = (0..rows.len())
        .map(|row| {
            let (others, distances) = neighbours.of(row);
            let pairs = others.iter().zip(distances);
            let reach = pairs.map(|(&other, distance)| distance.max(kth[other as usize]));
            1.0 / (mean(reach.sum()) + SMALLEST_REACH)
        })
        .collect();
    let factor = |row: usize| {
        let others = neighbours.of(row).0.iter();
        mean(others.map(|&other| density[other as usize]).sum()) / density[row]
    };
    Ok((0..rows.len()).map(factor).collect())
}
