//! The distribution of the largest surprise of normal trees.

use serde::{Deserialize, Serialize};

use callgrove_trees::real::{Real, whole};

/// Quantile that is reliable: each kind of surprise is abnormal in fewer of the trees than are beyond it, though all
/// kinds together may be abnormal in more.
const RELIABLE_QUANTILE: f64 = 0.97;
/// Minimum scale of the tail, in nats. The scale of a surprise which is the logarithm of a probability is 1, less the
/// correction for several parts; if hardly any tree differs from the others it would be 0.
const MIN_SCALE: f64 = 0.25;
/// Number of stored quantiles of the half below the median.
const NUM_LOWER: usize = 16;

/// The distribution of a surprise over trees: quantiles below the median, and above it an exponential tail through
/// the median and the largest reliable quantile. So the size of abnormal surprises does not affect it: with the mean
/// of all values above the median they would hide themselves. It makes surprises of different kinds comparable;
/// `callgrove_judge::decision` decides which trees are abnormal.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SurpriseLaw {
    /// Quantiles of the lower half, from the smallest surprise to the median, ascending.
    lower: Vec<f64>,
    median: f64,
    scale: f64,
}

impl SurpriseLaw {
    /// Fits `surprises`, finite and from 0 on, in any order.
    pub(super) fn fit(surprises: &[f64]) -> Self {
        let mut sorted = surprises.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1).real();
        let at = |share: f64| sorted.get(whole(share * last)).copied().unwrap_or(0.0);
        let median = at(0.5);
        let scale = (at(RELIABLE_QUANTILE) - median) / (0.5 / (1.0 - RELIABLE_QUANTILE)).ln();
        let below = &sorted[..sorted.len() / 2];
        let quantile = |step: usize| {
            let at = step * below.len().saturating_sub(1) / NUM_LOWER;
            below.get(at).map_or(0.0, |&surprise| surprise.min(median))
        };
        Self {
            lower: (0..NUM_LOWER).map(quantile).chain([median]).collect(),
            median,
            scale: scale.max(MIN_SCALE),
        }
    }

    /// Returns the share of trees with at least such a surprise, in (0, 1].
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

    /// Returns whether all numbers are finite and in order.
    pub(super) fn is_valid(&self) -> bool {
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

    #[test]
    fn abnormal_trees_do_not_widen_the_tail() {
        let clean: Vec<f64> = (0..970).map(|at| f64::from(at) / 970.0).collect();
        let mut mixed = clean.clone();
        mixed.extend([50.0; 30]);
        let (clean, mixed) = (SurpriseLaw::fit(&clean), SurpriseLaw::fit(&mixed));
        let (alone, with_others) = (clean.p_value(5.0).ln(), mixed.p_value(5.0).ln());
        assert!(
            (alone / with_others - 1.0).abs() < 0.1,
            "{alone} {with_others}"
        );
    }

    proptest! {
        #[test]
        fn a_p_value_falls_with_the_surprise(
            surprises in prop::collection::vec(0.0..20.0_f64, 0..200),
            (near, step) in (0.0..30.0_f64, 0.0..10.0_f64),
        ) {
            let law = SurpriseLaw::fit(&surprises);
            prop_assert!(law.is_valid(), "{:?}", law);
            let (p_near, p_far) = (law.p_value(near), law.p_value(near + step));
            prop_assert!(p_far <= p_near, "{} {}", p_near, p_far);
            prop_assert!(p_far > 0.0 && p_near <= 1.0);
        }
    }
}
