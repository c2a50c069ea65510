//! Sequential minimal optimisation with second-order working set selection.

use callgrove_model::Progress;

use super::expansion::Expansion;
use super::kernel::{KernelCache, LANES};
use super::problem::{Bounds, Problem};
use crate::dataset::Rows;
use crate::error::Result;

/// Largest violation of the optimality conditions that is left to the polish, in units of f ∈ 0..1.
const TOLERANCE: f64 = 1e-7;
/// Smallest curvature along a pair, for rows that are equal but for rounding.
const MIN_CURVATURE: f64 = 1e-12;
const ITERATIONS_PER_REPORT: usize = 512;

/// What the solvers work on.
pub(super) struct Workspace<'a> {
    pub(super) rows: &'a Rows,
    pub(super) problem: &'a Problem,
    pub(super) bounds: &'a Bounds,
    pub(super) kernel: &'a mut KernelCache,
}

impl Workspace<'_> {
    pub(super) fn kernel_row(&mut self, index: usize) -> std::sync::Arc<[f64]> {
        self.kernel.row(self.rows, self.problem, index)
    }
}

/// Moves `expansion` near the optimum of the dual problem.
///
/// It starts from the α that `expansion` has, cut to the bounds; what is missing of Σ α = 1 goes
/// piece by piece to where f is smallest. From α = 0 this is the cold start: it picks rows far from
/// those already picked, most of which stay support vectors.
pub(super) fn optimise(
    work: &mut Workspace<'_>,
    expansion: &mut Expansion,
    progress: Progress<'_>,
) -> Result<()> {
    let mut alpha = expansion.alpha().to_vec();
    let mut f = expansion.all_f();
    fill_up(work, &mut alpha, &mut f, progress.part(0.0, 0.3))?;
    descend(work, &mut alpha, &mut f, progress.part(0.3, 1.0))?;
    for (index, &alpha) in alpha.iter().enumerate() {
        if alpha.to_bits() != expansion.alpha()[index].to_bits() {
            let row = work.kernel_row(index);
            expansion.set(index, alpha, &row);
        }
    }
    Ok(())
}

fn fill_up(
    work: &mut Workspace<'_>,
    alpha: &mut [f64],
    f: &mut [f64],
    progress: Progress<'_>,
) -> Result<()> {
    let bounds = work.bounds;
    for (index, alpha) in alpha.iter_mut().enumerate() {
        let upper = bounds.upper[index];
        if *alpha > upper {
            let row = work.kernel_row(index);
            add_scaled(f, upper - *alpha, &row);
            *alpha = upper;
        }
    }
    let mut missing = 1.0 - alpha.iter().sum::<f64>();
    while missing > f64::EPSILON {
        progress.at((1.0 - missing) as f32)?;
        let lowest = lowest_with_room(alpha, &bounds.upper, f);
        if lowest.is_empty() {
            break;
        }
        work.kernel.prepare(work.rows, work.problem, &lowest);
        for index in lowest {
            let room = bounds.upper[index] - alpha[index];
            let piece = room.min(missing).min(bounds.unit);
            alpha[index] = if piece < room {
                alpha[index] + piece
            } else {
                bounds.upper[index]
            };
            missing -= piece;
            let row = work.kernel_row(index);
            add_scaled(f, piece, &row);
            if missing <= f64::EPSILON {
                break;
            }
        }
    }
    Ok(())
}

/// The rows of smallest f that are below their bounds, at most [`LANES`], the smallest first.
fn lowest_with_room(alpha: &[f64], upper: &[f64], f: &[f64]) -> Vec<usize> {
    let mut lowest: Vec<usize> = Vec::with_capacity(LANES + 1);
    let mut largest = f64::INFINITY;
    for index in 0..alpha.len() {
        if f[index] < largest && alpha[index] < upper[index] {
            let place = lowest.partition_point(|&other| f[other] <= f[index]);
            lowest.insert(place, index);
            if lowest.len() > LANES {
                lowest.pop();
            }
            if lowest.len() == LANES {
                largest = f[lowest[LANES - 1]];
            }
        }
    }
    lowest
}

fn descend(
    work: &mut Workspace<'_>,
    alpha: &mut [f64],
    f: &mut [f64],
    progress: Progress<'_>,
) -> Result<()> {
    let upper = &work.bounds.upper;
    let max_iterations = 1_000_000_usize.max(100 * alpha.len());
    let mut first_gap = None;
    for iteration in 0..max_iterations {
        let Some(up) = select_up(alpha, upper, f) else {
            break;
        };
        let up_row = work.kernel.row(work.rows, work.problem, up);
        let (gap, down) = select_down(alpha, f, f[up], &up_row);
        let Some(down) = down.filter(|_| gap > TOLERANCE) else {
            break;
        };
        if iteration % ITERATIONS_PER_REPORT == 0 {
            let first_gap: f64 = *first_gap.get_or_insert(gap);
            let share = (first_gap / gap).ln() / (first_gap / TOLERANCE).ln().max(1e-9);
            progress.at(share as f32)?;
        }
        let down_row = work.kernel.row(work.rows, work.problem, down);
        let curvature = (2.0 - 2.0 * up_row[down]).max(MIN_CURVATURE);
        let wanted = (f[down] - f[up]) / curvature;
        let room = upper[up] - alpha[up];
        let step = wanted.min(room).min(alpha[down]);
        // Bounds are met exactly, so that later comparisons with them are exact too.
        alpha[up] = if step < room {
            alpha[up] + step
        } else {
            upper[up]
        };
        alpha[down] = if step < alpha[down] {
            alpha[down] - step
        } else {
            0.0
        };
        for ((f, up), down) in f.iter_mut().zip(&*up_row).zip(&*down_row) {
            *f += step * (up - down);
        }
    }
    Ok(())
}

/// The row of smallest f that is below its bound; the first of equals.
fn select_up(alpha: &[f64], upper: &[f64], f: &[f64]) -> Option<usize> {
    let mut best = None;
    let mut smallest_f = f64::INFINITY;
    for t in 0..alpha.len() {
        if f[t] < smallest_f && alpha[t] < upper[t] {
            smallest_f = f[t];
            best = Some(t);
        }
    }
    best
}

/// The largest violation against a row of value `f_up`, and the row whose pair with it promises the
/// largest descent.
fn select_down(alpha: &[f64], f: &[f64], f_up: f64, up_row: &[f64]) -> (f64, Option<usize>) {
    let mut largest_f = f64::NEG_INFINITY;
    let mut best = (0.0, None);
    for t in 0..alpha.len() {
        if alpha[t] <= 0.0 {
            continue;
        }
        largest_f = largest_f.max(f[t]);
        let gap = f[t] - f_up;
        if gap > 0.0 {
            let descent = gap * gap / (2.0 - 2.0 * up_row[t]).max(MIN_CURVATURE);
            if descent > best.0 {
                best = (descent, Some(t));
            }
        }
    }
    (largest_f - f_up, best.1)
}

fn add_scaled(f: &mut [f64], factor: f64, kernel_row: &[f64]) {
    for (f, kernel) in f.iter_mut().zip(kernel_row) {
        *f += factor * kernel;
    }
}
