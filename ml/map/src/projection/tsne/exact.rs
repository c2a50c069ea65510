//! Gradient and divergence over all pairs, in double precision.

use rayon::prelude::*;

use super::affinities::Affinities;

/// Returns the weight 1 / (1 + |a − b|²) and a − b.
fn pair(a: [f64; 2], b: [f64; 2]) -> (f64, [f64; 2]) {
    let [dx, dy] = [a[0] - b[0], a[1] - b[1]];
    (1.0 / (1.0 + dx * dx + dy * dy), [dx, dy])
}

/// Returns Σ_j w_ij² (y_i − y_j) for each point, and Z.
fn repulsion(points: &[[f64; 2]]) -> (Vec<[f64; 2]>, f64) {
    let sums: Vec<([f64; 2], f64)> = points
        .par_iter()
        .map(|&point| {
            let (mut force, mut sum) = ([0.0; 2], -1.0);
            for &other in points {
                let (weight, [dx, dy]) = pair(point, other);
                sum += weight;
                force[0] += weight * weight * dx;
                force[1] += weight * weight * dy;
            }
            (force, sum)
        })
        .collect();
    let normaliser = sums.iter().map(|(_, sum)| sum).sum();
    (
        sums.into_iter().map(|(force, _)| force).collect(),
        normaliser,
    )
}

/// The gradient with p_ij raised by `exaggeration`.
pub(super) fn gradient(
    affinities: &Affinities,
    points: &[[f64; 2]],
    exaggeration: f64,
) -> Vec<[f64; 2]> {
    let (mut slopes, normaliser) = repulsion(points);
    slopes.par_iter_mut().enumerate().for_each(|(row, slope)| {
        let mut pull = [0.0; 2];
        let (columns, values) = affinities.of(row);
        for (&column, &value) in columns.iter().zip(values) {
            let (weight, [dx, dy]) = pair(points[row], points[column as usize]);
            pull[0] += exaggeration * value * weight * dx;
            pull[1] += exaggeration * value * weight * dy;
        }
        *slope = [0, 1].map(|axis| 4.0 * (pull[axis] - slope[axis] / normaliser));
    });
    slopes
}

/// The Kullback-Leibler divergence.
pub(super) fn divergence(affinities: &Affinities, points: &[[f64; 2]]) -> f64 {
    let (_, normaliser) = repulsion(points);
    let of_row = |row: usize| {
        let (columns, values) = affinities.of(row);
        let pairs = columns
            .iter()
            .zip(values)
            .filter(|(_, value)| **value > 0.0);
        let terms = pairs.map(|(&column, &value)| {
            let (weight, _) = pair(points[row], points[column as usize]);
            value * (value * normaliser / weight).ln()
        });
        terms.sum::<f64>()
    };
    let by_row: Vec<f64> = (0..points.len()).into_par_iter().map(of_row).collect();
    by_row.iter().sum()
}
