//! Placement of new points in a finished map.

use callgrove_model::Progress;
use rayon::prelude::*;

use super::affinities::fit_shares;
use super::params::ValidTsneParams;
use super::quadtree::Quadtree;
use super::repulsion::Sources;
use crate::knn::nearest_among;
use crate::projection::points::check_points;
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::{MlError, Result};
use callgrove_trees::real::{Real, fraction};

/// Maximum number of iterations for a new point.
const MAX_ITERATIONS: usize = 100;
/// Maximum move of one iteration.
const MAX_MOVE: f64 = 5.0;
/// Move below which the iterations end.
const MIN_MOVE: f64 = 1e-3;
/// Number of rows between two reports of progress.
const ROWS_PER_WAVE: usize = 1_024;

/// Places new rows in a finished t-SNE map, whose points do not move.
///
/// `rows` are the rows of the map, `points` their positions. Each new row i has affinities p_j|i to its nearest
/// neighbours among `rows`, as in [`super::Affinities`]; it starts at their weighted mean and descends the gradient
/// of its own divergence Σ_j p_j|i ln(p_j|i / q_j|i), where q_j|i = w_ij / Σ_l w_il runs over the old points. After
/// Poličar, Stražar and Zupan 2019 (doi:10.1007/978-3-030-33778-0_4).
///
/// Deviations: one normaliser per new row instead of one for all, so that the position of a row does not depend on
/// the other new rows; steps of length 1 / Σ_j p_j|i w_ij, which bounds the curvature, instead of a learning rate.
///
/// Cost: the exact neighbours, and up to 100 walks through the tree of old points for each new row.
///
/// # Errors
/// [`MlError::LengthMismatch`] if there is not one point for each of `rows`, [`MlError::BadNumber`] if one is not
/// finite, [`MlError::EmptyForest`] if there are no rows; [`MlError::Cancelled`].
#[expect(
    clippy::cast_possible_truncation,
    reason = "single precision is intended"
)]
pub fn place_new(
    rows: &Rows,
    points: &[[f64; 2]],
    new_rows: &Rows,
    params: ValidTsneParams,
    progress: Progress<'_>,
) -> Result<Vec<[f64; 2]>> {
    check_points(points, rows.len())?;
    if rows.is_empty() {
        return Err(MlError::EmptyForest);
    }
    let k = params.num_neighbours(rows.len());
    let neighbours = nearest_among(rows, new_rows, k, progress.part(0.0, 0.3))?;
    let perplexity = params.get().perplexity.min(k.real() / 3.0).max(1.0);
    let single: Vec<[f32; 2]> = points.iter().map(|point| point.map(|x| x as f32)).collect();
    let mut tree = Quadtree::default();
    tree.build(&single);
    let theta = params.get().theta as f32;
    let mut placed = Vec::with_capacity(new_rows.len());
    let queries: Vec<usize> = (0..new_rows.len()).collect();
    for wave in queries.chunks(ROWS_PER_WAVE) {
        progress.at(0.3 + 0.7 * fraction(wave[0], queries.len()))?;
        let place = |sources: &mut Sources, &query: &usize| {
            let (others, distances) = neighbours.of(query);
            let mut shares = vec![0.0; others.len()];
            fit_shares(distances, perplexity, &mut shares);
            let near = others.iter().map(|&other| points[other as usize]);
            let near: Vec<([f64; 2], f64)> = near.zip(shares).collect();
            descend(&near, &tree, theta, sources)
        };
        placed.par_extend(wave.par_iter().map_init(Sources::default, place));
    }
    progress.at(1.0)?;
    Ok(placed)
}

/// Returns the position of a point with shares of old points.
#[expect(
    clippy::cast_possible_truncation,
    reason = "single precision is intended"
)]
fn descend(
    near: &[([f64; 2], f64)],
    tree: &Quadtree,
    theta: f32,
    sources: &mut Sources,
) -> [f64; 2] {
    let mean = |axis: usize| {
        near.iter()
            .map(|(point, share)| share * point[axis])
            .sum::<f64>()
    };
    let mut place = [mean(0), mean(1)];
    for _ in 0..MAX_ITERATIONS {
        let (mut pull, mut total) = ([0.0; 2], 0.0);
        for (point, share) in near {
            let [dx, dy] = [place[0] - point[0], place[1] - point[1]];
            let strength = share / (1.0 + dx * dx + dy * dy);
            total += strength;
            pull[0] += strength * dx;
            pull[1] += strength * dy;
        }
        let single = [place[0] as f32, place[1] as f32];
        sources.collect(tree, single, single, theta);
        let (push, normaliser) = sources.act_on(single[0], single[1]);
        let step =
            [0, 1].map(|axis| (f64::from(push[axis]) / f64::from(normaliser) - pull[axis]) / total);
        let length = step[0].hypot(step[1]);
        if !length.is_finite() || length < MIN_MOVE {
            break;
        }
        let scale = (MAX_MOVE / length).min(1.0);
        for axis in 0..2 {
            place[axis] += scale * step[axis];
        }
    }
    place
}
