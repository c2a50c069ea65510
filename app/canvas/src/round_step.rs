//! Round distances between ticks of an axis.

/// Returns 1, 2 or 5 times a power of ten, not less than `length`; 1 if `length` is not a positive finite number.
pub(crate) fn round_step(length: f64) -> f64 {
    if !(length.is_finite() && length > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powi(length.log10().floor() as i32);
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= length * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_not_less() {
        let steps = [0.03, 1.0, 1.1, 2.0, 3.0, 5.0, 5.1, 999.0, 1e15, 1.5e18].map(round_step);
        let round = [0.05, 1.0, 2.0, 2.0, 5.0, 5.0, 10.0, 1_000.0, 1e15, 2e18];
        for (step, round) in steps.into_iter().zip(round) {
            assert!(
                (step - round).abs() < round * 1e-12,
                "{step} is not {round}"
            );
        }
        for none in [0.0, -1.0, f64::NAN] {
            assert!((round_step(none) - 1.0).abs() < 1e-12, "{none}");
        }
    }
}
