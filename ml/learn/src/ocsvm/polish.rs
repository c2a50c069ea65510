//! The exact optimum from an approximate one: an active-set method on the optimality conditions.

use super::active_rows::ActiveRows;
use super::expansion::{Expansion, from_scaled, to_scaled};
use super::kernel::KernelRow;
use crate::cholesky::Cholesky;
use callgrove_trees::real::Real;

/// Maximum violation of the optimality conditions by rounding.
pub(super) const TOLERANCE: f64 = 1e-12;

/// The position of a row's α between its bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BoundState {
    Zero,
    Free,
    Upper,
}

/// Brings the active rows to their optimum and returns their bound states.
///
/// Rows are free (0 < α < bound) or at a bound. Each round solves for the α of the free rows at which all their f are
/// equal (and Σ α = 1), moves towards that solution as far as the bounds allow, and then frees the row with the
/// largest violation. The objective falls with every round, so no set occurs twice; the cap on rounds only prevents
/// endless rounding.
pub(super) fn polish(active: &mut ActiveRows<'_>) -> Vec<BoundState> {
    let mut state: Vec<BoundState> = active
        .upper
        .iter()
        .zip(active.expansion.alpha())
        .map(|(&bound, &alpha)| match alpha {
            alpha if alpha <= 0.0 => BoundState::Zero,
            alpha if alpha >= bound => BoundState::Upper,
            _ => BoundState::Free,
        })
        .collect();
    let num_free = state
        .iter()
        .filter(|&&state| state == BoundState::Free)
        .count();
    let max_rounds = 200 + 10 * num_free;
    for _ in 0..max_rounds {
        let free: Vec<usize> = (0..state.len())
            .filter(|&index| state[index] == BoundState::Free)
            .collect();
        if let Some(blocking) = move_to_solution(active, &free) {
            state[blocking.0] = blocking.1;
            continue;
        }
        let violators = worst_violators(&active.expansion, &state, &active.upper);
        if violators.is_empty() {
            break;
        }
        for index in violators {
            state[index] = BoundState::Free;
        }
    }
    state
}

/// Moves the α of free rows to the solution of their equations, or to the first bound on the way; in that case
/// returns that bound with its row.
fn move_to_solution(active: &mut ActiveRows<'_>, free: &[usize]) -> Option<(usize, BoundState)> {
    if free.is_empty() {
        return None;
    }
    let kernel_rows: Vec<KernelRow> = free.iter().map(|&t| active.kernel_row(t)).collect();
    let (expansion, upper) = (&mut active.expansion, &active.upper);
    let solution = solve(upper, expansion, free, &kernel_rows);
    let mut share = 1.0;
    let mut blocking = None;
    for (&index, &target) in free.iter().zip(&solution) {
        let (alpha, bound) = (expansion.alpha()[index], upper[index]);
        let (limit, state) = if target < 0.0 {
            (0.0, BoundState::Zero)
        } else if target > bound {
            (bound, BoundState::Upper)
        } else {
            continue;
        };
        let reach = ((limit - alpha) / (target - alpha)).clamp(0.0, 1.0);
        if reach < share || blocking.is_none() {
            share = reach;
            blocking = Some((index, state));
        }
    }
    let moved: Vec<(usize, f64, &[f64])> = free
        .iter()
        .zip(&solution)
        .zip(&kernel_rows)
        .map(|((&index, &target), row)| {
            let alpha = expansion.alpha()[index];
            let moved = match blocking {
                Some((row, BoundState::Zero)) if row == index => 0.0,
                Some((row, _)) if row == index => upper[index],
                Some(_) => (alpha + share * (target - alpha)).clamp(0.0, upper[index]),
                None => target,
            };
            (index, moved, row.as_slice())
        })
        .collect();
    expansion.set_all(&moved);
    blocking
}

