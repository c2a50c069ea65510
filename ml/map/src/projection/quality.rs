//! Quality of a map: how far it can be trusted.

use callgrove_model::Progress;
use rayon::prelude::*;

use super::points::check_points;
use crate::knn::{Neighbours, all_nearest, nearest_among, squared_distance};
use callgrove_trees::dataset::{DenseRows, Rows};
use callgrove_trees::error::Result;
use callgrove_trees::real::Real;

/// Number of rows whose distances are computed together.
const GROUP: usize = 8;

/// Returns the trustworthiness (Venna and Kaski 2001), 0..=1: whether the `k` nearest on the map are also near among
/// the rows. 1 if no distant rows are near each other on the map.
///
/// ```text
/// T = 1 − 2 / (n k (2n − 3k − 1)) Σ_i Σ_(j in the k nearest on the map, not in truth) (rank_ij − k)
/// ```
///
/// Equally distant rows rank in order of index. With fewer than 3k/2 + 1 rows it is undefined, and 1 is returned.
/// Cost: rows² distances, and k times as many comparisons.
///
/// # Errors
/// [`callgrove_trees::MlError::BadNumber`] if a point is not finite, [`callgrove_trees::MlError::LengthMismatch`] if
/// there is not one point for each row.
pub fn trustworthiness(rows: &Rows, points: &[[f64; 2]], k: usize) -> Result<f64> {
    check_points(points, rows.len())?;
    let n = rows.len();
    if k == 0 || 2 * n <= 3 * k + 1 {
        return Ok(1.0);
    }
    let map = Rows::Dense(DenseRows::new(2, points.concat())?);
    let on_map = all_nearest(&map, k, Progress::none())?;
    let penalty_of_group = |first: usize| {
        let last = (first + GROUP).min(n);
        let from = |lane: usize| rows.row((first + lane).min(last - 1));
        let mut distances = rows.squared_distances_from::<GROUP>(std::array::from_fn(from));
        let mut penalty = 0;
        for (row, in_truth) in (first..last).zip(&mut distances) {
            in_truth[row] = f64::INFINITY;
            for &other in on_map.of(row).0 {
                penalty += rank_of(other as usize, in_truth).saturating_sub(k);
            }
        }
        penalty as u64
    };
    let groups: Vec<usize> = (0..n).step_by(GROUP).collect();
    let penalty: u64 = groups.into_par_iter().map(penalty_of_group).sum();
    let (n, k) = (n.real(), k.real());
    Ok(1.0 - 2.0 * penalty.real() / (n * k * (2.0 * n - 3.0 * k - 1.0)))
}

/// Returns the [`trustworthiness`] of every step-th row, so that at most `max_rows` count.
///
/// # Errors
/// See [`trustworthiness`].
pub fn trustworthiness_sampled(
    rows: &Rows,
    points: &[[f64; 2]],
    k: usize,
    max_rows: usize,
) -> Result<f64> {
    check_points(points, rows.len())?;
    let sampled = sample(rows.len(), max_rows);
    let points: Vec<[f64; 2]> = sampled.iter().map(|&row| points[row]).collect();
    trustworthiness(&rows.select(&sampled), &points, k)
}

/// Returns the share of the `k` nearest rows that are also among the `k` nearest on the map, 0..=1: the mean over
/// every step-th row, so that at most `max_rows` count; their neighbours are searched among all rows. 1 if there are
/// no neighbours.
///
/// Equally near rows come in order of index.
///
/// # Errors
/// [`callgrove_trees::MlError::BadNumber`] if a point is not finite, [`callgrove_trees::MlError::LengthMismatch`] if
/// there is not one point for each row.
pub fn neighbours_preserved(
    rows: &Rows,
    points: &[[f64; 2]],
    k: usize,
    max_rows: usize,
) -> Result<f64> {
    check_points(points, rows.len())?;
    let map = Rows::Dense(DenseRows::new(2, points.concat())?);
    let sampled = sample(rows.len(), max_rows);
    // One more than wanted, since each row is nearest to itself.
    let nearest = |rows: &Rows| {
        nearest_among(
            rows,
            &rows.select(&sampled),
            k.saturating_add(1),
            Progress::none(),
        )
    };
    let (in_truth, on_map) = (nearest(rows)?, nearest(&map)?);
    let k = in_truth.k.saturating_sub(1);
    if k == 0 {
        return Ok(1.0);
    }
    let mut num_kept = 0;
    for (query, &row) in sampled.iter().enumerate() {
        let others = |neighbours: &Neighbours| -> Vec<u32> {
            let all = neighbours.of(query).0.iter().copied();
            all.filter(|&other| other as usize != row).take(k).collect()
        };
        let in_truth = others(&in_truth);
        num_kept += others(&on_map)
            .iter()
            .filter(|other| in_truth.contains(other))
            .count();
    }
    Ok(num_kept.real() / (k * sampled.len()).real())
}

/// Returns Kruskal's stress 1 of a map at its best scale, 0..=1: 0 if the distances on the map are those of the rows
/// up to a factor.
///
/// ```text
/// min_s √(Σ (s d_ij − δ_ij)² / Σ δ²_ij) = √(1 − (Σ d_ij δ_ij)² / (Σ d²_ij Σ δ²_ij))
/// ```
///
/// over the pairs of every step-th row, so that at most `max_rows` count. 0 if all rows are equal, 1 if all points
/// are equal but not the rows.
///
/// # Errors
/// [`callgrove_trees::MlError::BadNumber`] if a point is not finite, [`callgrove_trees::MlError::LengthMismatch`] if
/// there is not one point for each row.
pub fn kruskal_stress(rows: &Rows, points: &[[f64; 2]], max_rows: usize) -> Result<f64> {
    check_points(points, rows.len())?;
    let sampled = sample(rows.len(), max_rows);
    let of_row = |index: usize| {
        let mut sums = [0.0; 3];
        let (row, point) = (rows.row(sampled[index]), points[sampled[index]]);
        for &other in &sampled[index + 1..] {
            let in_truth = squared_distance(row, rows.row(other));
            let on_map = (point[0] - points[other][0]).hypot(point[1] - points[other][1]);
            sums[0] += on_map * in_truth.sqrt();
            sums[1] += on_map * on_map;
            sums[2] += in_truth;
        }
        sums
    };
    let by_row: Vec<[f64; 3]> = (0..sampled.len()).into_par_iter().map(of_row).collect();
    let [product, on_map, in_truth] =
        [0, 1, 2].map(|index| by_row.iter().map(|sums| sums[index]).sum::<f64>());
    if in_truth <= 0.0 {
        return Ok(0.0);
    }
    if on_map <= 0.0 {
        return Ok(1.0);
    }
    Ok((1.0 - product / on_map * (product / in_truth))
        .max(0.0)
        .sqrt())
}

/// Returns every step-th row, at most `max_rows` of them.
fn sample(num_rows: usize, max_rows: usize) -> Vec<usize> {
    let step = num_rows.div_ceil(max_rows.max(1)).max(1);
    (0..num_rows).step_by(step).collect()
}

/// Returns the rank of a row by its distance; the nearest has 1.
fn rank_of(row: usize, distances: &[f64]) -> usize {
    let distance = distances[row];
    let before = distances[..row].iter().filter(|&&other| other <= distance);
    let after = distances[row + 1..]
        .iter()
        .filter(|&&other| other < distance);
    1 + before.count() + after.count()
}
