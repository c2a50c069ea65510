//! Cycles: executions of a lane that differ by their position in a cycle.

use rayon::prelude::*;

use super::quantiles::{ascending, quantile};
use callgrove_trees::real::Real;

/// Maximum length of a cycle, in executions.
const MAX_CYCLE: u32 = 32;
/// Minimum median number of executions of a lane in a phase of a cycle.
const MIN_IN_PHASE: usize = 12;
/// Maximum spread with a longer cycle, as a share of that with a shorter one.
const MAX_SPREAD_RATIO: f64 = 0.6;
/// Maximum number of executions that are examined; complete lanes, evenly chosen.
const MAX_EXECUTIONS: usize = 20_000;

/// The value of an execution, its lane and its index in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    pub(super) lane: usize,
    pub(super) index: u32,
    pub(super) value: f64,
}

/// Returns the shortest cycle that explains the values: from 1 on, where 1 means no cycle.
///
/// A cycle of P executions replaces a shorter one if the median absolute deviation about the medians of lane and
/// phase (index modulo P) falls to 60 % or less. n executions, 32 sorts of n.
pub(super) fn period(executions: &[Timed]) -> u32 {
    let chosen = chosen(executions);
    let spreads: Vec<Option<f64>> = (1..=MAX_CYCLE)
        .into_par_iter()
        .map(|period| spread(&chosen, period))
        .collect();
    let mut best = (1, f64::INFINITY);
    for (period, spread) in (1..).zip(spreads) {
        let Some(spread) = spread else {
            break;
        };
        if period == 1 || spread < MAX_SPREAD_RATIO * best.1 {
            best = (period, spread);
        }
    }
    best.0
}

/// Returns the executions of evenly chosen lanes, up to the maximum for each lane.
fn chosen(executions: &[Timed]) -> Vec<Timed> {
    let mut sorted = executions.to_vec();
    sorted.sort_unstable_by_key(|timed| (timed.lane, timed.index));
    if sorted.len() <= MAX_EXECUTIONS {
        return sorted;
    }
    let lanes: Vec<&[Timed]> = sorted.chunk_by(|a, b| a.lane == b.lane).collect();
    let step = sorted.len().div_ceil(MAX_EXECUTIONS);
    let of_lane = MAX_EXECUTIONS / lanes.len().div_ceil(step).max(1);
    let kept = lanes.into_iter().step_by(step);
    kept.flat_map(|lane| lane.iter().take(of_lane).copied())
        .collect()
}

/// Returns the median absolute deviation about the medians of lane and phase, corrected for their degrees of freedom;
/// `None` if phases have too few executions.
fn spread(executions: &[Timed], period: u32) -> Option<f64> {
    let mut keyed: Vec<(usize, u32, f64)> = executions
        .iter()
        .map(|timed| (timed.lane, timed.index % period, timed.value))
        .collect();
    keyed.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2)));
    let mut sizes = Vec::new();
    let mut deviations = Vec::with_capacity(keyed.len());
    for phase in keyed.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        sizes.push(phase.len());
        let middle = phase[phase.len() / 2].2;
        deviations.extend(phase.iter().map(|execution| (execution.2 - middle).abs()));
    }
    let num_phases = sizes.len();
    sizes.sort_unstable();
    if *sizes.get(num_phases / 2)? < MIN_IN_PHASE {
        return None;
    }
    let num = deviations.len();
    let freedom = num.real() / num.saturating_sub(num_phases).max(1).real();
    Some(quantile(&ascending(deviations), 0.5) * freedom.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executions(value: impl Fn(u32) -> f64) -> Vec<Timed> {
        let of_lane = |lane: u32| (0..200).map(move |index| (lane, index));
        (0..4)
            .flat_map(of_lane)
            .map(|(lane, index)| Timed {
                lane: usize::try_from(lane).unwrap(),
                index,
                value: value(index) + f64::from((index * 37 + lane * 11) % 29),
            })
            .collect()
    }

    #[test]
    fn finds_a_cycle_but_none_in_noise() {
        assert_eq!(period(&executions(|_| 100.0)), 1);
        assert_eq!(period(&executions(|index| 100.0 * f64::from(index % 4))), 4);
        assert_eq!(period(&[]), 1);
    }
}
