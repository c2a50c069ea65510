//! The dependence of neighbouring blocks on each other, and its effect on a test.

use callgrove_model::Real;

/// Maximum assumed autocorrelation: beyond it a run is one value.
const MOST: f64 = 0.95;

/// Returns the factor by which the variance of a mean of blocks is larger than if the blocks were independent:
/// (1 + r) / (1 − r) with the autocorrelation r of neighbouring blocks, pooled over both runs; at least 1.
///
/// The factor is that of an autoregressive process (G. E. P. Box, G. M. Jenkins: Time Series Analysis, 1970). The
/// estimate of r from few blocks is too small by about (1 + 4 r) / n (F. H. C. Marriott, J. A. Pope: Bias in the
/// estimation of autocorrelations, Biometrika 41, 1954, doi:10.1093/biomet/41.3-4.390), which is added.
pub(crate) fn inflation(before: &[f64], after: &[f64]) -> f64 {
    let (mut together, mut variance) = (0.0, 0.0);
    for values in [before, after] {
        let mean = values.iter().sum::<f64>() / values.len().max(1).real();
        // Relative to the mean, so that both runs count.
        let scale = if mean > 0.0 { mean } else { 1.0 };
        let deviation = |value: &f64| (value - mean) / scale;
        variance += values.iter().map(|it| deviation(it).powi(2)).sum::<f64>();
        let pairs = values.windows(2);
        together += pairs
            .map(|pair| deviation(&pair[0]) * deviation(&pair[1]))
            .sum::<f64>();
    }
    if variance <= 1e-18 {
        return 1.0;
    }
    let num = f64::midpoint(before.len().real(), after.len().real()).max(1.0);
    let estimate = together / variance;
    let correlation = (estimate + (1.0 + 4.0 * estimate) / num).clamp(0.0, MOST);
    (1.0 + correlation) / (1.0 - correlation)
}

/// Returns the probability that a standard normal value is above `z`, which is at least 0.
pub(crate) fn normal_tail(z: f64) -> f64 {
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z < 2.0 {
        // Φ(z) − ½ = φ(z) (z + z³/3 + z⁵/(3·5) + …)
        let (mut term, mut sum) = (z, z);
        for odd in (3..120_u32).step_by(2) {
            term *= z * z / f64::from(odd);
            sum += term;
        }
        return (0.5 - density * sum).max(0.0);
    }
    // The continued fraction of Laplace, from its end.
    let fraction = (1..200_u32)
        .rev()
        .fold(z, |rest, at| z + f64::from(at) / rest);
    density / fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_that_of_the_normal_distribution() {
        // scipy.stats.norm.sf
        for (z, tail) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_931_457),
            (1.959_963_984_540_054, 0.025),
            (3.0, 0.001_349_898_031_630_1),
            (4.82, 7.178_304_3e-7),
        ] {
            let found = normal_tail(z);
            assert!((found / tail - 1.0).abs() < 1e-4, "{z}: {found}");
        }
    }

    #[test]
    fn a_drift_is_dependent_and_an_alternation_is_not() {
        let drift: Vec<f64> = (0..16).map(|at| 100.0 + f64::from(at)).collect();
        assert!(inflation(&drift, &drift) > 8.0);
        let alternating: Vec<f64> = (0..16).map(|at| 100.0 + f64::from(at % 2)).collect();
        assert!((inflation(&alternating, &alternating) - 1.0).abs() < 1e-9);
        assert!((inflation(&[3.0; 16], &[3.0; 16]) - 1.0).abs() < 1e-9);
    }
}
