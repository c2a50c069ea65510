//! The distribution of distances when nothing is wrong.

use serde::{Deserialize, Serialize};

use crate::dataset::Rows;
use crate::real::{Real, whole};

/// Share of the trees, from the least distance on, that the fit begins with: contamination of up to a
/// third does not reach it.
const TRUSTED_SHARE: f64 = 2.0 / 3.0;
/// Least scale of the tail in medians. The data may ask for a longer tail, not for a shorter one: that
/// a tree stands twice as far out as is typical happens at least once in 15 times. What it was chosen by,
/// and how much hangs on it, stands in `ml/STUDY.md`.
const LEAST_SCALE: f64 = 0.5;
/// Where more of the trees at a distance or further out are wrong than this, the fit ends.
const TRUSTED_DISCOVERY: f64 = 0.5;
/// Quantiles of the half below the median that are kept.
const NUM_LOWER: usize = 16;
/// The fit settles in fewer rounds on all data that was looked at.
const MAX_ROUNDS: usize = 30;
/// Trees that are needed before a tail is believed.
const MIN_TREES: usize = 30;

/// Which distances occur when nothing is wrong: half lie below a median, and beyond it they get rarer
/// by a factor e with each step of a scale.
///
/// # Fit
///
/// The tail is a truncated exponential distribution, fitted by maximum likelihood to the distances
/// between the median and a limit. Trees beyond the limit have no say, however many they are. The
/// limit starts low and moves outwards as far as the fit explains at least half of the trees beyond it
/// (the empirical null of Efron, Large-Scale Inference, 2010, chapter 6, with a robust start; the share
/// of normal trees π₀ is estimated along with it).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NullModel {
    /// Quantiles of the lower half, from the least distance to the median, ascending.
    lower: Vec<f64>,
    median: f64,
    least_median: f64,
    scale: f64,
    normal_share: f64,
    num_trees: usize,
}

impl NullModel {
    /// Fits the norms of rows.
    pub(crate) fn of_rows(rows: &Rows, least_median: f64) -> Self {
        Self::fit(&rows.norms(), least_median)
    }

    /// Fits `distances`, finite and from 0 on, in any order. `least_median` is the smallest distance
    /// that means anything; where trees are more alike, it stands for the median.
    pub fn fit(distances: &[f64], least_median: f64) -> Self {
        let sorted = ascending(distances);
        let mut fit = Fit::start(&sorted, least_median);
        for _ in 0..MAX_ROUNDS {
            let next = fit.next(&sorted, least_median);
            if next == fit {
                break;
            }
            fit = next;
        }
        Self::new(&sorted, fit, least_median)
    }

    /// The same of distances that have a long tail even where nothing is wrong: all of them have a say.
    pub(crate) fn fit_all(distances: &[f64], least_median: f64) -> Self {
        let sorted = ascending(distances);
        let median = at_share(&sorted, 0.5).max(least_median);
        let tail = &sorted[sorted.partition_point(|&distance| distance <= median)..];
        let beyond: f64 = tail.iter().map(|distance| distance - median).sum();
        let fit = Fit {
            median,
            scale: (beyond / tail.len().max(1).real()).max(LEAST_SCALE * median),
            limit: f64::INFINITY,
            num_normal: sorted.len().real(),
        };
        Self::new(&sorted, fit, least_median)
    }

    fn new(sorted: &[f64], fit: Fit, least_median: f64) -> Self {
        let half = whole(0.5 * fit.num_normal);
        let quantile = |place: usize| {
            let below = &sorted[..half.min(sorted.len())];
            let at = place * below.len().saturating_sub(1) / NUM_LOWER;
            below
                .get(at)
                .map_or(0.0, |&distance| distance.min(fit.median))
        };
        Self {
            lower: (0..NUM_LOWER).map(quantile).chain([fit.median]).collect(),
            median: fit.median,
            least_median,
            scale: fit.scale,
            normal_share: fit.num_normal / sorted.len().max(1).real(),
            num_trees: sorted.len(),
        }
    }

