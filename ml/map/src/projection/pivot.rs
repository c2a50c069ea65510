//! Pivot multidimensional scaling.

use callgrove_model::Progress;
use ndarray::Array2;

use super::eigen::two_largest;
use super::mds::{Map, draw, fix_sign};
use super::params::ValidMdsParams;
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;
use callgrove_trees::real::{Real, fraction};

/// Number of pivots whose distances are computed together.
const GROUP: usize = 8;

/// Places rows by their distances to pivots (Brandes and Pich 2006, doi:10.1007/978-3-540-70904-6_6).
///
/// ```text
/// C_ij = −½ (δ²_ij − mean_j δ²_ij − mean_i δ²_ij + mean_ij δ²_ij)     shape [num_rows, num_pivots]
/// ```
///
/// δ_ij is the Euclidean distance of row i to pivot j. With v a unit eigenvector of CᵀC and σ the root of its
/// eigenvalue, an axis is C v. Unlike with landmarks, all rows contribute to the axes.
///
/// Pivots are drawn at random: those that are furthest apart are outliers, and worse. Signs are fixed as for
/// [`super::landmark_mds`]. Deviation: axes have the length of classical scaling, √λ with λ = σ √(num_rows /
/// num_pivots), so that the map is in the units of the distances; with all rows as pivots it is exactly classical
/// scaling.
///
/// Cost: pivots × rows distances and pivots² × rows multiplications.
///
/// # Errors
/// [`callgrove_trees::MlError::Cancelled`].
pub fn pivot_mds(
    rows: &Rows,
    params: ValidMdsParams,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Map> {
    let pivots = draw(rows.len(), params.num_landmarks(), seed);
    mds_with_pivots(rows, &pivots, progress)
}

/// Computes [`pivot_mds`] with given pivots.
///
/// # Errors
/// [`callgrove_trees::MlError::Cancelled`].
pub fn mds_with_pivots(rows: &Rows, pivots: &[usize], progress: Progress<'_>) -> Result<Map> {
    let mut points = vec![[0.0; 2]; rows.len()];
    if pivots.is_empty() {
        return Ok(Map {
            points,
            eigenvalues: [0.0; 2],
        });
    }
    let mut centred = Array2::<f64>::zeros((pivots.len(), rows.len()));
    for (group, pivots_of_group) in pivots.chunks(GROUP).enumerate() {
        progress.at(0.7 * fraction(group * GROUP, pivots.len()))?;
        let from = |index: usize| rows.row(*pivots_of_group.get(index).unwrap_or(&pivots[0]));
        let distances = rows.squared_distances_from::<GROUP>(std::array::from_fn(from));
        for (index, distances) in distances.iter().take(pivots_of_group.len()).enumerate() {
            // Subtracts the row's mean; the means over pivots, which remain to be subtracted, then have mean zero.
            let mean = distances.iter().sum::<f64>() / distances.len().real();
            let mut targets = centred.row_mut(group * GROUP + index);
            for (target, distance) in targets.iter_mut().zip(distances) {
                *target = -0.5 * (distance - mean);
            }
        }
    }
    let means = centred.sum_axis(ndarray::Axis(0)) / pivots.len().real();
    centred -= &means;
    let products = centred.dot(&centred.t());
    progress.at(0.9)?;
    let pairs = two_largest(&products.iter().copied().collect::<Vec<_>>(), pivots.len());
    let mut eigenvalues = [0.0; 2];
    for (axis, (value, vector)) in pairs.iter().enumerate() {
        let sigma = value.max(0.0).sqrt();
        if *value <= f64::EPSILON * pairs[0].0 || sigma <= 0.0 {
            continue;
        }
        eigenvalues[axis] = sigma * (rows.len().real() / pivots.len().real()).sqrt();
        let scale = eigenvalues[axis].sqrt() / sigma;
        for (column, point) in centred.columns().into_iter().zip(&mut points) {
            let sum: f64 = column
                .iter()
                .zip(vector)
                .map(|(value, share)| value * share)
                .sum();
            point[axis] = scale * sum;
        }
        fix_sign(&mut points, axis);
    }
    progress.at(1.0)?;
    Ok(Map {
        points,
        eigenvalues,
    })
}
