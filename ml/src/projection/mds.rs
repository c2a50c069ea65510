//! Classical and landmark multidimensional scaling.

use callgrove_model::Progress;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::eigen::two_largest;
use super::params::ValidMdsParams;
use crate::dataset::Rows;
use crate::error::Result;

/// A map: one point per row.
#[derive(Clone, PartialEq, Debug)]
pub struct Map {
    /// Points [x, y] in the units of the distances.
    pub points: Vec<[f64; 2]>,
    /// Variance along x and y: the eigenvalues of the landmarks' centred matrix (of all rows, with
    /// pivots).
    pub eigenvalues: [f64; 2],
}

/// Places rows so that distances on the map are near the Euclidean distances between rows.
///
/// Landmarks are drawn at random. Signs are fixed: on each axis the point furthest from the middle
/// is on the positive side, so the same rows always give the same map.
///
/// Cost: landmarks × rows distances, and a few hundred products with a landmarks² matrix.
///
/// # Errors
/// [`crate::MlError::Cancelled`].
pub fn landmark_mds(
    rows: &Rows,
    params: ValidMdsParams,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Map> {
    let landmarks = draw(rows.len(), params.num_landmarks(), seed);
    mds_with_landmarks(rows, &landmarks, progress)
}

/// [`landmark_mds`] with given landmarks.
///
/// # Errors
/// [`crate::MlError::Cancelled`].
pub fn mds_with_landmarks(rows: &Rows, landmarks: &[usize], progress: Progress<'_>) -> Result<Map> {
    let size = landmarks.len();
    let mut distances = Vec::with_capacity(size);
    for (place, &landmark) in landmarks.iter().enumerate() {
        progress.at(0.7 * place as f32 / size as f32)?;
        distances.push(rows.squared_distances(rows.row(landmark)));
    }
    let means: Vec<f64> = distances
        .iter()
        .map(|row| landmarks.iter().map(|&other| row[other]).sum::<f64>() / size as f64)
        .collect();
    let grand_mean = means.iter().sum::<f64>() / size.max(1) as f64;
    let mut centred = Vec::with_capacity(size * size);
    for (a, row) in distances.iter().enumerate() {
        for (b, &other) in landmarks.iter().enumerate() {
            centred.push(-0.5 * (row[other] - means[a] - means[b] + grand_mean));
        }
    }
    let pairs = two_largest(&centred, size);
    progress.at(0.95)?;
    let mut points = vec![[0.0; 2]; rows.len()];
    for (axis, (value, vector)) in pairs.iter().enumerate() {
        if *value <= f64::EPSILON * grand_mean {
            continue;
        }
        let scale = -0.5 / value.sqrt();
        for (row, point) in points.iter_mut().enumerate() {
            let sum: f64 = (0..size)
                .map(|place| vector[place] * (distances[place][row] - means[place]))
                .sum();
            point[axis] = scale * sum;
        }
        fix_sign(&mut points, axis);
    }
    progress.at(1.0)?;
    Ok(Map {
        points,
        eigenvalues: [pairs[0].0, pairs[1].0],
    })
}

/// Some of the rows, drawn at random, in ascending order.
pub(super) fn draw(num_rows: usize, num_wanted: usize, seed: u64) -> Vec<usize> {
    let num_wanted = num_wanted.min(num_rows);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn: Vec<usize> = (0..num_rows).collect();
    for place in 0..num_wanted {
        // As `u64`, so that 32-bit machines draw the same rows.
        let other = rng.random_range(place as u64..num_rows as u64);
        drawn.swap(place, other as usize);
    }
    drawn.truncate(num_wanted);
    drawn.sort_unstable();
    drawn
}

/// The point furthest out decides; between equals, the first.
pub(super) fn fix_sign(points: &mut [[f64; 2]], axis: usize) {
    let mut furthest = 0.0_f64;
    for point in &*points {
        if point[axis].abs() > furthest.abs() {
            furthest = point[axis];
        }
    }
    if furthest < 0.0 {
        for point in points {
            point[axis] = -point[axis];
        }
    }
}
