//! Quantiles, and a scale that is robust to late trees.

use callgrove_trees::real::{Real, whole};

/// Returns the quantile of values in ascending order, interpolated between the nearest two; 0 without values.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share.clamp(0.0, 1.0) * sorted.len().saturating_sub(1).real();
    let below = whole(place);
    let Some(&low) = sorted.get(below) else {
        return 0.0;
    };
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    low + (place - below.real()) * (high - low)
}

/// Returns values in ascending order.
pub(super) fn ascending(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Returns the scale of values in ascending order from their lower half and middle, which a third of late values does
/// not move; at least `floor`, the smallest significant difference.
pub(super) fn lower_scale(sorted: &[f64], floor: f64) -> f64 {
    let (low, middle, upper) = (
        quantile(sorted, 0.159),
        quantile(sorted, 0.5),
        quantile(sorted, 0.6),
    );
    // 0.253 is the distance of these two quantiles of a normal distribution in its standard deviations.
    (middle - low).max((upper - middle) / 0.253).hypot(floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_interpolated() {
        let sorted = [1.0, 2.0, 4.0, 8.0];
        for (share, expected) in [(0.0, 1.0), (0.5, 3.0), (1.0, 8.0)] {
            assert!(
                (quantile(&sorted, share) - expected).abs() < 1e-12,
                "{share}"
            );
        }
        assert!(quantile(&[], 0.5).abs() < 1e-12);
        assert!((quantile(&[3.0], 0.9) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_third_of_late_values_does_not_move_the_scale() {
        let body: Vec<f64> = (0..300).map(|at| f64::from(at) / 100.0).collect();
        let mut late = body.clone();
        late.extend((0..100).map(|at| 50.0 + f64::from(at)));
        let (clean, mixed) = (lower_scale(&body, 0.1), lower_scale(&late, 0.1));
        assert!((mixed / clean - 1.0).abs() < 0.4, "{clean} {mixed}");
    }
}
