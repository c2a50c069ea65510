//! The distribution of sizes of one kind: times, weights or counts.

use callgrove_trees::real::Real;
use serde::{Deserialize, Serialize};

/// Number of stored quantiles: those of the shares 0/16 to 15/16.
const NUM_QUANTILES: usize = 16;
/// Minimum scale of a tail, in units of ln: a difference of a twentieth is not surprising.
const MIN_SCALE: f64 = 0.05;

/// The distribution of ln of a size: quantiles, and beyond the last one an exponential tail, that is, a power law of
/// the sizes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SizeLaw {
    quantiles: Vec<f64>,
    scale: f64,
}

impl SizeLaw {
    /// Fits the ln of at least one size; sorts them.
    pub(super) fn fit(logs: &mut [f64]) -> Self {
        Self::fit_with(logs, |_| MIN_SCALE)
    }

    /// Fits ln(1 + count) of at least one count; sorts them. The minimum scale of the tail is a step of one count,
    /// since no count is in between.
    pub(super) fn fit_counts(logs: &mut [f64]) -> Self {
        Self::fit_with(logs, |last| (last.exp() + 1.0).ln() - last)
    }

    /// Fits with `min_scale`, which returns the minimum scale of the tail beyond the last quantile.
    fn fit_with(logs: &mut [f64], min_scale: impl Fn(f64) -> f64) -> Self {
        logs.sort_unstable_by(f64::total_cmp);
        let quantile = |part: usize| logs[part * (logs.len() - 1) / NUM_QUANTILES];
        let quantiles: Vec<f64> = (0..NUM_QUANTILES).map(quantile).collect();
        // From a quarter to a sixteenth is twice ln 2.
        let scale = (quantiles[NUM_QUANTILES - 1] - quantiles[3 * NUM_QUANTILES / 4])
            / (2.0 * std::f64::consts::LN_2);
        let scale = scale.max(min_scale(quantiles[NUM_QUANTILES - 1]));
        Self { quantiles, scale }
    }

    /// Returns −ln of the share of values that are at least as large, from 0 on. Its mean over usual values is 1.
    pub(super) fn surprise(&self, log: f64) -> f64 {
        let above = self.quantiles.partition_point(|&quantile| quantile < log);
        let Some(below) = above.checked_sub(1) else {
            return 0.0;
        };
        let low = self.quantiles[below];
        let Some(&high) = self.quantiles.get(above) else {
            return (NUM_QUANTILES.real()).ln() + (log - low) / self.scale;
        };
        let share = (below.real() + (log - low) / (high - low)) / NUM_QUANTILES.real();
        -(-share).ln_1p()
    }

    /// Returns the median of the sizes.
    pub(super) fn median(&self) -> f64 {
        self.quantiles[NUM_QUANTILES / 2].exp_m1()
    }

    pub(super) fn is_valid(&self) -> bool {
        self.quantiles.len() == NUM_QUANTILES
            && self.quantiles.is_sorted()
            && self.quantiles.iter().all(|quantile| quantile.is_finite())
            && self.scale.is_finite()
            && self.scale > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_times_have_a_mean_surprise_of_one_and_long_ones_more() {
        // A power law: ln time is exponential with mean 1/2.
        let mut logs: Vec<f64> = (0..4_000)
            .map(|place| -0.5 * (1.0 - (f64::from(place) + 0.5) / 4_000.0).ln())
            .collect();
        let law = SizeLaw::fit(&mut logs);
        let mean = logs.iter().map(|&log| law.surprise(log)).sum::<f64>() / 4_000.0;
        assert!((mean - 1.0).abs() < 0.05, "{mean}");
        assert!(
            (law.surprise(4.0) - 8.0).abs() < 0.3,
            "{}",
            law.surprise(4.0)
        );
        assert!(law.surprise(-1.0) <= 0.0);
    }

    #[test]
    fn one_more_is_a_step_of_a_count() {
        let law = SizeLaw::fit_counts(&mut [2.0_f64.ln(); 40]);
        let one_more = law.surprise(3.0_f64.ln());
        assert!(
            (one_more - (16.0_f64.ln() + 1.0)).abs() < 1e-9,
            "{one_more}"
        );
    }

    #[test]
    fn handles_equal_times() {
        let law = SizeLaw::fit(&mut [3.0; 5]);
        assert!(law.is_valid());
        assert!(law.surprise(3.0) <= 0.0 && law.surprise(3.5) > 10.0);
    }
}
