//! The test of quantities of which each run gives one value: runs are the unit.
//!
//! A few runs say little about how much one quantity differs from run to run, but many quantities of the same runs say
//! it together. The test is the moderated t-test of logarithms: the variance s² of each quantity, with d degrees of
//! freedom, is drawn towards the common one, (d₀ s₀² + d s²) / (d₀ + d), and the test has d₀ + d degrees of freedom. Both
//! d₀ and s₀² are estimated from all quantities.
//!
//! Source: G. K. Smyth: Linear models and empirical Bayes methods for assessing differential expression in microarray
//! experiments, Statistical Applications in Genetics and Molecular Biology 3(1), 2004, doi:10.2202/1544-6115.1027.
//!
//! There the quantities are independent. Those of a run are not: a slow machine slows all of them at once, and then all
//! variances are one draw, however alike they are. The variance of the mean of m variances whose quantities have a mean
//! squared correlation of ρ² is that of m / (1 + (m − 1) ρ²) independent ones, and d₀ counts no more than these.
//!
//! A change of what takes most of the time matters most, so p-values are weighted by shares of time (C. Genovese,
//! K. Roeder, L. Wasserman: False discovery control with p-value weighting, Biometrika 93(3), 2006,
//! doi:10.1093/biomet/93.3.509): the mean weight is 1, and each is at least a quarter. On simulated runs between a half and
//! a tenth makes no difference; with equal weights a tenth fewer slowdowns are found.

use callgrove_model::Real;
use special::{Beta as _, Gamma as _};

use super::change::FALSE_DISCOVERIES;

/// Smallest relative standard deviation from run to run: smaller differences are rounding.
pub(crate) const ROUNDING: f64 = 1e-9;
/// Probability with which the smallest visible change is found.
const POWER: f64 = 0.8;
/// Weight of a quantity that takes no time.
const SMALLEST_WEIGHT: f64 = 0.25;
/// Degrees of freedom beyond which the distribution is normal.
const MANY: f64 = 1e4;

/// A quantity in the runs of both sides, positive in each.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RunLevels {
    /// The values of the runs of each side.
    pub(crate) values: [Vec<f64>; 2],
    /// Its share of the time of a run, for its weight.
    pub(crate) share: f64,
}

/// The comparison of a quantity in the runs of two sides.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct RunTest {
    /// The geometric mean of each side.
    pub(crate) levels: [f64; 2],
    /// The 95 % confidence interval of the ratio of the two.
    pub(crate) interval: (f64, f64),
    /// The two-sided p-value.
    pub(crate) p_value: f64,
    /// The weight of the p-value.
    pub(crate) weight: f64,
    /// The ratio from which an increase is found with a probability of [`POWER`].
    pub(crate) smallest_visible: f64,
}

/// One quantity: the difference of the logarithms, and what the runs of a side differ by.
struct Fit {
    levels: [f64; 2],
    residuals: Vec<f64>,
    variance: f64,
}

/// What all quantities say about the variance of one.
struct Prior {
    variance: f64,
    degrees: f64,
}

/// Compares quantities that vary alike from run to run: all durations, for example. `num_tests` is the number of all
/// tests, of which these are some. Cost: O(quantities · runs²).
pub(crate) fn compare_runs(all: &[RunLevels], num_tests: usize) -> Vec<RunTest> {
    let Some(first) = all.first() else {
        return Vec::new();
    };
    let [num_before, num_after] = [0, 1].map(|side: usize| first.values[side].len().real());
    let degrees = num_before + num_after - 2.0;
    let scale = (1.0 / num_before + 1.0 / num_after).sqrt();
    let fits: Vec<Fit> = all.iter().map(|it| Fit::new(it, degrees)).collect();
    let prior = Prior::of(&fits, degrees);
    let all_degrees = (prior.degrees + degrees).min(MANY);
    let sum_of_shares: f64 = all.iter().map(|it| it.share).sum();
    let distribution = Student::new(all_degrees);
    let tests = all.iter().zip(&fits).map(|(quantity, fit)| {
        let known = prior.degrees * prior.variance + degrees * fit.variance;
        let deviation = (known / (prior.degrees + degrees)).sqrt().max(ROUNDING) * scale;
        let difference = fit.levels[1] - fit.levels[0];
        let of_share = quantity.share * all.len().real() / sum_of_shares.max(f64::MIN_POSITIVE);
        let weight = if sum_of_shares > 0.0 {
            SMALLEST_WEIGHT + (1.0 - SMALLEST_WEIGHT) * of_share
        } else {
            1.0
        };
        let width = deviation * distribution.upper_quantile(0.025);
        let level = (FALSE_DISCOVERIES * weight / num_tests.max(1).real()).min(0.5);
        let visible = distribution.upper_quantile(level) + distribution.upper_quantile(1.0 - POWER);
        RunTest {
            levels: fit.levels.map(f64::exp),
            interval: ((difference - width).exp(), (difference + width).exp()),
            p_value: distribution.beyond(difference / deviation),
            weight,
            smallest_visible: (visible * deviation).exp(),
        }
    });
    tests.collect()
}

