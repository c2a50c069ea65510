//! How large the largest surprise of a tree is when nothing is wrong.

use serde::{Deserialize, Serialize};

use crate::real::{Real, whole};

/// Least scale of the tail in medians.
const LEAST_SCALE: f64 = 0.5;
/// Quantiles of the half below the median that are kept.
const NUM_LOWER: usize = 16;

/// The distribution of a surprise over trees: quantiles below the median, an exponential tail above it
/// with the mean of all that lie there. It makes surprises of different kinds comparable; whether a tree
/// is abnormal, [`crate::decision`] says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SurpriseLaw {
    /// Quantiles of the lower half, from the least surprise to the median, ascending.
    lower: Vec<f64>,
    median: f64,
    scale: f64,
}

impl SurpriseLaw {
    /// Fits `surprises`, finite and from 0 on, in any order; `least_median` stands for a smaller median.
    pub(super) fn fit(surprises: &[f64], least_median: f64) -> Self {
        let mut sorted = surprises.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let middle = whole(0.5 * sorted.len().saturating_sub(1).real());
        let median = sorted.get(middle).copied().unwrap_or(0.0).max(least_median);
        let tail = &sorted[sorted.partition_point(|&surprise| surprise <= median)..];
        let beyond: f64 = tail.iter().map(|surprise| surprise - median).sum();
        let below = &sorted[..sorted.len() / 2];
        let quantile = |step: usize| {
            let at = step * below.len().saturating_sub(1) / NUM_LOWER;
            below.get(at).map_or(0.0, |&surprise| surprise.min(median))
        };
        Self {
            lower: (0..NUM_LOWER).map(quantile).chain([median]).collect(),
            median,
            scale: (beyond / tail.len().max(1).real()).max(LEAST_SCALE * median),
        }
    }

    /// The share of trees with such a surprise or a larger one, in (0, 1].
    pub(super) fn p_value(&self, surprise: f64) -> f64 {
        if surprise >= self.median {
            return (0.5 * (-(surprise - self.median) / self.scale).exp()).max(f64::MIN_POSITIVE);
        }
        let above = self.lower.partition_point(|&quantile| quantile <= surprise);
        let Some(&low) = above.checked_sub(1).and_then(|at| self.lower.get(at)) else {
            return 1.0;
        };
        let high = self.lower.get(above).copied().unwrap_or(self.median);
        let step = if high > low {
            (surprise - low) / (high - low)
        } else {
            0.0
        };
        1.0 - 0.5 * (above.real() - 1.0 + step) / NUM_LOWER.real()
    }

    /// Whether all numbers are finite and in order.
    pub(super) fn is_whole(&self) -> bool {
        self.lower.is_sorted()
            && self.lower.len() == NUM_LOWER + 1
            && self.lower.last() == Some(&self.median)
            && [self.median, self.scale]
                .iter()
                .all(|number| number.is_finite() && *number >= 0.0)
            && self.scale > 0.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_p_value_falls_with_the_surprise(
            surprises in prop::collection::vec(0.0..20.0_f64, 0..200),
            (near, step) in (0.0..30.0_f64, 0.0..10.0_f64),
        ) {
            let law = SurpriseLaw::fit(&surprises, 0.1);
            prop_assert!(law.is_whole(), "{:?}", law);
            let (p_near, p_far) = (law.p_value(near), law.p_value(near + step));
            prop_assert!(p_far <= p_near, "{} {}", p_near, p_far);
            prop_assert!(p_far > 0.0 && p_near <= 1.0);
        }
    }
}
