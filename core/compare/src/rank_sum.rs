//! The rank-sum test of two small samples, exactly.
//!
//! Source: H. B. Mann, D. R. Whitney: On a test of whether one of two random variables is stochastically larger than
//! the other, Annals of Mathematical Statistics 18(1), 1947, doi:10.1214/aoms/1177730491. The interval of ratios is
//! that of L. E. Moses (as in Hollander and Wolfe, Nonparametric Statistical Methods), of logarithms.

use callgrove_model::Real;

use super::dependence::normal_tail;

/// Half the width of the interval that holds 95 % of a normal distribution, in standard deviations.
const NORMAL_95: f64 = 1.96;

/// The distribution of U, the number of pairs in which the second value is the larger one, if both samples come from
/// one distribution.
pub(crate) struct RankSum {
    /// Number of pairs.
    num_pairs: usize,
    /// Standard deviation of U.
    deviation: f64,
    /// Probability of each value of U, from 0 to the number of pairs.
    probabilities: Vec<f64>,
}

impl RankSum {
    /// Returns the distribution for samples of these sizes. Cost: O(m · n · min(m, n)).
    pub(crate) fn new(num_before: usize, num_after: usize) -> Self {
        let (num_pairs, all) = (num_before * num_after, num_before + num_after);
        // ways[k][u]: number of ways to choose k of the ranks so far with a rank sum of u + k (k + 1) / 2.
        let mut ways = vec![vec![0.0_f64; num_pairs + 1]; num_after + 1];
        ways[0][0] = 1.0;
        for rank in 0..all {
            for chosen in (1..=num_after.min(rank + 1)).rev() {
                let below = rank + 1 - chosen;
                for u in (below..=num_pairs).rev() {
                    let added = ways[chosen - 1][u - below];
                    ways[chosen][u] += added;
                }
            }
        }
        let counts = ways.swap_remove(num_after);
        let total: f64 = counts.iter().sum();
        let variance = num_pairs.real() * (all + 1).real() / 12.0;
        Self {
            num_pairs,
            deviation: variance.sqrt(),
            probabilities: counts.into_iter().map(|count| count / total).collect(),
        }
    }

    /// Returns the two-sided p-value of two samples. A tie counts as half a pair, rounded towards the middle.
    /// `inflation` is the factor by which dependence enlarges the variance: beyond 1, the normal approximation with the
    /// larger variance holds, where it is less sure than the exact test.
    pub(crate) fn p_value(&self, before: &[f64], after: &[f64], inflation: f64) -> f64 {
        let (mut larger, mut ties) = (0_usize, 0_usize);
        for one in before {
            for other in after {
                larger += usize::from(other > one);
                ties += usize::from(other.total_cmp(one).is_eq());
            }
        }
        let smaller = self.num_pairs - larger - ties;
        let extreme = larger.min(smaller) + ties.div_ceil(2);
        let tail: f64 = self.probabilities.iter().take(extreme + 1).sum();
        let distance = (self.num_pairs.real() / 2.0 - extreme.real() - 0.5).max(0.0);
        let normal = normal_tail(distance / (self.deviation * inflation.sqrt()));
        let normal = if inflation > 1.0 { normal } else { 0.0 };
        (2.0 * tail.max(normal)).min(1.0)
    }

    /// Returns the 95 % confidence interval of the ratio of a value of the second sample to one of the first: all that
    /// the test does not reject. `ratios` holds those of all pairs, ascending; `None` without any.
    pub(crate) fn interval(&self, ratios: &[f64], inflation: f64) -> Option<(f64, f64)> {
        let width = NORMAL_95 * self.deviation * inflation.sqrt();
        let mut cut = 0_usize;
        while (cut + 1).real() <= self.num_pairs.real() / 2.0 - width {
            cut += 1;
        }
        let last = ratios.len().checked_sub(cut.max(1))?;
        Some((*ratios.get(cut.saturating_sub(1))?, *ratios.get(last)?))
    }
}

