//! The generalised Pareto distribution of exceedances, by maximum a posteriori.

use rayon::prelude::*;

use crate::decision::quantiles::quantile;
use callgrove_trees::real::Real;

/// Prior mean of the shape.
const SHAPE: f64 = 0.15;
/// Prior standard deviation of the shape.
const SHAPE_DEVIATION: f64 = 0.1;
/// Number of shapes of the grid.
const NUM_SHAPES: u32 = 7;
/// Step of the shapes of the grid.
const SHAPE_STEP: f64 = 0.05;
/// The largest shape of a fit: two clean runs each of fifteen programs have shapes up to this one. Larger ones are
/// those of normal and abnormal values together, and make all of these likely.
pub(super) const LARGEST_SHAPE: f64 = 0.3;
/// The largest scale of a fit in ranges of the values; the grid ends at 12.2 times their mean excess.
pub(super) const LARGEST_SCALE: f64 = 13.0;
/// Number of scales of the grid for each shape.
const NUM_SCALES: u32 = 60;
/// Maximum number of exceedances in the likelihood; if there are more, evenly spaced ones represent all.
const MAX_EXCEEDANCES: usize = 1_000;
/// Minimum number of exceedances of a fit.
const MIN_EXCEEDANCES: usize = 3;
/// Shape if there are too few exceedances.
const UNKNOWN_SHAPE: f64 = 0.3;

/// Scale and shape of a generalised Pareto distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Pareto {
    pub(super) scale: f64,
    pub(super) shape: f64,
    /// Number of exceedances that were fitted.
    pub(super) num: usize,
}

/// Fits the values between two of their quantiles: values beyond `limit` have no effect, however many there are.
/// `sorted` ascends.
///
/// ```text
/// log posterior(σ, ξ) = Σ ln f(x) − k ln F(w) − (ξ − 0.15)² / (2 · 0.1²),   f, F of the GPD, w = limit − threshold
/// ```
///
/// (doubly truncated; Hosking and Wallis, Technometrics 1987, for the family). 420 points of a grid times
/// at most 1,000 exceedances.
///
/// If the density hardly falls within the window, as when most noise is an interruption of some length, the
/// likelihood hardly falls with σ. But anomalies only add to the values beyond `limit`, so a tail with more values
/// there than observed is impossible: for each shape, larger scales are left out.
pub(super) fn fit_pareto(sorted: &[f64], threshold: f64, limit: f64, fallback: f64) -> Pareto {
    let first = sorted.partition_point(|&value| value <= threshold);
    let last = sorted.partition_point(|&value| value <= limit);
    let all = sorted.get(first..last).unwrap_or(&[]);
    let width = limit - threshold;
    if all.len() < MIN_EXCEEDANCES || width <= 0.0 {
        return Pareto {
            scale: width.max(fallback),
            shape: UNKNOWN_SHAPE,
            num: all.len().max(1),
        };
    }
    let excesses: Vec<f64> = if all.len() <= MAX_EXCEEDANCES {
        all.iter().map(|value| value - threshold).collect()
    } else {
        let share = |at: usize| (at.real() + 0.5) / MAX_EXCEEDANCES.real();
        let places = 0..MAX_EXCEEDANCES;
        places
            .map(|at| quantile(all, share(at)) - threshold)
            .collect()
    };
    // One more of each: if none was observed beyond the limit, there may still be one.
    let seen_beyond = (sorted.len() - last + 1).real() / (sorted.len() - first + 1).real();
    let weight = all.len().real() / excesses.len().real();
    let mean = excesses.iter().sum::<f64>() / excesses.len().real();
    let of_shape = |at: u32| {
        let shape = SHAPE_STEP * f64::from(at);
        let prior = -0.5 * ((shape - SHAPE) / SHAPE_DEVIATION).powi(2);
        let most = largest_scale(width, shape.max(1e-6), seen_beyond);
        let mut best = (f64::NEG_INFINITY, mean.min(most), shape);
        for step in 0..NUM_SCALES {
            let scale = mean * (-1.2 + 3.7 * f64::from(step) / f64::from(NUM_SCALES - 1)).exp();
            let scale = scale.min(most);
            let value = weight * log_likelihood(&excesses, width, scale, shape.max(1e-6)) + prior;
            if value > best.0 {
                best = (value, scale, shape);
            }
        }
        best
    };
    let found: Vec<_> = (0..NUM_SHAPES).into_par_iter().map(of_shape).collect();
    let mut best = found[0];
    for other in &found[1..] {
        if other.0 > best.0 {
            best = *other;
        }
    }
    Pareto {
        scale: best.1.max(f64::MIN_POSITIVE),
        shape: best.2,
        num: all.len(),
    }
}

/// Returns the scale with which the share `beyond` of a distribution of a shape above 0 is larger than `width`.
fn largest_scale(width: f64, shape: f64, beyond: f64) -> f64 {
    shape * width / (-shape * beyond.ln()).exp_m1()
}

fn log_likelihood(excesses: &[f64], width: f64, scale: f64, shape: f64) -> f64 {
    let logs: f64 = excesses
        .iter()
        .map(|excess| (shape * excess / scale).ln_1p())
        .sum();
    let below = -(-(shape * width / scale).ln_1p() / shape).exp_m1();
    -(1.0 / shape + 1.0) * logs - excesses.len().real() * (scale.ln() + below.max(1e-12).ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_and_shape_of_a_cut_off_tail_are_found() {
        // Quantiles of a GPD of scale 2 and shape 0.2, of which a fifth is abnormal.
        let mut sorted: Vec<f64> = (0..4_000)
            .map(|at| {
                let share = (f64::from(at) + 0.5) / 5_000.0;
                2.0 / 0.2 * ((1.0 - share).powf(-0.2) - 1.0)
            })
            .collect();
        let limit = *sorted.last().unwrap();
        sorted.extend([50.0; 1_000]);
        let fitted = fit_pareto(&sorted, 0.0, limit, 1.0);
        assert!((fitted.scale / 2.0 - 1.0).abs() < 0.1, "{fitted:?}");
        assert!((fitted.shape - 0.2).abs() < 0.1, "{fitted:?}");
        assert_eq!(fitted.num, 4_000);
    }

    #[test]
    fn a_tail_has_no_more_values_beyond_the_limit_than_observed() {
        // Evenly up to 1.2, as when most noise is an interruption of some length, and one in 20 is abnormal.
        let even = (0..3_000).map(|at| f64::from(at) / 2_500.0);
        let sorted: Vec<f64> = even.chain([30.0; 158]).collect();
        let Pareto { scale, shape, .. } = fit_pareto(&sorted, 0.9, 1.2, 1.0);
        let shape = shape.max(1e-6);
        let beyond = ((shape * 0.3 / scale).ln_1p() / -shape).exp();
        assert!(beyond <= 0.18, "{beyond}: {scale} {shape}");
        assert!(scale < 0.3, "{scale}");
    }

    #[test]
    fn too_few_exceedances_have_the_width_as_scale() {
        let fitted = fit_pareto(&[0.0, 1.0], 0.5, 3.5, 0.1);
        assert_eq!((fitted.scale, fitted.num), (3.0, 1));
    }
}
