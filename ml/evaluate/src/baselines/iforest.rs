//! Isolation forest.

use callgrove_model::Progress;
use ndarray_of_clusters::Array2;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustyml::machine_learning::IsolationForest;

use super::ValidBaselineParams;
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::{MlError, Result};

/// Maximum number of columns; rows with more are projected onto this number of random directions.
const NUM_DIRECTIONS: usize = 128;

/// Returns the isolation score of each row, shape `[num_rows]`, from 0 to 1; the larger, the more anomalous. If all
/// rows are equal, each has ½.
///
/// [`super::BaselineParams::num_isolation_trees`] trees, each of at most [`super::BaselineParams::isolation_sample`]
/// randomly drawn rows, split a randomly drawn column between its smallest and largest number. Most columns of our
/// rows are 0 in most rows, which leaves nothing to split. So rows of more than 128 columns are first projected
/// onto 128 random (normal) directions; the splits are then random hyperplanes, as in the extended isolation forest.
///
/// F. T. Liu, K. M. Ting, Z.-H. Zhou: Isolation forest, 2008 (doi:10.1109/ICDM.2008.17), computed by
/// rustyml; S. Hariri, M. Carrasco Kind, R. Brunner: Extended isolation forest, 2019
/// (doi:10.1109/TKDE.2019.2947676).
///
/// # Errors
/// [`MlError::PeerFailed`]; [`MlError::Cancelled`] before it begins: the external crate cannot be interrupted.
pub fn isolation_forest(
    rows: &Rows,
    params: &ValidBaselineParams,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Vec<f64>> {
    progress.at(0.0)?;
    if rows.len() < 2 || rows.num_columns() == 0 {
        return Ok(vec![0.5; rows.len()]);
    }
    let settings = params.get();
    let matrix = reduced(rows, seed);
    let failed = |error: rustyml::error::Error| MlError::PeerFailed(error.to_string());
    let mut forest = IsolationForest::new(settings.num_isolation_trees, settings.isolation_sample)
        .map_err(failed)?
        .with_random_state(seed);
    forest.fit(&matrix).map_err(failed)?;
    let scores = forest.score_samples(&matrix).map_err(failed)?;
    Ok(scores.iter().map(|score| -score).collect())
}

/// Returns the rows as a matrix of at most [`NUM_DIRECTIONS`] columns: unchanged, or projected onto random directions.
fn reduced(rows: &Rows, seed: u64) -> Array2<f64> {
    let num_columns = rows.num_columns();
    if num_columns <= NUM_DIRECTIONS {
        let mut matrix = Array2::zeros((rows.len(), num_columns));
        for row in 0..rows.len() {
            for (column, value) in rows.row(row).entries() {
                matrix[[row, column]] = value;
            }
        }
        return matrix;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let directions: Vec<f64> = (0..num_columns * NUM_DIRECTIONS)
        .map(|_| normal(&mut rng))
        .collect();
    let mut matrix = Array2::zeros((rows.len(), NUM_DIRECTIONS));
    for (row, mut projected) in matrix.outer_iter_mut().enumerate() {
        for (column, value) in rows.row(row).entries() {
            let of_column = &directions[column * NUM_DIRECTIONS..][..NUM_DIRECTIONS];
            for (sum, direction) in projected.iter_mut().zip(of_column) {
                *sum += value * direction;
            }
        }
    }
    matrix
}

/// Returns a normally distributed number by the Box-Muller method.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}
