//! Stress majorisation: moves a map until its distances approximate those of the rows best.

use std::sync::Arc;

use callgrove_model::Progress;
use rayon::prelude::*;
use wide::f64x4;

use super::points::check_points;
use crate::knn::squared_distance;
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::{MlError, Result};
use callgrove_trees::real::{Real, fraction};

/// Maximum number of rows whose distances are stored in double precision, which takes 16 MB.
const MAX_DOUBLE_ROWS: usize = 2_048;
/// Maximum number of rows; their distances in single precision take 134 MB.
const MAX_ROWS: usize = 8_192;
/// Number of parts of the pairs that are summed separately; the same for any number of threads.
const NUM_PARTS: usize = 16;
/// Number of pairs that are summed at once.
const LANES: usize = 4;
/// Smallest distance that counts; the square of a smaller one is 0.
const SMALLEST_DISTANCE: f64 = 1e-150;

/// A map that improves with each step (SMACOF: de Leeuw 1977; de Leeuw and Mair 2009, doi:10.18637/jss.v031.i03),
/// unweighted and metric.
///
/// ```text
/// stress = Σ_(i<j) (d_ij − δ_ij)²          d_ij on the map, δ_ij between rows
/// y_i ← 1/n Σ_j δ_ij / d_ij (y_i − y_j)     (the Guttman transform; 0 where d_ij = 0)
/// ```
///
/// No step raises the stress, up to rounding. The caller steps as long as the stress falls: from a start by
/// [`super::landmark_mds`] or [`super::pivot_mds`], 20 steps give nine tenths of the gain.
///
/// Cost of a step: rows² / 2 distances in the plane. The rows' distances are computed once and stored: 4 bytes for
/// each pair, 8 up to 2,048 rows. More than 8,192 rows are refused: use landmarks or t-SNE, whose cost does not grow
/// with the square.
#[derive(Clone, Debug)]
pub struct Smacof {
    targets: Arc<Targets>,
    points: Vec<[f64; 2]>,
    /// The points after the next step.
    next: Vec<[f64; 2]>,
    stress: f64,
}

/// Distances of each row to those after it, row after row.
#[derive(Debug)]
enum Targets {
    Double(Vec<f64>),
    Single(Vec<f32>),
}

impl Smacof {
    /// Creates a map that begins with the points `start`.
    ///
    /// # Errors
    /// [`MlError::TooManyRows`] above 8,192; [`MlError::LengthMismatch`] if there is not one point for
    /// each row, [`MlError::BadNumber`] if one is not finite; [`MlError::Cancelled`].
    pub fn new(rows: &Rows, start: Vec<[f64; 2]>, progress: Progress<'_>) -> Result<Self> {
        if rows.len() > MAX_ROWS {
            return Err(MlError::TooManyRows {
                what: "stress majorisation",
                max: MAX_ROWS,
                found: rows.len(),
            });
        }
        check_points(&start, rows.len())?;
        let targets = if rows.len() <= MAX_DOUBLE_ROWS {
            Targets::Double(distances(rows, |distance| distance, progress)?)
        } else {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "single precision is intended"
            )]
            let single = |distance| distance as f32;
            Targets::Single(distances(rows, single, progress)?)
        };
        let mut map = Self {
            targets: Arc::new(targets),
            next: Vec::new(),
            points: start,
            stress: 0.0,
        };
        map.compute_next();
        Ok(map)
    }

    /// Makes `num_steps` steps and returns the stress.
    ///
    /// # Errors
    /// [`MlError::Cancelled`]; the map then keeps the steps made so far.
    pub fn step(&mut self, num_steps: usize, progress: Progress<'_>) -> Result<f64> {
        for step in 0..num_steps {
            progress.at(fraction(step, num_steps))?;
            self.points = std::mem::take(&mut self.next);
            self.compute_next();
        }
        progress.at(1.0)?;
        Ok(self.stress)
    }

    /// Returns points [x, y], one per row, in the unit of the rows' distances.
    pub fn points(&self) -> &[[f64; 2]] {
        &self.points
    }

    /// Returns the stress of the current points, in the squared unit of the rows' distances.
    pub fn stress(&self) -> f64 {
        self.stress
    }

    fn compute_next(&mut self) {
        (self.next, self.stress) = match &*self.targets {
            Targets::Double(targets) => transform(targets, &self.points),
            Targets::Single(targets) => transform(targets, &self.points),
        };
    }
}

fn distances<T: Send>(
    rows: &Rows,
    store: impl Fn(f64) -> T + Sync,
    progress: Progress<'_>,
) -> Result<Vec<T>> {
    const ROWS_PER_WAVE: usize = 256;
    let num_rows = rows.len();
    let mut all = Vec::with_capacity(num_rows * num_rows.saturating_sub(1) / 2);
    for first in (0..num_rows).step_by(ROWS_PER_WAVE) {
        progress.at(fraction(all.len(), all.capacity().max(1)))?;
        let of_row = |row: usize| {
            let to = |other| store(squared_distance(rows.row(row), rows.row(other)).sqrt());
            (row + 1..num_rows).map(to).collect::<Vec<T>>()
        };
        let wave: Vec<Vec<T>> = (first..(first + ROWS_PER_WAVE).min(num_rows))
            .into_par_iter()
            .map(of_row)
            .collect();
        all.extend(wave.into_iter().flatten());
    }
    progress.at(1.0)?;
    Ok(all)
}

/// Sums over the pairs of some rows with the rows after them.
struct Part {
    xs: Vec<f64>,
    ys: Vec<f64>,
    stress: f64,
}

