//! The generalised Pareto distribution of exceedances, by maximum a posteriori.

use rayon::prelude::*;

use super::quantiles::quantile;
use crate::real::Real;

/// Prior mean of the shape, its standard deviation, its largest value and the step of its grid.
const SHAPE: f64 = 0.15;
const SHAPE_DEVIATION: f64 = 0.1;
const NUM_SHAPES: u32 = 11;
const SHAPE_STEP: f64 = 0.05;
/// Scales that are tried for each shape.
const NUM_SCALES: u32 = 60;
/// Exceedances that the likelihood looks at; of more, evenly spaced ones stand for all.
const MAX_EXCEEDANCES: usize = 1_000;
/// Exceedances that a fit needs.
const MIN_EXCEEDANCES: usize = 3;
/// Shape where there are too few.
const UNKNOWN_SHAPE: f64 = 0.3;

/// Scale and shape of a generalised Pareto distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Pareto {
    pub(super) scale: f64,
    pub(super) shape: f64,
    /// Exceedances that were fitted.
    pub(super) num: usize,
}

/// Fits the values between two of their quantiles: what lies beyond `limit` has no say, however much of
/// it there is. `sorted` ascends.
///
/// ```text
/// log posterior(σ, ξ) = Σ ln f(x) − k ln F(w) − (ξ − 0.15)² / (2 · 0.1²),   f, F of the GPD, w = limit − threshold
/// ```
///
/// (doubly truncated; Hosking and Wallis, Technometrics 1987, for the family). 660 points of a grid times
/// at most 1,000 exceedances.
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
    let weight = all.len().real() / excesses.len().real();
    let mean = excesses.iter().sum::<f64>() / excesses.len().real();
    let of_shape = |at: u32| {
        let shape = SHAPE_STEP * f64::from(at);
        let prior = -0.5 * ((shape - SHAPE) / SHAPE_DEVIATION).powi(2);
        let mut best = (f64::NEG_INFINITY, mean, shape);
        for step in 0..NUM_SCALES {
            let scale = mean * (-1.2 + 3.7 * f64::from(step) / f64::from(NUM_SCALES - 1)).exp();
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
        // Quantiles of a GPD of scale 2 and shape 0.2, with a fifth of it cut off.
        let sorted: Vec<f64> = (0..4_000)
            .map(|at| {
                let share = (f64::from(at) + 0.5) / 5_000.0;
                2.0 / 0.2 * ((1.0 - share).powf(-0.2) - 1.0)
            })
            .collect();
        let limit = *sorted.last().unwrap();
        let fitted = fit_pareto(&sorted, 0.0, limit, 1.0);
        assert!((fitted.scale / 2.0 - 1.0).abs() < 0.1, "{fitted:?}");
        assert!((fitted.shape - 0.2).abs() < 0.1, "{fitted:?}");
        assert_eq!(fitted.num, 4_000);
    }

    #[test]
    fn too_few_exceedances_have_the_width_as_scale() {
        let fitted = fit_pareto(&[0.0, 1.0], 0.5, 3.5, 0.1);
        assert_eq!((fitted.scale, fitted.num), (3.0, 1));
    }
}