/// The distribution of Student.
struct Student {
    degrees: f64,
    ln_beta: f64,
}

impl Student {
    fn new(degrees: f64) -> Self {
        Self {
            degrees,
            ln_beta: (degrees / 2.0).ln_beta(0.5),
        }
    }

    /// Returns the probability of a value at least as far from 0.
    fn beyond(&self, t: f64) -> f64 {
        let x = self.degrees / (self.degrees + t * t);
        x.inc_beta(self.degrees / 2.0, 0.5, self.ln_beta)
    }

    /// Returns the value that is exceeded with a probability of at most a half.
    fn upper_quantile(&self, probability: f64) -> f64 {
        let both = (2.0 * probability).clamp(f64::MIN_POSITIVE, 1.0);
        let x = both.inv_inc_beta(self.degrees / 2.0, 0.5, self.ln_beta);
        (self.degrees * (1.0 / x - 1.0)).max(0.0).sqrt()
    }
}

impl Fit {
    fn new(quantity: &RunLevels, degrees: f64) -> Self {
        let logarithms =
            |values: &Vec<f64>| -> Vec<f64> { values.iter().map(|it| it.ln()).collect() };
        let sides = [0, 1].map(|side: usize| logarithms(&quantity.values[side]));
        let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len().max(1).real();
        let levels = [mean(&sides[0]), mean(&sides[1])];
        let residuals = sides.iter().zip(levels);
        let residuals =
            residuals.flat_map(|(values, level)| values.iter().map(move |it| it - level));
        let residuals: Vec<f64> = residuals.collect();
        let squares: f64 = residuals.iter().map(|it| it * it).sum();
        Self {
            levels,
            residuals,
            variance: squares / degrees,
        }
    }
}

impl Prior {
    /// Fits the prior by the moments of the logarithms of the variances (Smyth 2004, section 6.2).
    fn of(fits: &[Fit], degrees: f64) -> Self {
        let varying = fits.iter().filter(|it| it.variance > ROUNDING * ROUNDING);
        let varying: Vec<&Fit> = varying.collect();
        let num = varying.len().real();
        if varying.len() < 2 {
            return Self {
                variance: 0.0,
                degrees: 0.0,
            };
        }
        let half = degrees / 2.0;
        let unbiased = |it: &&Fit| it.variance.ln() - half.digamma() + half.ln();
        let logarithms: Vec<f64> = varying.iter().map(unbiased).collect();
        let mean = logarithms.iter().sum::<f64>() / num;
        let squares = logarithms.iter().map(|it| (it - mean).powi(2));
        let beyond_chance = squares.sum::<f64>() / (num - 1.0) - half.trigamma();
        let estimated = if beyond_chance > 0.0 {
            (2.0 * inverse_trigamma(beyond_chance)).min(MANY)
        } else {
            MANY
        };
        Self {
            variance: (mean + (estimated / 2.0).digamma() - (estimated / 2.0).ln()).exp(),
            degrees: estimated.min(degrees * (num_independent(&varying, degrees) - 1.0)),
        }
    }
}

