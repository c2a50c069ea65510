//! Sequential minimal optimisation with second-order working set selection.

use callgrove_model::Progress;
use pulp::{Simd, WithSimd};

use super::active_rows::ActiveRows;
use callgrove_trees::error::Result;

/// Maximum violation of the optimality conditions that is left to the polish, in units of f ∈ 0..1.
const TOLERANCE: f64 = 1e-7;
/// Minimum curvature along a pair, for rows that are equal up to rounding.
const MIN_CURVATURE: f64 = 1e-12;
/// Number of iterations between two reports of progress.
const ITERATIONS_PER_REPORT: usize = 512;

/// Moves the α of the active rows close to their optimum, with the others fixed.
pub(super) fn descend(active: &mut ActiveRows<'_>, progress: Progress<'_>) -> Result<()> {
    let mut alpha = active.expansion.alpha().to_vec();
    let mut f = active.expansion.all_f();
    let max_iterations = 1_000_000_usize.max(100 * alpha.len());
    let mut first_gap = None;
    let vectors = pulp::Arch::new();
    for iteration in 0..max_iterations {
        let Some(up) = select_up(&alpha, &active.upper, &f) else {
            break;
        };
        let up_row = active.kernel_row(up);
        let (gap, down) = select_down(&alpha, &f, f[up], &up_row);
        let Some(down) = down.filter(|_| gap > TOLERANCE) else {
            break;
        };
        if iteration % ITERATIONS_PER_REPORT == 0 {
            let first_gap: f64 = *first_gap.get_or_insert(gap);
            let share = (first_gap / gap).ln() / (first_gap / TOLERANCE).ln().max(1e-9);
            #[expect(clippy::cast_possible_truncation, reason = "a share is in range")]
            progress.at(share as f32)?;
        }
        let down_row = active.kernel_row(down);
        let curvature = (2.0 - 2.0 * up_row[down]).max(MIN_CURVATURE);
        let wanted = (f[down] - f[up]) / curvature;
        let slack = active.upper[up] - alpha[up];
        let step = wanted.min(slack).min(alpha[down]);
        // Bounds are met exactly, so that later comparisons with them are exact too.
        alpha[up] = if step < slack {
            alpha[up] + step
        } else {
            active.upper[up]
        };
        alpha[down] = if step < alpha[down] {
            alpha[down] - step
        } else {
            0.0
        };
        vectors.dispatch(MovePair {
            f: &mut f,
            step,
            up_row: &up_row,
            down_row: &down_row,
        });
    }
    for (index, alpha) in alpha.into_iter().enumerate() {
        active.set(index, alpha);
    }
    Ok(())
}

/// The change of f by a step along a pair, compiled by pulp per vector width.
struct MovePair<'a> {
    f: &'a mut [f64],
    step: f64,
    up_row: &'a [f64],
    down_row: &'a [f64],
}

impl WithSimd for MovePair<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for ((f, up), down) in self.f.iter_mut().zip(self.up_row).zip(self.down_row) {
            *f += self.step * (up - down);
        }
    }
}

/// Returns the row of smallest f that is below its bound; among equal ones the first.
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

/// Returns the largest violation relative to a row of value `f_up`, and the row whose pair with it has the largest
/// predicted descent.
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
