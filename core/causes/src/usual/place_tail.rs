//! The long visits that a place has by design.
//!
//! The work at a place may differ by much from visit to visit, as in the levels of a graph search or the tasks of a shared
//! counter. Then the spread below the median does not show how long a visit may be. Work that is a product of many
//! factors is lognormal, so two quantiles determine its upper end. It is taken from the median and the quantile .90,
//! which a machine that disturbs a few visits does not change, and from the quantiles .90 and .975, which a place with two
//! kinds of visits does not change. The smaller of the two counts.

use callgrove_model::Real;

use super::centre::Centre;

/// The quantiles .90 and .975 of a normal distribution, in standard deviations.
const NORMAL: [f64; 2] = [1.2816, 1.9600];
/// Number of visits above the bound that are expected in the run.
const EXPECTED: f64 = 0.05;

/// Returns the ratio to the median that fewer than `EXPECTED` of `num_visits` exceed by design, as half of the lanes have
/// it. Faults of a few lanes do not change it. 1 without lanes.
pub(super) fn ratio_by_design(lanes: &[Centre], num_visits: usize) -> f64 {
    let ln_ratio = |which: usize| {
        let ratio = |it: &Centre| it.upper[which].0.real() / it.median_ns.max(1).real();
        let mut ratios: Vec<f64> = lanes.iter().map(ratio).collect();
        let middle = ratios.len().checked_sub(1)? / 2;
        Some(ratios.select_nth_unstable_by(middle, f64::total_cmp).1.ln())
    };
    let (Some(first), Some(second)) = (ln_ratio(0), ln_ratio(1)) else {
        return 1.0;
    };
    let deviations = normal_quantile(num_visits.real() / EXPECTED);
    let body = first * deviations / NORMAL[0];
    let tail = second + (second - first) * (deviations - NORMAL[1]) / (NORMAL[1] - NORMAL[0]);
    body.min(tail).exp()
}

/// Returns how many standard deviations one of `num` values of a normal distribution exceeds (Cramér 1946, section 28.6);
/// 200 or more are exact to 2 %.
fn normal_quantile(num: f64) -> f64 {
    let first = (2.0 * num.max(200.0).ln()).sqrt();
    first - ((first * first / 2.0).ln() + (4.0 * std::f64::consts::PI).ln()) / (2.0 * first)
}

#[cfg(test)]
mod tests {
    use callgrove_model::DurationNs;

    use super::*;

    /// Returns a lane with the quantiles .90 and .975 in percent of the median.
    fn lane(upper_percent: [i64; 2]) -> Centre {
        Centre {
            median_ns: 1_000_000,
            spread_ns: 100_000,
            upper: upper_percent.map(|it| DurationNs(it * 10_000)),
        }
    }

    #[test]
    fn lognormal_work_reaches_as_far_as_its_quantiles_say() {
        // σ = .8: exp(1.2816 σ) and exp(1.96 σ). One of 160,000 is exp(4.37 σ) = 33 times the median.
        let ratio = ratio_by_design(&[lane([279, 480]); 5], 8_000);
        assert!((31.0..35.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_few_disturbed_visits_and_a_second_kind_of_visit_do_not_count() {
        let disturbed = ratio_by_design(&[lane([110, 400]); 5], 8_000);
        assert!(disturbed < 1.5, "{disturbed}");
        let of_two_kinds = ratio_by_design(&[lane([480, 500]); 5], 8_000);
        assert!(of_two_kinds < 6.0, "{of_two_kinds}");
        let slow_lanes = [[900, 990]; 2].into_iter().chain([[105, 110]; 3]);
        let slow_lanes: Vec<Centre> = slow_lanes.map(lane).collect();
        assert!(ratio_by_design(&slow_lanes, 8_000) < 1.4);
        assert_eq!(ratio_by_design(&[], 8_000).to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn quantiles_are_those_of_a_normal_distribution() {
        for (num, quantile) in [(200.0, 2.576), (1e4, 3.719), (1e6, 4.753), (1e8, 5.612)] {
            let found = normal_quantile(num);
            assert!((found / quantile - 1.0).abs() < 0.02, "{num}: {found}");
        }
    }
}