    /// The share of normal trees that lie at `distance` or further out: the p-value of a tree, in (0, 1].
    pub fn p_value(&self, distance: f64) -> f64 {
        if distance >= self.median {
            return (0.5 * (-(distance - self.median) / self.scale).exp()).max(f64::MIN_POSITIVE);
        }
        let above = self.lower.partition_point(|&quantile| quantile <= distance);
        let Some(&low) = above.checked_sub(1).and_then(|at| self.lower.get(at)) else {
            return 1.0;
        };
        let high = self.lower.get(above).copied().unwrap_or(self.median);
        let step = if high > low {
            (distance - low) / (high - low)
        } else {
            0.0
        };
        1.0 - 0.5 * (above.real() - 1.0 + step) / NUM_LOWER.real()
    }

    /// The distance that a share of the normal trees, at most a half, reaches or exceeds.
    pub fn distance_of(&self, p_value: f64) -> f64 {
        self.median + self.scale * (0.5 / p_value.clamp(f64::MIN_POSITIVE, 0.5)).ln()
    }

    /// The smallest distance that means anything, as it was fitted with.
    pub(crate) fn least_median(&self) -> f64 {
        self.least_median
    }

    /// Share of the trees it was fitted to that it takes for normal.
    pub fn normal_share(&self) -> f64 {
        self.normal_share
    }

    /// Whether it was fitted to too few trees to judge any.
    pub fn is_too_small(&self) -> bool {
        self.num_trees < MIN_TREES
    }

    /// Whether all numbers are finite and in order.
    pub(crate) fn is_whole(&self) -> bool {
        let is_ordered = self.lower.is_sorted() && self.lower.last() == Some(&self.median);
        let numbers = [
            self.median,
            self.least_median,
            self.scale,
            self.normal_share,
        ];
        is_ordered
            && self.lower.len() == NUM_LOWER + 1
            && numbers
                .iter()
                .all(|number| number.is_finite() && *number >= 0.0)
            && self.scale > 0.0
    }
}

/// A round of the fit.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Fit {
    median: f64,
    scale: f64,
    /// Distances beyond have no say.
    limit: f64,
    num_normal: f64,
}

impl Fit {
    fn start(sorted: &[f64], least_median: f64) -> Self {
        let num_trusted = TRUSTED_SHARE * sorted.len().real();
        let median = at_share(sorted, 0.5 * TRUSTED_SHARE).max(least_median);
        Self {
            median,
            scale: LEAST_SCALE * median,
            limit: at_share(sorted, TRUSTED_SHARE),
            num_normal: num_trusted,
        }
    }

    fn next(self, sorted: &[f64], least_median: f64) -> Self {
        let first = sorted.partition_point(|&distance| distance <= self.median);
        let last = sorted.partition_point(|&distance| distance <= self.limit);
        let tail = sorted.get(first..last).unwrap_or(&[]);
        let width = self.limit - self.median;
        let scale = truncated_mean(tail, self.median, width).max(LEAST_SCALE * self.median);
        // What the tail's share between median and limit says of the whole of it.
        let share = -(-width.max(0.0) / scale).exp_m1();
        let num_in_tail = if tail.is_empty() {
            first.real()
        } else {
            tail.len().real() / share
        };
        let num_normal = (first.real() + num_in_tail).min(sorted.len().real());
        let expected_beyond =
            |distance: f64| num_in_tail * (-(distance - self.median) / scale).exp();
        let is_wrong = |place: &usize| {
            let num_beyond = (sorted.len() - place).real();
            expected_beyond(sorted[*place]) <= TRUSTED_DISCOVERY * num_beyond
        };
        let wrong = (first..sorted.len()).find(is_wrong).unwrap_or(sorted.len());
        let median = sorted
            .get(whole(0.5 * num_normal))
            .map_or(self.median, |&distance| distance.max(least_median));
        Self {
            median,
            scale,
            limit: wrong
                .checked_sub(1)
                .map_or(self.limit, |place| sorted[place])
                .max(median),
            num_normal,
        }
    }
}

