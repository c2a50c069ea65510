//! Generated rows without a forest.

use callgrove_trees::dataset::{DenseRows, Rows};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const NUM_CLUSTERS: usize = 12;

/// Returns rows in twelve clusters of different sizes. Their spreads are log-normal and seldom large, so that some rows
/// are outliers; later columns vary less. Deterministic for a seed.
///
/// # Errors
/// None for the numbers drawn here; the type is that of [`DenseRows::new`].
pub fn clustered_rows(
    num_rows: usize,
    num_columns: usize,
    seed: u64,
) -> callgrove_trees::Result<Rows> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let centres: Vec<f64> = (0..NUM_CLUSTERS * num_columns)
        .map(|_| normal(&mut rng))
        .collect();
    let mut values = Vec::with_capacity(num_rows * num_columns);
    for _ in 0..num_rows {
        let cluster = (rng.random::<f64>().powi(2) * NUM_CLUSTERS as f64) as usize;
        let spread = 0.5 * (0.35 * normal(&mut rng)).exp();
        for column in 0..num_columns {
            let centre = centres[cluster * num_columns + column];
            let scale = 1.0 / (1.0 + 0.1 * column as f64);
            values.push(scale * (centre + spread * normal(&mut rng)));
        }
    }
    Ok(Rows::Dense(DenseRows::new(num_columns, values)?))
}

pub(crate) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}
