//! The exponential of the kernel.

/// 1/k! for k = 13 down to 2.
const COEFFICIENTS: [f64; 12] = [
    1.605_904_383_682_161_4e-10,
    2.087_675_698_786_81e-9,
    2.505_210_838_544_172e-8,
    2.755_731_922_398_589e-7,
    2.755_731_922_398_589_3e-6,
    2.480_158_730_158_73e-5,
    1.984_126_984_126_984e-4,
    1.388_888_888_888_889e-3,
    8.333_333_333_333_333e-3,
    4.166_666_666_666_666_4e-2,
    0.166_666_666_666_666_66,
    0.5,
];
/// 1.5 · 2⁵²: adding it rounds to an integer, which is then in the low bits.
const MAGIC: f64 = 6_755_399_441_055_744.0;
/// The high part of ln 2, with zeros at its end, so that products with small integers are exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
/// The low part of ln 2.
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Argument below which the result would not be a normal number.
const SMALLEST: f64 = -708.0;

/// Returns e^x for x ≤ 0 with a relative error of at most 4·10⁻¹⁶ (at least 3·10⁻³⁰⁸).
///
/// It has no branch or call, so that loops of it are vectorised, and does not use the platform's libm, so that the
/// kernel is the same on every machine: x = k ln 2 + r, and e^r is its Taylor series up to r¹³.
#[inline(always)]
pub fn exp_of_negative(x: f64) -> f64 {
    let x = x.max(SMALLEST);
    let shifted = x * std::f64::consts::LOG2_E + MAGIC;
    let power = shifted - MAGIC;
    let rest = (x - power * LN_2_HIGH) - power * LN_2_LOW;
    let mut sum = COEFFICIENTS[0];
    for &coefficient in &COEFFICIENTS[1..] {
        sum = sum * rest + coefficient;
    }
    let exponential = (sum * rest) * rest + rest + 1.0;
    exponential * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_exact_up_to_the_last_bits() {
        for step in 0..708_000 {
            let x = -f64::from(step) / 1_000.0;
            let error = (exp_of_negative(x) / x.exp() - 1.0).abs();
            assert!(error < 6e-16, "{x}: {error:e}");
        }
        assert!(exp_of_negative(0.0).to_bits() == 1.0_f64.to_bits());
        assert!(exp_of_negative(f64::NEG_INFINITY) < 1e-300);
    }
}
