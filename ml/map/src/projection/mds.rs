//! Classical and landmark multidimensional scaling.

use callgrove_model::Progress;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::eigen::two_largest;
use super::params::ValidMdsParams;
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;
use callgrove_trees::real::{Real, fraction};

/// Number of landmarks whose distances are computed together.
const GROUP: usize = 8;

/// A map: one point per row.
#[derive(Clone, PartialEq, Debug)]
pub struct Map {
    /// Points [x, y] in the units of the distances.
    pub points: Vec<[f64; 2]>,
    /// Variance along x and y: the eigenvalues of the landmarks' centred matrix (with pivots, of that of all rows).
    pub eigenvalues: [f64; 2],
}

/// Places rows so that distances on the map approximate the Euclidean distances between rows.
///
/// Landmarks are drawn at random. Signs are fixed: on each axis the point furthest from the centre is on the positive
/// side, so the same rows always give the same map.
///
/// Cost: landmarks × rows distances, and a few hundred products with a landmarks² matrix.
///
/// # Errors
/// [`callgrove_trees::MlError::Cancelled`].
pub fn landmark_mds(
    rows: &Rows,
    params: ValidMdsParams,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Map> {
    let landmarks = draw(rows.len(), params.num_landmarks(), seed);
    mds_with_landmarks(rows, &landmarks, progress)
}

/// Computes [`landmark_mds`] with given landmarks.
///
/// # Errors
/// [`callgrove_trees::MlError::Cancelled`].
pub fn mds_with_landmarks(rows: &Rows, landmarks: &[usize], progress: Progress<'_>) -> Result<Map> {
    let size = landmarks.len();
    let selected = rows.select(landmarks);
    let between: Vec<Vec<f64>> = (0..size)
        .map(|landmark| selected.squared_distances(selected.row(landmark)))
        .collect();
    let mean = |distances: &Vec<f64>| distances.iter().sum::<f64>() / size.real();
    let means: Vec<f64> = between.iter().map(mean).collect();
    let grand_mean = means.iter().sum::<f64>() / size.max(1).real();
    let mut centred = Vec::with_capacity(size * size);
    for (a, distances) in between.iter().enumerate() {
        for (b, distance) in distances.iter().enumerate() {
            centred.push(-0.5 * (distance - means[a] - means[b] + grand_mean));
        }
    }
    let pairs = two_largest(&centred, size);
    progress.at(0.1)?;
    // Group by group, so that the distances of all rows are never stored together.
    let mut points = vec![[0.0; 2]; rows.len()];
    for first in (0..size).step_by(GROUP) {
        progress.at(0.1 + 0.85 * fraction(first, size))?;
        let num_places = GROUP.min(size - first);
        let from = |lane: usize| selected.row(first + lane.min(num_places - 1));
        let shares: [[f64; 2]; GROUP] = std::array::from_fn(|lane| {
            let index = first + lane;
            let is_one = index < size;
            pairs
                .each_ref()
                .map(|pair| if is_one { pair.1[index] } else { 0.0 })
        });
        let means: [f64; GROUP] =
            std::array::from_fn(|lane| means[first + lane.min(num_places - 1)]);
        rows.fold_squared_distances(
            std::array::from_fn(from),
            &mut points,
            |point, distances: &[f64; GROUP]| {
                for lane in 0..GROUP {
                    let difference = distances[lane] - means[lane];
                    point[0] += shares[lane][0] * difference;
                    point[1] += shares[lane][1] * difference;
                }
            },
        );
    }
    for (axis, (value, _)) in pairs.iter().enumerate() {
        let is_flat = *value <= f64::EPSILON * grand_mean;
        let scale = -0.5 / value.sqrt();
        for point in &mut points {
            point[axis] = if is_flat { 0.0 } else { scale * point[axis] };
        }
        fix_sign(&mut points, axis);
    }
    progress.at(1.0)?;
    Ok(Map {
        points,
        eigenvalues: [pairs[0].0, pairs[1].0],
    })
}

/// Returns some of the rows, drawn at random, in ascending order.
#[expect(clippy::cast_possible_truncation, reason = "a drawn number is a row")]
pub(super) fn draw(num_rows: usize, num_wanted: usize, seed: u64) -> Vec<usize> {
    let num_wanted = num_wanted.min(num_rows);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn: Vec<usize> = (0..num_rows).collect();
    for index in 0..num_wanted {
        // As `u64`, so that 32-bit machines draw the same rows.
        let other = rng.random_range(index as u64..num_rows as u64);
        drawn.swap(index, other as usize);
    }
    drawn.truncate(num_wanted);
    drawn.sort_unstable();
    drawn
}

/// Makes the coordinate of the point furthest out positive; among equal ones, the first decides.
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