/// Returns the points after the Guttman transform, and the stress before it.
fn transform<T: Copy + Into<f64> + Sync>(
    targets: &[T],
    points: &[[f64; 2]],
) -> (Vec<[f64; 2]>, f64) {
    let num_rows = points.len();
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().map(|&[x, y]| (x, y)).unzip();
    let parts: Vec<Part> = parts(num_rows)
        .into_par_iter()
        .map(|rows| {
            let mut part = Part {
                xs: vec![0.0; num_rows],
                ys: vec![0.0; num_rows],
                stress: 0.0,
            };
            for row in rows {
                let start = row * num_rows - row * (row + 1) / 2;
                part.add(row, &targets[start..start + num_rows - 1 - row], &xs, &ys);
            }
            part
        })
        .collect();
    let mut next = vec![[0.0; 2]; num_rows];
    let mut stress = 0.0;
    for part in &parts {
        stress += part.stress;
        for ((next, x), y) in next.iter_mut().zip(&part.xs).zip(&part.ys) {
            next[0] += x / num_rows.real();
            next[1] += y / num_rows.real();
        }
    }
    (next, stress)
}

/// Returns ranges of rows with about equally many pairs each.
fn parts(num_rows: usize) -> Vec<std::ops::Range<usize>> {
    let num_pairs = num_rows * num_rows.saturating_sub(1) / 2;
    let (mut ranges, mut start, mut pairs) = (Vec::new(), 0, 0);
    for row in 0..num_rows {
        pairs += num_rows - 1 - row;
        if pairs * NUM_PARTS >= num_pairs * (ranges.len() + 1) || row + 1 == num_rows {
            ranges.push(start..row + 1);
            start = row + 1;
        }
    }
    ranges
}

impl Part {
    /// Adds the pairs of a row with the rows after it, at distances `targets`.
    fn add<T: Copy + Into<f64>>(&mut self, row: usize, targets: &[T], xs: &[f64], ys: &[f64]) {
        let after = row + 1;
        let (targets, last_targets) = targets.as_chunks::<LANES>();
        let (other_xs, last_xs) = xs[after..].as_chunks::<LANES>();
        let (other_ys, last_ys) = ys[after..].as_chunks::<LANES>();
        let (out_xs, last_out_xs) = self.xs[after..].as_chunks_mut::<LANES>();
        let (out_ys, last_out_ys) = self.ys[after..].as_chunks_mut::<LANES>();
        let mut pair = Pair::new(xs[row], ys[row]);
        let others = other_xs.iter().zip(other_ys);
        let out = out_xs.iter_mut().zip(out_ys);
        for ((targets, (xs, ys)), (out_x, out_y)) in targets.iter().zip(others).zip(out) {
            let (pull_x, pull_y) = pair.with(targets, xs, ys);
            *out_x = (f64x4::new(*out_x) - pull_x).to_array();
            *out_y = (f64x4::new(*out_y) - pull_y).to_array();
        }
        if !last_targets.is_empty() {
            // Padded with the row itself, which is at distance 0 from itself.
            let (mut targets, mut own_xs, mut own_ys) =
                ([0.0; LANES], [xs[row]; LANES], [ys[row]; LANES]);
            own_xs[..last_xs.len()].copy_from_slice(last_xs);
            own_ys[..last_ys.len()].copy_from_slice(last_ys);
            for (target, &last) in targets.iter_mut().zip(last_targets) {
                *target = last.into();
            }
            let (pull_x, pull_y) = pair.with(&targets, &own_xs, &own_ys);
            let pulls = pull_x.to_array().into_iter().zip(pull_y.to_array());
            for ((out_x, out_y), (x, y)) in last_out_xs.iter_mut().zip(last_out_ys).zip(pulls) {
                *out_x -= x;
                *out_y -= y;
            }
        }
        let add = |lanes: f64x4| lanes.to_array().iter().sum::<f64>();
        self.xs[row] += add(pair.sum_x);
        self.ys[row] += add(pair.sum_y);
        self.stress += add(pair.stress);
    }
}

/// One row paired with others, and the sums over them.
struct Pair {
    x: f64x4,
    y: f64x4,
    sum_x: f64x4,
    sum_y: f64x4,
    stress: f64x4,
}

impl Pair {
    fn new(x: f64, y: f64) -> Self {
        Self {
            x: f64x4::splat(x),
            y: f64x4::splat(y),
            sum_x: f64x4::ZERO,
            sum_y: f64x4::ZERO,
            stress: f64x4::ZERO,
        }
    }

    /// Adds δ / d (y_i − y_j) of four others.
    #[inline]
    fn with<T: Copy + Into<f64>>(
        &mut self,
        targets: &[T; LANES],
        xs: &[f64; LANES],
        ys: &[f64; LANES],
    ) -> (f64x4, f64x4) {
        let target = f64x4::new([
            targets[0].into(),
            targets[1].into(),
            targets[2].into(),
            targets[3].into(),
        ]);
        let (dx, dy) = (self.x - f64x4::new(*xs), self.y - f64x4::new(*ys));
        let distance = (dx * dx + dy * dy).sqrt();
        // Where the distance is 0, so are dx and dy.
        let ratio = target / distance.fast_max(f64x4::splat(SMALLEST_DISTANCE));
        let (pull_x, pull_y) = (ratio * dx, ratio * dy);
        self.sum_x += pull_x;
        self.sum_y += pull_y;
        self.stress += (distance - target) * (distance - target);
        (pull_x, pull_y)
    }
}
