//! Robust statistics of durations, in integer nanoseconds.

use callgrove_model::{DurationNs, Real};

/// The quantile of a set of calls that is their usual duration, in percent.
pub(super) const USUAL_PERCENT: usize = 40;

/// Factor from the median absolute deviation to the standard deviation of a normal distribution.
const NORMAL_MAD: f64 = 1.4826;

/// The start and the end of a straight line through equally spaced values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct FittedLine {
    /// Value at the first point.
    pub(super) from_ns: i64,
    /// Value at the last point.
    pub(super) to_ns: i64,
}

/// Returns a count as a signed number.
pub(super) fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns the value below which `percent` of the values are. Ties within a clock tick are assumed to be spread
/// evenly over it, as in grouped data. Reorders the values. Returns 0 if there are no values.
pub(super) fn quantile(values: &mut [i64], percent: usize, tick_ns: i64) -> i64 {
    let Some(last) = values.len().checked_sub(1) else {
        return 0;
    };
    let (_, &mut value, _) = values.select_nth_unstable(last * percent / 100);
    if tick_ns <= 1 {
        return value;
    }
    let below = values.iter().filter(|&&it| it < value).count();
    let ties = values.iter().filter(|&&it| it == value).count().max(1);
    let rank = i128::from(signed(values.len() * percent)) - 100 * i128::from(signed(below));
    let within = i128::from(tick_ns) * rank / (100 * i128::from(signed(ties)));
    let within = i64::try_from(within.clamp(0, i128::from(tick_ns))).unwrap_or(0);
    value.saturating_add(within - tick_ns / 2)
}

/// Returns the median, of an even number of values the lower one; 0 if there are no values.
pub(super) fn median(mut values: Vec<i64>) -> i64 {
    quantile(&mut values, 50, 1)
}

/// Returns the median and the median absolute deviation, the latter scaled to a standard deviation.
pub(super) fn median_and_spread(values: &[i64]) -> (i64, i64) {
    let middle = median(values.to_vec());
    let deviations = values.iter().map(|it| (it - middle).saturating_abs());
    let spread = median(deviations.collect()).real() * NORMAL_MAD;
    (middle, DurationNs::nearest(spread).0)
}

/// Returns the line with the median of the slopes of all pairs, and the median of the intercepts (Theil and Sen).
pub(super) fn theil_sen(values: &[i64]) -> FittedLine {
    let mut slopes = Vec::with_capacity(values.len() * values.len() / 2);
    for (at, one) in values.iter().enumerate() {
        for (before, other) in values[..at].iter().enumerate() {
            slopes.push((one - other).real() / (at - before).real());
        }
    }
    if slopes.is_empty() {
        let only = values.first().copied().unwrap_or(0);
        return FittedLine {
            from_ns: only,
            to_ns: only,
        };
    }
    let middle = (slopes.len() - 1) / 2;
    let (_, &mut slope, _) = slopes.select_nth_unstable_by(middle, f64::total_cmp);
    let rise = |steps: usize| DurationNs::nearest(slope * steps.real()).0;
    let starts = values
        .iter()
        .enumerate()
        .map(|(at, it)| it.saturating_sub(rise(at)));
    let from_ns = median(starts.collect());
    FittedLine {
        from_ns,
        to_ns: from_ns.saturating_add(rise(values.len() - 1)),
    }
}

/// Returns Kendall's τ between the values and their order: 1 if they always rise, −1 if they always fall; ties count
/// as neither.
pub(super) fn kendall(values: &[i64]) -> f64 {
    let mut balance = 0;
    for (at, one) in values.iter().enumerate() {
        for other in &values[..at] {
            balance += (one - other).signum();
        }
    }
    let pairs = values.len() * values.len().saturating_sub(1) / 2;
    balance.real() / pairs.max(1).real()
}

/// Returns the greatest common divisor.
pub(super) fn common_divisor(mut one: i64, mut other: i64) -> i64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_outliers_moves_neither_slope_nor_usual_duration_much() {
        let mut values: Vec<i64> = (0..20).map(|at| 1_000 + 50 * at).collect();
        for at in [2, 7, 8, 13, 19] {
            values[at] = 1_000_000;
        }
        let line = theil_sen(&values);
        assert!((line.from_ns - 1_000).abs() < 100, "{line:?}");
        assert!((line.to_ns - 1_950).abs() < 300, "{line:?}");
        let mut calls = [vec![1_000_i64; 60], vec![90_000; 30]].concat();
        assert_eq!(quantile(&mut calls, USUAL_PERCENT, 1), 1_000);
    }

    #[test]
    fn a_coarse_clock_is_interpolated() {
        // 30 of 1 µs and 70 of 2 µs: 40 % are below 1.5 µs + a seventh of the tick.
        let mut values = [vec![1_000_i64; 30], vec![2_000; 70]].concat();
        assert_eq!(quantile(&mut values, 40, 1_000), 1_642);
        assert_eq!(quantile(&mut [], 40, 1_000), 0);
    }

    #[test]
    fn kendall_counts_pairs_in_order() {
        assert!((kendall(&[1, 2, 3, 4]) - 1.0).abs() < 1e-12);
        assert!((kendall(&[4, 3, 2, 1]) + 1.0).abs() < 1e-12);
        assert!((kendall(&[1, 3, 2]) - 1.0 / 3.0).abs() < 1e-12);
        assert!(kendall(&[5, 5, 5]).abs() < 1e-12);
        assert!(kendall(&[]).abs() < 1e-12);
    }

    #[test]
    fn spread_is_that_of_the_middle() {
        let (middle, spread) = median_and_spread(&[98, 99, 100, 101, 102, 500]);
        assert_eq!((middle, spread), (100, 1));
    }
}