/// Returns how many independent quantities say as much about a variance as these.
fn num_independent(fits: &[&Fit], degrees: f64) -> f64 {
    let num_runs = fits.first().map_or(0, |it| it.residuals.len());
    let mut products = vec![0.0; num_runs * num_runs];
    for fit in fits {
        let length = fit.variance * degrees;
        for (row, one) in fit.residuals.iter().enumerate() {
            for (column, other) in fit.residuals.iter().enumerate() {
                products[row * num_runs + column] += one * other / length;
            }
        }
    }
    // The sum over all pairs of quantities of the squared correlation is that over all pairs of runs.
    let num = fits.len().real();
    let sum: f64 = products.iter().map(|it| it * it).sum();
    let mean_square = (sum - num) / (num * (num - 1.0)).max(1.0);
    // Independent vectors of this dimension have a mean squared correlation of one over the dimension.
    let by_chance = 1.0 / degrees;
    let correlation = ((mean_square - by_chance) / (1.0 - by_chance)).clamp(0.0, 1.0);
    num / (1.0 + (num - 1.0) * correlation)
}

/// Returns the number whose trigamma is `y`, by halving the interval of its logarithm.
fn inverse_trigamma(y: f64) -> f64 {
    // 1 / x < trigamma(x) < 1 / x + 1 / x²
    let (mut low, mut high) = ((1.0 / y).ln(), (1.0 / y + 1.0 / y.sqrt() + 1.0).ln());
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if middle.exp().trigamma() > y {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(one: f64, other: f64, tolerance: f64) -> bool {
        (one / other - 1.0).abs() < tolerance
    }

    #[test]
    fn one_quantity_has_the_t_test_of_two_samples() {
        // scipy.stats.ttest_ind(np.log([100, 102, 99]), np.log([106, 108, 105])): p = .008539
        let values = [vec![100.0, 102.0, 99.0], vec![106.0, 108.0, 105.0]];
        let share = 1.0;
        let tests = compare_runs(&[RunLevels { values, share }], 1);
        let [test] = tests[..] else { panic!() };
        assert!(is_near(test.p_value, 0.008_539, 1e-3), "{test:?}");
        let ratio = test.levels[1] / test.levels[0];
        assert!(is_near(ratio, 1.059_8, 1e-3), "{test:?}");
        assert!(test.interval.0 > 1.0 && test.interval.0 < ratio && ratio < test.interval.1);
        assert!(test.smallest_visible > 1.0, "{test:?}");
    }

    #[test]
    fn quantiles_and_probabilities_are_those_of_student() {
        // scipy.stats.t.isf
        for (degrees, probability, t) in [
            (2.0, 0.025, 4.302_652_729_749_464),
            (4.0, 0.025, 2.776_445_105_197_799),
            (30.0, 0.001, 3.385_184_866_829_304_6),
            (1e4, 0.025, 1.960_201_239_6),
        ] {
            let student = Student::new(degrees);
            assert!(
                is_near(student.upper_quantile(probability), t, 1e-6),
                "{degrees}"
            );
            assert!(
                is_near(student.beyond(-t), 2.0 * probability, 1e-5),
                "{degrees}"
            );
        }
    }

    #[test]
    fn the_inverse_is_that_of_trigamma() {
        // scipy.special.polygamma(1, x)
        for (x, y) in [
            (0.1, 101.433_299_150_792_75),
            (1.0, 1.644_934_066_848_226_4),
            (2.0, 0.644_934_066_848_226_4),
            (50.0, 0.020_201_333_226_697_14),
        ] {
            assert!(is_near(x.trigamma(), y, 1e-9), "{x}");
            assert!(is_near(inverse_trigamma(y), x, 1e-6), "{x}");
        }
    }

    #[test]
    fn quantities_that_vary_together_count_as_one() {
        let together = |scale: f64| Fit {
            levels: [0.0; 2],
            residuals: [1.0, -1.0, 2.0, -2.0].map(|it| it * scale).to_vec(),
            variance: 10.0 * scale * scale / 2.0,
        };
        let fits = [together(1.0), together(3.0), together(0.1)];
        let fits: Vec<&Fit> = fits.iter().collect();
        assert!(is_near(num_independent(&fits, 2.0), 1.0, 1e-9));
    }
}
