//! The tail distribution of the excess of normal trees.

use serde::{Deserialize, Serialize};

use super::pareto::{LARGEST_SCALE, LARGEST_SHAPE, fit_pareto};
use crate::decision::quantiles::{ascending, lower_scale, quantile};
use callgrove_trees::real::{Real, whole};

/// Quantiles that may be reliable, each with the one at which its tail begins and that of a standard normal
/// distribution.
const WINDOWS: [(f64, f64, f64); 6] = [
    (0.99, 0.90, 2.326),
    (0.97, 0.85, 1.881),
    (0.93, 0.78, 1.476),
    (0.88, 0.73, 1.175),
    (0.80, 0.66, 0.842),
    (0.72, 0.59, 0.583),
];
/// The last window: up to a third of the values is abnormal.
const LAST_WINDOW: (f64, f64) = (0.67, 0.55);
/// Multiple of the quantile of a normal distribution above which a quantile counts as contaminated.
const MAX_HEAVINESS: f64 = 5.0;
/// Distance from the middle below which a value may be noise: 20 % of the usual duration in quiet programs.
const MAX_NOISE: f64 = 2.0;
/// Expected number of normal values as large as one that the second fit leaves out.
const MAX_EXPECTED_NORMAL: f64 = 0.01;
/// Minimum number of values from which a tail is usable.
const MIN_VALUES: usize = 30;
/// Maximum difference by rounding between the stored numbers of a fit.
const ROUNDING: f64 = 1e-6;
/// Number of stored quantiles of the body, in addition to the smallest value.
const NUM_BODY: usize = 64;

/// The distribution of a statistic for normal trees: its body by quantiles, its tail by a generalised Pareto
/// distribution (peaks over threshold, Siffer et al., KDD 2017).
///
/// # Fit
///
/// The tail is fitted between a threshold and the largest reliable quantile: the largest one that is at most five
/// times that of a normal distribution with the scale of the lower half. So contamination of up to a third has no
/// effect. Values that are certainly abnormal are then left out, and the fit is repeated on the rest.
///
/// Exceedances at one time are one: with b of B bins of the run hit (a bin is as long as the median duration), k_eff
/// = ln(1 − b/B) / ln(1 − 1/B), which takes the role of the extremal index (Ferro and Segers 2003). Few exceedances
/// make the tail heavier: the predictive survival of an exponential distribution with unknown scale is a Pareto
/// distribution of shape 1/k, so the shape used is ξ + 1/k_eff.
///
/// NaN is as common as the smallest value. n values: a sort, and 420 points of a grid.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NullTail {
    /// Quantiles in equal steps of probability, ascending.
    body: Vec<f64>,
    /// Start of the tail.
    threshold: f64,
    /// Share of the values above it, above 0 and below 1.
    tail_share: f64,
    /// Scale of the tail, above 0.
    scale: f64,
    /// Shape of the tail, from 0 on.
    shape: f64,
    /// Number of independent exceedances.
    num_effective: f64,
    /// Number of values that it was fitted to.
    num_values: usize,
}

/// A value with the time range in which it occurred, nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Observation {
    /// The statistic.
    pub value: f64,
    /// Start of the time range.
    pub entry_ns: i64,
    /// End of the time range.
    pub exit_ns: i64,
}

impl NullTail {
    /// Fits the tail of `observations`, in any order, of which up to a third may be abnormal.
    pub fn fit(observations: &[Observation]) -> Self {
        let first = Self::fit_once(observations);
        let most = (MAX_EXPECTED_NORMAL / observations.len().max(1).real()).ln();
        let is_kept = |seen: &&Observation| first.ln_p(seen.value, 0.0) >= most;
        let rest: Vec<Observation> = observations.iter().filter(is_kept).copied().collect();
        if rest.len() == observations.len() || 2 * rest.len() < observations.len() {
            return first;
        }
        Self::fit_once(&rest)
    }

