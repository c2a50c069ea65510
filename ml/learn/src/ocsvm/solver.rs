//! The solver: a feasible start, then parts of the problem until no row is violated.

use callgrove_model::Progress;

use super::active_rows::{ActiveRows, choose};
use super::expansion::Expansion;
use super::kernel::{Kernel, LANES, RowCache};
use super::polish::{BoundState, TOLERANCE, polish, rho};
use super::problem::UpperBounds;
use super::smo::descend;
use callgrove_trees::error::Result;
use callgrove_trees::real::Real;

/// Number of active rows beyond those with α > 0 in the first round; it doubles in every further round.
const MIN_MORE_ROWS: usize = 192;

/// Brings `expansion` to the optimum of the dual problem and returns ρ.
///
/// It starts from the α of `expansion`, cut to the bounds; the remainder of Σ α = 1 is added piece by piece where f
/// is smallest. From α = 0 this is the cold start: it selects rows far from those already selected, most of which
/// stay support vectors.
///
/// Then α of active rows is optimised by SMO and made exact by the polish, on the kernel between active rows only.
/// The changes are added to f of all rows, and rows whose f is now below ρ become active in another round. The active
/// rows double in number, so this ends.
pub(super) fn solve(
    kernel: Kernel<'_>,
    cache: &mut RowCache,
    cache_bytes: usize,
    bounds: &UpperBounds,
    expansion: &mut Expansion,
    progress: Progress<'_>,
) -> Result<f64> {
    let num_distinct = bounds.upper.len();
    if bounds.is_tight {
        let changes: Vec<(usize, f64)> = bounds.upper.iter().copied().enumerate().collect();
        apply(kernel, cache, expansion, &changes);
        return Ok(rho(
            expansion,
            &vec![BoundState::Upper; num_distinct],
            &bounds.upper,
        ));
    }
    fill_up(kernel, cache, bounds, expansion, progress.part(0.0, 0.5))?;
    let num_support = expansion
        .alpha()
        .iter()
        .filter(|&&alpha| alpha > 0.0)
        .count();
    let mut num_more = MIN_MORE_ROWS.max(num_support / 2);
    loop {
        let indices = choose(expansion, bounds, num_more);
        let mut active = ActiveRows::new(kernel, cache, cache_bytes, indices, expansion, bounds);
        descend(&mut active, progress.part(0.5, 0.9))?;
        let places = polish(&mut active);
        progress.at(0.9)?;
        let ActiveRows {
            indices,
            expansion: found,
            ..
        } = active;
        let mut place = vec![BoundState::Zero; num_distinct];
        for (&index, &found) in indices.iter().zip(&places) {
            place[index] = found;
        }
        let changes: Vec<(usize, f64)> = indices
            .iter()
            .copied()
            .zip(found.alpha().iter().copied())
            .collect();
        apply(kernel, cache, expansion, &changes);
        let least = threshold(expansion, &place);
        let num_violators = (0..num_distinct)
            .filter(|&t| place[t] == BoundState::Zero && bounds.upper[t] > 0.0)
            .filter(|&t| expansion.f(t) < least)
            .filter(|t| indices.binary_search(t).is_err())
            .count();
        if num_violators == 0 {
            return Ok(rho(expansion, &place, &bounds.upper));
        }
        num_more = 2 * num_more.max(num_violators);
    }
}

/// Returns the f below which a row at α = 0 violates its condition.
fn threshold(expansion: &Expansion, place: &[BoundState]) -> f64 {
    let f_of = |wanted: BoundState| {
        let at = (0..place.len()).filter(move |&t| place[t] == wanted);
        at.map(|t| expansion.f(t))
    };
    let num_free = f_of(BoundState::Free).count();
    if num_free > 0 {
        f_of(BoundState::Free).sum::<f64>() / num_free.real() - TOLERANCE
    } else {
        f_of(BoundState::Upper).fold(f64::NEG_INFINITY, f64::max) - TOLERANCE
    }
}

/// Applies α of some rows to f of all.
fn apply(
    kernel: Kernel<'_>,
    cache: &mut RowCache,
    expansion: &mut Expansion,
    alpha: &[(usize, f64)],
) {
    let changes: Vec<(usize, f64)> = alpha
        .iter()
        .copied()
        .filter(|&(index, alpha)| alpha.to_bits() != expansion.alpha()[index].to_bits())
        .collect();
    for changes in changes.chunks(LANES) {
        let indices: Vec<usize> = changes.iter().map(|change| change.0).collect();
        let rows = kernel.rows(cache, &indices);
        let changes: Vec<(usize, f64, &[f64])> = changes
            .iter()
            .zip(&rows)
            .map(|(&(index, alpha), row)| (index, alpha, row.as_slice()))
            .collect();
        expansion.set_all(&changes);
    }
}

fn fill_up(
    kernel: Kernel<'_>,
    cache: &mut RowCache,
    bounds: &UpperBounds,
    expansion: &mut Expansion,
    progress: Progress<'_>,
) -> Result<()> {
    let upper = &bounds.upper;
    let cut: Vec<(usize, f64)> = expansion
        .alpha()
        .iter()
        .zip(upper)
        .enumerate()
        .filter(|(_, (alpha, upper))| alpha > upper)
        .map(|(index, (_, &upper))| (index, upper))
        .collect();
    apply(kernel, cache, expansion, &cut);
    let mut missing = 1.0 - expansion.alpha().iter().sum::<f64>();
    while missing > f64::EPSILON {
        #[expect(clippy::cast_possible_truncation, reason = "a share is in range")]
        progress.at((1.0 - missing) as f32)?;
        let mut pieces = Vec::with_capacity(LANES);
        for index in lowest_below_bound(expansion, upper) {
            let old = expansion.alpha()[index];
            let slack = upper[index] - old;
            let piece = slack.min(missing).min(bounds.unit);
            let alpha = if piece < slack {
                old + piece
            } else {
                upper[index]
            };
            pieces.push((index, alpha));
            missing -= piece;
            if missing <= f64::EPSILON {
                break;
            }
        }
        if pieces.is_empty() {
            break;
        }
        apply(kernel, cache, expansion, &pieces);
    }
    Ok(())
}

/// Returns the rows of smallest f that are below their bounds, at most [`LANES`], the smallest first.
fn lowest_below_bound(expansion: &Expansion, upper: &[f64]) -> Vec<usize> {
    let f = |index| expansion.scaled_f(index);
    let mut lowest: Vec<usize> = Vec::with_capacity(LANES + 1);
    let mut largest = i64::MAX;
    for (index, (alpha, upper)) in expansion.alpha().iter().zip(upper).enumerate() {
        if f(index) < largest && alpha < upper {
            let place = lowest.partition_point(|&other| f(other) <= f(index));
            lowest.insert(place, index);
            if lowest.len() > LANES {
                lowest.pop();
            }
            if lowest.len() == LANES {
                largest = f(lowest[LANES - 1]);
            }
        }
    }
    lowest
}