/// Returns the probability that `num_with` of `num_own + num_other` blocks are all among the own ones, if it is chance
/// which blocks have something: Fisher's exact test of a feature that the other side lacks, in both directions.
pub(crate) fn p_value_of_absence(num_with: usize, num_own: usize, num_other: usize) -> f64 {
    let factors = (0..num_with).map(|at| {
        let left = num_own.saturating_sub(at).real();
        left / (num_own + num_other).saturating_sub(at).max(1).real()
    });
    (2.0 * factors.product::<f64>()).min(1.0)
}

/// Returns the two-sided p-value of `num_after` of `num_before + num_after` events in the second sample, if each event
/// is in it with probability `share`.
pub(crate) fn p_value_of_counts(num_before: usize, num_after: usize, share: f64) -> f64 {
    let all = num_before + num_after;
    if all == 0 || share <= 0.0 || share >= 1.0 {
        return 1.0;
    }
    let (log_in, log_out) = (share.ln(), (1.0 - share).ln());
    let mut log_choose = 0.0;
    let (mut up, mut down) = (0.0, 0.0);
    for count in 0..=all {
        let probability =
            (log_choose + count.real() * log_in + (all - count).real() * log_out).exp();
        if count >= num_after {
            up += probability;
        }
        if count <= num_after {
            down += probability;
        }
        log_choose += ((all - count).real() / (count + 1).real()).ln();
    }
    (2.0 * up.min(down)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9 * other.abs().max(1e-6)
    }

    #[test]
    fn separate_samples_have_the_smallest_p_value() {
        // scipy.stats.mannwhitneyu([1,2,3,4], [5,6,7,8,9], method="exact") = 2 / C(9, 4) = 2 / 126.
        let test = RankSum::new(4, 5);
        let p = test.p_value(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0, 9.0], 1.0);
        assert!(is_near(p, 2.0 / 126.0), "{p}");
        let p = test.p_value(&[1.0, 6.0, 3.0, 8.0], &[5.0, 2.0, 7.0, 4.0, 9.0], 1.0);
        assert!(p > 0.5, "{p}");
        assert!(is_near(test.probabilities.iter().sum(), 1.0));
    }

    #[test]
    fn equal_samples_do_not_differ() {
        let test = RankSum::new(3, 3);
        assert!(is_near(test.p_value(&[1.0; 3], &[1.0; 3], 1.0), 1.0));
    }

    #[test]
    fn absence_is_judged_by_how_often_it_would_be_expected() {
        assert!(is_near(p_value_of_absence(1, 10, 10), 1.0));
        // 2 · C(10, 5) / C(20, 5) = 2 · 252 / 15504.
        assert!(is_near(p_value_of_absence(5, 10, 10), 504.0 / 15_504.0));
        assert!(p_value_of_absence(10, 10, 10) < 1.1e-5);
    }

    #[test]
    fn counts_are_compared_with_their_share() {
        // Ten events, all in the second of two equal parts: 2 / 1024.
        assert!(is_near(p_value_of_counts(0, 10, 0.5), 2.0 / 1024.0));
        assert!(is_near(p_value_of_counts(5, 5, 0.5), 1.0));
        assert!(is_near(p_value_of_counts(0, 0, 0.5), 1.0));
    }

    #[test]
    fn the_interval_has_the_level_of_the_test() {
        let test = RankSum::new(8, 8);
        let before: Vec<f64> = (0..8).map(|at| 100.0 + f64::from(at)).collect();
        let mut ratios: Vec<f64> = before
            .iter()
            .flat_map(|one| before.iter().map(move |other| 2.0 * other / one))
            .collect();
        ratios.sort_by(f64::total_cmp);
        let (low, high) = test.interval(&ratios, 1.0).unwrap();
        assert!(
            low < 2.0 && low > 1.9 && high > 2.0 && high < 2.1,
            "{low} {high}"
        );
        let wider = test.interval(&ratios, 4.0).unwrap();
        assert!(wider.0 < low && wider.1 > high, "{wider:?}");
    }
}