    fn fit_once(observations: &[Observation]) -> Self {
        let sorted = ascending(observations.iter().map(|seen| seen.value).collect());
        let at = |share: f64| quantile(&sorted, share);
        let middle = at(0.5);
        let scale = lower_scale(&sorted, 1e-9);
        let is_trusted = |&&(share, _, normal): &&(f64, f64, f64)| {
            at(share) - middle <= (MAX_HEAVINESS * normal * scale).max(MAX_NOISE)
        };
        let window = WINDOWS.iter().find(is_trusted);
        let (trusted, begin) = window.map_or(LAST_WINDOW, |window| (window.0, window.1));
        let (threshold, limit) = (at(begin), at(trusted));
        let fitted = fit_pareto(&sorted, threshold, limit, scale);
        let beyond: Vec<Observation> = observations
            .iter()
            .filter(|seen| seen.value >= threshold) // ties make no step
            .copied()
            .collect();
        let body = (0..=NUM_BODY).map(|step| at(step.real() / NUM_BODY.real()));
        Self {
            body: body.collect(),
            threshold,
            tail_share: 1.0 - begin,
            scale: fitted.scale,
            shape: fitted.shape,
            num_effective: num_independent(&beyond, observations).max(1.0),
            num_values: observations.len(),
        }
    }

    /// Returns ln of the share of normal values that are at least as large, up to 0. `min_scale` is the minimum scale
    /// of the tail: the larger, the more cautious.
    pub fn ln_p(&self, value: f64, min_scale: f64) -> f64 {
        if value > self.threshold {
            let shape = self.shape + 1.0 / self.num_effective;
            let excess = (value - self.threshold) / self.scale.max(min_scale);
            return self.tail_share.ln() - (shape * excess).ln_1p() / shape;
        }
        let above = self.body.partition_point(|&knot| knot < value);
        let Some(&low) = above.checked_sub(1).and_then(|at| self.body.get(at)) else {
            return 0.0;
        };
        let high = self.body.get(above).copied().unwrap_or(low);
        let step = if high > low {
            (value - low) / (high - low)
        } else {
            0.0
        };
        let below = (above.real() - 1.0 + step) / NUM_BODY.real();
        (1.0 - below).clamp(self.tail_share, 1.0).ln()
    }

    /// Returns whether it was fitted to too few values to judge any.
    pub fn is_too_small(&self) -> bool {
        self.num_values < MIN_VALUES
    }

    /// Returns the number of values that it was fitted to.
    pub fn num_values(&self) -> usize {
        self.num_values
    }

    /// Returns whether its numbers can be the result of a fit.
    pub fn is_valid(&self) -> bool {
        let is_finite = |number: &f64| number.is_finite();
        let numbers = [self.threshold, self.scale, self.num_effective];
        let is_sorted = self.body.len() == NUM_BODY + 1 && self.body.is_sorted();
        let is_window = |begin: f64| (1.0 - begin - self.tail_share).abs() < ROUNDING;
        let mut begins = WINDOWS.iter().map(|window| window.1).chain([LAST_WINDOW.1]);
        if !is_sorted || !self.body.iter().chain(&numbers).all(is_finite) || !begins.any(is_window)
        {
            return false;
        }
        let range = self.body[NUM_BODY] - self.body[0];
        let close = ROUNDING * (1.0 + range);
        let below = whole((1.0 - self.tail_share) * NUM_BODY.real());
        let knots = self.body[below] - close..=self.body[below + 1] + close;
        knots.contains(&self.threshold)
            && self.scale > 0.0
            && self.scale <= LARGEST_SCALE * range + close
            && (0.0..=LARGEST_SHAPE + ROUNDING).contains(&self.shape)
            && self.num_effective >= 1.0
            && self.num_effective <= self.num_values.max(1).real() + ROUNDING
    }
}

