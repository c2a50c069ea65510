//! The level of a quantity in two runs: the test of its blocks, and the rule that a change must exceed what blocks of
//! one run differ among themselves.

use callgrove_model::Real;

use super::dependence::inflation;
use super::rank_sum::RankSum;

/// Minimum number of blocks a side. With 8, two samples that are separate have a p-value of 2 / C(16, 8) = 1.6e-4,
/// which survives the correction for hundreds of tests only if several things changed; with 16 it is 3e-9.
pub const MIN_BLOCKS: usize = 8;

/// One block in eight is left out at either end of a side's range: a single disturbance in a block says nothing about
/// the level of a run, and is listed as an incident.
const TRIM_DIVISOR: usize = 8;

/// Relative difference below which two levels are equal up to rounding.
const ROUNDING: f64 = 1e-9;

/// The comparison of a quantity in two runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LevelTest {
    /// The median of the blocks of the first run.
    pub before: f64,
    /// The median of the blocks of the second run.
    pub after: f64,
    /// The median of the ratios of all pairs of blocks; `None` if a block of the first run is 0.
    pub ratio: Option<f64>,
    /// The 95 % confidence interval of the ratio.
    pub interval: Option<(f64, f64)>,
    /// The larger of the ranges of the blocks of a run, without the extreme ones.
    pub spread: f64,
    /// The two-sided p-value of the rank-sum test of the blocks.
    pub p_value: f64,
    /// True if the ranges of the two runs are farther apart than either is wide.
    pub is_separate: bool,
    /// The ratio from which an increase would be separate; `None` if the first run has a level of 0.
    pub smallest_visible: Option<f64>,
}

/// Compares the blocks of two runs, in order of time; `None` if one has fewer than [`MIN_BLOCKS`]. All results but the
/// levels and the spread are the same if all values are multiplied by a constant.
pub fn compare_levels(before: &[f64], after: &[f64]) -> Option<LevelTest> {
    if before.len().min(after.len()) < MIN_BLOCKS {
        return None;
    }
    let inflation = inflation(before, after);
    let [before, after] = [before, after].map(|values| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    });
    let test = RankSum::new(before.len(), after.len());
    let ratios = ratios(&before, &after);
    let (low, high) = (trimmed_range(&before), trimmed_range(&after));
    let spread = (low.1 - low.0).max(high.1 - high.0);
    let gap = (high.0 - low.1).max(low.0 - high.1);
    let scale = high.1.abs().max(low.1.abs());
    let levels = [median(&before), median(&after)];
    // Shifted upwards, the second range is separate once it is a spread above the first.
    let lowest = levels[1] - high.0 + low.1 + spread;
    Some(LevelTest {
        before: levels[0],
        after: levels[1],
        smallest_visible: (levels[0] > 0.0).then(|| (lowest / levels[0]).max(1.0)),
        ratio: ratios.as_deref().map(median),
        interval: ratios.and_then(|ratios| test.interval(&ratios, inflation)),
        spread,
        p_value: test.p_value(&before, &after, inflation),
        is_separate: gap > spread + ROUNDING * scale,
    })
}

/// Returns the ratios of all pairs, ascending; `None` if one is not finite.
fn ratios(before: &[f64], after: &[f64]) -> Option<Vec<f64>> {
    let pairs = before
        .iter()
        .flat_map(|one| after.iter().map(move |other| other / one));
    let mut all: Vec<f64> = pairs.collect();
    all.sort_by(f64::total_cmp);
    all.iter().all(|ratio| ratio.is_finite()).then_some(all)
}

/// Returns the median of ascending values; 0 if there are no values.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match (sorted.get(middle), sorted.len() % 2) {
        (Some(value), 1) => *value,
        (Some(value), _) => f64::midpoint(sorted[middle - 1], *value),
        (None, _) => 0.0,
    }
}

/// Returns the range of ascending values without the extreme ones.
fn trimmed_range(sorted: &[f64]) -> (f64, f64) {
    let trimmed = sorted.len() / TRIM_DIVISOR;
    let at = |place: usize| sorted.get(place).copied().unwrap_or(0.0);
    (at(trimmed), at(sorted.len().saturating_sub(trimmed + 1)))
}

/// Returns the mean of the middle half of some durations, which is their typical duration: up to a quarter of them may
/// be prolonged by something else, and a coarse clock is averaged out. The result is 0 if there are no durations;
/// reorders them.
pub fn typical_ns(durations_ns: &mut [i64]) -> f64 {
    let num = durations_ns.len();
    if num < 4 {
        let sum: i128 = durations_ns.iter().copied().map(i128::from).sum();
        return real(sum) / num.max(1).real();
    }
    let (from, to) = (num / 4, num - num / 4);
    durations_ns.select_nth_unstable(from);
    durations_ns[from..].select_nth_unstable(to - from - 1);
    let middle = &durations_ns[from..to];
    let sum: i128 = middle.iter().copied().map(i128::from).sum();
    real(sum) / middle.len().real()
}

fn real(sum: i128) -> f64 {
    i64::try_from(sum).unwrap_or(i64::MAX).real()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(level: f64, noise: f64) -> Vec<f64> {
        (0..16_u32)
            .map(|at| level * (1.0 + noise * (f64::from(at * 7 % 16) / 15.0 - 0.5)))
            .collect()
    }

    #[test]
    fn a_change_larger_than_the_spread_is_separate() {
        let test = compare_levels(&noisy(100.0, 0.02), &noisy(180.0, 0.02)).unwrap();
        assert!(test.is_separate && test.p_value < 1e-3, "{test:?}");
        assert!((test.ratio.unwrap() - 1.8).abs() < 0.01, "{test:?}");
        let (low, high) = test.interval.unwrap();
        assert!(low < 1.8 && 1.8 < high, "{test:?}");
    }

    #[test]
    fn a_steady_drift_is_no_difference_of_its_halves() {
        let drift: Vec<f64> = (0..32).map(|at| 100.0 + f64::from(at)).collect();
        let test = compare_levels(&drift[..16], &drift[16..]).unwrap();
        assert!(test.p_value > 0.01 && !test.is_separate, "{test:?}");
    }

    #[test]
    fn a_disturbed_block_changes_neither_level_nor_range() {
        let mut after = noisy(100.0, 0.02);
        after[3] = 900.0;
        after[8] = 700.0;
        let test = compare_levels(&noisy(100.0, 0.02), &after).unwrap();
        assert!(!test.is_separate && test.spread < 3.0, "{test:?}");
    }

    #[test]
    fn few_blocks_are_not_judged() {
        assert_eq!(compare_levels(&[1.0; 7], &[2.0; 16]), None);
    }

    #[test]
    fn the_typical_duration_ignores_a_quarter() {
        let mut calls = vec![100, 101, 99, 100, 9_000, 100, 100, 100];
        assert!((typical_ns(&mut calls) - 100.0).abs() < 1e-9);
        assert!((typical_ns(&mut [3, 4]) - 3.5).abs() < 1e-9);
        assert!(typical_ns(&mut []).abs() < 1e-9);
    }
}