fn ascending(distances: &[f64]) -> Vec<f64> {
    let mut sorted = distances.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

fn at_share(sorted: &[f64], share: f64) -> f64 {
    let place = whole(share * sorted.len().saturating_sub(1).real());
    sorted.get(place).copied().unwrap_or(0.0)
}

/// Scale of an exponential distribution that is cut off at `width`, by maximum likelihood: the τ with
/// τ − width / (e^(width/τ) − 1) = the mean of `tail` above `origin`. 0 of no tail; at most 10 widths,
/// since a mean of half the width and more has none.
fn truncated_mean(tail: &[f64], origin: f64, width: f64) -> f64 {
    if tail.is_empty() || width <= 0.0 {
        return 0.0;
    }
    let mean = tail.iter().map(|distance| distance - origin).sum::<f64>() / tail.len().real();
    let (mut low, mut high) = (0.0, 10.0 * width);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let expected = middle - width / (width / middle).exp_m1();
        if expected < mean {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Distances of an exponential tail with scale 1.5 above 2, evenly by probability, and below.
    fn body(num_trees: usize) -> Vec<f64> {
        (0..num_trees)
            .map(|place| {
                let share = (place.real() + 0.5) / num_trees.real();
                if share < 0.5 {
                    4.0 * share
                } else {
                    2.0 - 1.5 * (2.0 * (1.0 - share)).ln()
                }
            })
            .collect()
    }

    #[test]
    fn an_exponential_tail_is_found_and_its_p_values_are_shares() {
        let distances = body(4_000);
        let null = NullModel::fit(&distances, 0.0);
        assert!((null.median - 2.0).abs() < 0.05, "{null:?}");
        assert!((null.scale - 1.5).abs() < 0.05, "{null:?}");
        assert!(null.normal_share() > 0.99, "{null:?}");
        for distance in [0.5, 1.5, 3.0, 5.0] {
            let share = distances
                .iter()
                .filter(|&&other| other >= distance)
                .count()
                .real();
            let p_value = null.p_value(distance);
            assert!(
                (p_value * 4_000.0 / share - 1.0).abs() < 0.1,
                "{distance}: {p_value}"
            );
        }
        assert!((null.p_value(null.distance_of(0.01)) - 0.01).abs() < 1e-12);
    }

    #[test]
    fn a_third_of_wrong_trees_does_not_move_it() {
        let mut distances = body(4_000);
        let clean = NullModel::fit(&distances, 0.0);
        distances.extend((0..2_000).map(|place| 14.0 + f64::from(place) / 400.0));
        let mixed = NullModel::fit(&distances, 0.0);
        assert!((mixed.median - clean.median).abs() < 0.1, "{mixed:?}");
        assert!((mixed.scale / clean.scale - 1.0).abs() < 0.15, "{mixed:?}");
        assert!((mixed.normal_share() - 2.0 / 3.0).abs() < 0.02, "{mixed:?}");
    }

    #[test]
    fn equal_trees_and_no_trees_are_no_trouble() {
        for distances in [vec![], vec![0.0], vec![1.0; 50], vec![0.0; 500]] {
            let null = NullModel::fit(&distances, 0.2);
            assert!(null.is_whole(), "{null:?}");
            assert!((0.0..=1.0).contains(&null.p_value(1.0)), "{null:?}");
        }
    }

    proptest! {
        #[test]
        fn a_p_value_falls_with_the_distance(
            distances in prop::collection::vec(0.0..20.0_f64, 1..200),
            (near, step) in (0.0..30.0_f64, 0.0..10.0_f64),
        ) {
            let null = NullModel::fit(&distances, 0.1);
            prop_assert!(null.is_whole(), "{:?}", null);
            let (p_near, p_far) = (null.p_value(near), null.p_value(near + step));
            prop_assert!(p_far <= p_near, "{} {}", p_near, p_far);
            prop_assert!(p_far > 0.0 && p_near <= 1.0);
        }
    }
}