/// Returns the number of independent exceedances: those within one median duration are one.
pub(super) fn num_independent(beyond: &[Observation], all: &[Observation]) -> f64 {
    let num = beyond.len().real();
    let durations = all.iter().map(|seen| (seen.exit_ns - seen.entry_ns).real());
    let width = quantile(&ascending(durations.collect()), 0.5).max(1.0);
    let start = all.iter().map(|seen| seen.entry_ns).min().unwrap_or(0);
    let end = all.iter().map(|seen| seen.exit_ns).max().unwrap_or(0);
    if all.iter().all(|seen| seen.entry_ns == start) {
        return num; // trees without times
    }
    let num_bins = ((end - start).real() / width).floor().max(1.0);
    let bin = |seen: &Observation| whole((seen.entry_ns - start).real() / width);
    let mut bins: Vec<usize> = beyond.iter().map(bin).collect();
    bins.sort_unstable();
    bins.dedup();
    let num_hit = bins.len().real();
    if beyond.len() < 2 || num_bins <= 1.0 || num_hit >= num_bins {
        return num;
    }
    let independent = (-num_hit / num_bins).ln_1p() / (-1.0 / num_bins).ln_1p();
    independent.min(num)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn observed(values: impl IntoIterator<Item = f64>) -> Vec<Observation> {
        let values = (0_i64..).zip(values);
        values
            .map(|(at, value)| Observation {
                value,
                entry_ns: at * 100,
                exit_ns: at * 100 + 100,
            })
            .collect()
    }

    /// Evenly by probability: half a logistic body, an exponential tail.
    fn body(num: u32) -> impl Iterator<Item = f64> {
        // 7919 is prime, so the indices come in a mixed order.
        (0..num).map(move |at| {
            let share = (f64::from(at * 7_919 % num) + 0.5) / f64::from(num);
            (share / (1.0 - share)).ln()
        })
    }

    #[test]
    fn p_values_are_shares_in_body_and_tail() {
        let tail = NullTail::fit(&observed(body(4_000)));
        for share in [0.5_f64, 0.1, 0.01, 0.001] {
            let value = ((1.0 - share) / share).ln();
            let p_value = tail.ln_p(value, 0.0).exp();
            // With few data, the estimate is on the safe side.
            assert!(
                (0.5..5.0).contains(&(p_value / share)),
                "{share}: {p_value}"
            );
        }
    }

    #[test]
    fn a_third_of_abnormal_values_is_still_certain() {
        let wrong = (0..1_800).map(|at| 80.0 + f64::from(at) / 10.0);
        let tail = NullTail::fit(&observed(body(4_000).chain(wrong)));
        assert!(tail.ln_p(80.0, 0.6) < -9.0, "{tail:?}");
        assert!(tail.ln_p(2.0, 0.6).exp() > 0.05, "{tail:?}");
    }

    #[test]
    fn simultaneous_exceedances_count_once() {
        let mut together = observed(body(4_000));
        for (at, seen) in together.iter_mut().enumerate() {
            let moment = i64::try_from(at / 16).unwrap() * 100;
            (seen.entry_ns, seen.exit_ns) = (moment, moment + 100);
        }
        together.sort_by(|a, b| a.value.total_cmp(&b.value));
        for (at, seen) in together.iter_mut().enumerate() {
            let moment = i64::try_from(at / 16).unwrap() * 100;
            (seen.entry_ns, seen.exit_ns) = (moment, moment + 100);
        }
        let apart = NullTail::fit(&observed(body(4_000)));
        let tail = NullTail::fit(&together);
        assert!(
            tail.num_effective < apart.num_effective / 8.0,
            "{tail:?} {apart:?}"
        );
        assert!(tail.ln_p(20.0, 0.0) > apart.ln_p(20.0, 0.0));
    }

    #[test]
    fn handles_equal_values_and_no_values() {
        for values in [vec![], vec![0.0], vec![1.0; 50], vec![0.0; 500]] {
            let tail = NullTail::fit(&observed(values));
            assert!(tail.is_valid(), "{tail:?}");
            assert!(tail.ln_p(100.0, 0.6) <= 0.0);
        }
    }

    proptest! {
        #[test]
        fn a_p_value_falls_with_the_value(
            values in prop::collection::vec(-5.0..50.0_f64, 1..200),
            (near, step) in (-9.0..60.0_f64, 0.0..10.0_f64),
        ) {
            let tail = NullTail::fit(&observed(values));
            prop_assert!(tail.is_valid(), "{:?}", tail);
            let (p_near, p_far) = (tail.ln_p(near, 0.6), tail.ln_p(near + step, 0.6));
            prop_assert!(p_far <= p_near + 1e-12, "{} {}", p_near, p_far);
            prop_assert!(p_far.is_finite() && p_near <= 0.0);
        }
    }
}