/// Returns the α of the free rows F with K_FF α_F + f_B = ρ 1 and Σ α = 1, where f_B comes from the rows at their
/// upper bounds. The right-hand sides are exact sums over rows in order of index, so the result depends only on which
/// rows are free and at the bound.
fn solve(
    upper: &[f64],
    expansion: &Expansion,
    free: &[usize],
    kernel_rows: &[KernelRow],
) -> Vec<f64> {
    let num_rows = free.len();
    let alpha = expansion.alpha();
    let mut is_free = vec![false; alpha.len()];
    for &index in free {
        is_free[index] = true;
    }
    let bound_mass: i64 = (0..alpha.len())
        .filter(|&index| !is_free[index] && alpha[index] > 0.0)
        .map(|index| to_scaled(upper[index]))
        .sum();
    let free_mass = 1.0 - from_scaled(bound_mass);
    let bound_f: Vec<f64> = free
        .iter()
        .map(|&t| {
            let own: i64 = free
                .iter()
                .zip(kernel_rows)
                .map(|(&j, row)| to_scaled(alpha[j] * row[t]))
                .sum();
            from_scaled(expansion.scaled_f(t) - own)
        })
        .collect();
    let matrix: Vec<f64> = kernel_rows
        .iter()
        .flat_map(|row| free.iter().map(|&t| row[t]))
        .collect();
    let factor = Cholesky::new(&matrix, num_rows);
    let ones = factor.solve_refined(&matrix, &vec![1.0; num_rows]);
    let shift = factor.solve_refined(&matrix, &bound_f);
    let rho = (free_mass + shift.iter().sum::<f64>()) / ones.iter().sum::<f64>();
    ones.iter()
        .zip(&shift)
        .map(|(one, shift)| rho * one - shift)
        .collect()
}

/// Returns the row at 0 or at its upper bound whose f is furthest on the wrong side of the free rows' f. If no row is
/// free, returns the pair with the largest violation.
fn worst_violators(expansion: &Expansion, state: &[BoundState], upper: &[f64]) -> Vec<usize> {
    let mut low = None::<(f64, usize)>;
    let mut high = None::<(f64, usize)>;
    let (mut free_sum, mut num_free) = (0.0, 0_usize);
    for (index, &state) in state.iter().enumerate() {
        let f = expansion.f(index);
        match state {
            BoundState::Zero if upper[index] > 0.0 && low.is_none_or(|(least, _)| f < least) => {
                low = Some((f, index));
            }
            BoundState::Upper if high.is_none_or(|(most, _)| f > most) => high = Some((f, index)),
            BoundState::Free => {
                free_sum += f;
                num_free += 1;
            }
            BoundState::Zero | BoundState::Upper => {}
        }
    }
    if num_free == 0 {
        return match (low, high) {
            (Some((least, low)), Some((most, high))) if most - least > TOLERANCE => {
                vec![low, high]
            }
            _ => Vec::new(),
        };
    }
    let rho = free_sum / num_free.real();
    let below = low.map_or(0.0, |(least, _)| rho - least);
    let above = high.map_or(0.0, |(most, _)| most - rho);
    let worst = if below >= above { low } else { high };
    worst
        .filter(|_| below.max(above) > TOLERANCE)
        .map(|(_, index)| index)
        .into_iter()
        .collect()
}

/// Returns ρ of an optimum, as defined in the module's documentation.
pub(super) fn rho(expansion: &Expansion, state: &[BoundState], upper: &[f64]) -> f64 {
    let (mut free_sum, mut num_free) = (0.0, 0_usize);
    let (mut most_at_upper, mut least_at_zero) = (f64::NEG_INFINITY, f64::INFINITY);
    for (index, &state) in state.iter().enumerate() {
        let f = expansion.f(index);
        match state {
            BoundState::Free => {
                free_sum += f;
                num_free += 1;
            }
            BoundState::Upper if upper[index] > 0.0 => most_at_upper = most_at_upper.max(f),
            BoundState::Zero if upper[index] > 0.0 => least_at_zero = least_at_zero.min(f),
            BoundState::Upper | BoundState::Zero => {}
        }
    }
    if num_free > 0 {
        free_sum / num_free.real()
    } else if least_at_zero.is_infinite() {
        most_at_upper
    } else if most_at_upper.is_infinite() {
        least_at_zero
    } else {
        0.5 * (most_at_upper + least_at_zero)
    }
}
