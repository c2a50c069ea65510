//! Sums of powers of integers, without rounding: they merge to the same bits in any order.

use std::cmp::Ordering;

use crate::wide::Wide;
use callgrove_model::Real;

/// Σ x, Σ x², Σ x³ and Σ x⁴ of 64-bit integers. None overflows for any number of values that can be counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PowerSums(pub(crate) [Wide<5>; 4]);

/// The smallest and the largest of some values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extremes {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

/// The mean, and the sums of powers of the distances from it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Central {
    pub(crate) mean: f64,
    /// The rounding error of the mean, kept so that it does not accumulate over many small steps.
    pub(crate) mean_rest: f64,
    pub(crate) m2: f64,
    pub(crate) m3: f64,
    pub(crate) m4: f64,
}

/// Largest bit width of a value whose fourth power fits 128 bits.
const SMALL_BITS: u32 = 32;
/// Bit width of distances from the smallest value of a batch that are summed in `u64`.
const SMALL_DISTANCE_BITS: u32 = 13;
/// Chunk length for sums in `u64`, short enough that they do not overflow.
const SMALL_DISTANCE_CHUNK: usize = 1 << 12;
/// Bit width of distances from the smallest value of a batch that are summed in `u128`.
const MEDIUM_DISTANCE_BITS: u32 = 21;
/// Chunk length for sums in `u128`, short enough that they do not overflow.
const MEDIUM_DISTANCE_CHUNK: usize = 1 << 20;
/// Smallest batch that is summed by distances; smaller ones are added value by value.
const SMALL_BATCH: usize = 8;

impl PowerSums {
    /// Adds one value.
    pub(crate) fn push(&mut self, value: u64) {
        if value >> SMALL_BITS != 0 {
            return self.push_repeated(value, 1);
        }
        let square = u128::from(value * value);
        let powers = [
            u128::from(value),
            square,
            square * u128::from(value),
            square * square,
        ];
        for (sum, power) in self.0.iter_mut().zip(powers) {
            sum.add_u128(power);
        }
    }

    /// Adds a value `count` times.
    pub(crate) fn push_repeated(&mut self, value: u64, count: u64) {
        let mut power = Wide::from(count);
        for sum in &mut self.0 {
            power = power.times(value);
            sum.add(&power);
        }
    }

    /// Adds many values; the smallest and the largest are those of `range`.
    pub(crate) fn extend(&mut self, values: &[u64], range: Extremes) {
        if values.len() < SMALL_BATCH {
            for &value in values {
                self.push(value);
            }
            return;
        }
        for chunk in values.chunks(MEDIUM_DISTANCE_CHUNK) {
            self.extend_by_chunk(chunk, range);
        }
    }

    /// Sums the powers of the distances from the smallest value, as long as these are not too large, and computes the
    /// powers of the values from them.
    fn extend_by_chunk(&mut self, values: &[u64], range: Extremes) {
        let Extremes { min, max } = range;
        let mut of_distances = [0_u128; 5];
        for values in values.chunks(SMALL_DISTANCE_CHUNK) {
            let small = if (max - min) >> SMALL_DISTANCE_BITS == 0 {
                small_distance_sums(values, min)
            } else {
                self.split_distance_sums(values, min, &mut of_distances)
            };
            let small = of_distances.iter_mut().zip(small);
            small.for_each(|(sum, it)| *sum += u128::from(it));
        }
        // (min + x)ᵏ by the binomial theorem.
        let binomials: [&[u64]; 4] = [&[1, 1], &[1, 2, 1], &[1, 3, 3, 1], &[1, 4, 6, 4, 1]];
        let is_small = max >> MEDIUM_DISTANCE_BITS == 0;
        let wide_sums = of_distances.map(Wide::from_u128);
        for (sum, factors) in self.0.iter_mut().zip(binomials) {
            // By Horner's rule: ((c₀ min + c₁ x) min + c₂ x²) …, where xᵏ denotes the sum of the powers.
            if is_small {
                // No intermediate result exceeds the sum of the highest powers, which has 4 × 21 + 20 bits.
                let terms = factors.iter().zip(&of_distances);
                let total = terms.fold(0, |total, (factor, of_power)| {
                    total * u128::from(min) + u128::from(*factor) * of_power
                });
                sum.add_u128(total);
                continue;
            }
            let mut total = Wide::default();
            for (factor, of_power) in factors.iter().zip(&wide_sums) {
                total = total.times(min);
                total.add(&of_power.times(*factor));
            }
            sum.add(&total);
        }
    }

    /// Returns the sums of powers of the small distances from `min`. Those of larger distances are added to
    /// `of_distances`, and values with even larger distances are added directly.
    fn split_distance_sums(
        &mut self,
        values: &[u64],
        min: u64,
        of_distances: &mut [u128; 5],
    ) -> [u64; 5] {
        let (mut small, mut medium) = ([0_u64; 5], *of_distances);
        for &value in values {
            let distance = value - min;
            let square = distance.wrapping_mul(distance);
            if distance >> SMALL_DISTANCE_BITS == 0 {
                small[0] += 1;
                small[1] += distance;
                small[2] += square;
                small[3] += square * distance;
                small[4] += square * square;
            } else if distance >> MEDIUM_DISTANCE_BITS == 0 {
                let [wide, wide_square] = [distance, square].map(u128::from);
                medium[0] += 1;
                medium[1] += wide;
                medium[2] += wide_square;
                medium[3] += wide_square * wide;
                medium[4] += wide_square * wide_square;
            } else {
                self.push(value);
            }
        }
        *of_distances = medium;
        small
    }

    /// Adds the sums of other values.
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, more) in self.0.iter_mut().zip(&other.0) {
            sum.add(more);
        }
    }

    /// Returns the sum of the values.
    pub(crate) fn sum(&self) -> f64 {
        self.0[0].to_f64()
    }

    /// Returns the central moments of `count` values, each rounded only a few times.
    pub(crate) fn central(&self, count: u64) -> Central {
        if count == 0 {
            return Central::default();
        }
        self.central_of_small(count)
            .unwrap_or_else(|| self.central_of_any(count))
    }

    /// Returns the same bits as [`Self::central_of_any`], if all products fit 128 bits.
    #[expect(clippy::cast_precision_loss, reason = "the mean is rounded once")]
    fn central_of_small(&self, count: u64) -> Option<Central> {
        let [s1, s2, s3, s4] = self.0.map(Wide::to_u128);
        let (s1, s2, s3, s4, n) = (s1?, s2?, s3?, s4?, u128::from(count));
        let times = u128::checked_mul;
        let (s1_2, n_2, n_s2) = (times(s1, s1)?, n * n, times(n, s2)?);
        let m2 = small_difference(n_s2, s1_2);
        let above = times(n_2, s3)?.checked_add(times(times(s1_2, s1)?, 2)?)?;
        let m3 = small_difference(above, times(times(n_s2, s1)?, 3)?);
        let above = times(n_2, times(n, s4)?)?.checked_add(times(times(s1_2, n_s2)?, 6)?)?;
        let below = times(times(n_2, times(s1, s3)?)?, 4)?;
        let below = below.checked_add(times(times(s1_2, s1_2)?, 3)?)?;
        let n = count.real();
        Some(Central {
            mean: s1 as f64 / n,
            mean_rest: 0.0,
            m2: m2 / n,
            m3: m3 / n / n,
            m4: small_difference(above, below) / n / n / n,
        })
    }

    fn central_of_any(&self, count: u64) -> Central {
        let [s1, s2, s3, s4] = self.0.map(Wide::widened::<10>);
        let s1_2 = s1.product(&s1);
        let n = Wide::<1>::from(count).to_f64();
        // n M₂ = n Σx² − (Σx)²
        let m2 = difference(&s2.times(count), &s1_2);
        // n² M₃ = n² Σx³ + 2 (Σx)³ − 3 n Σx Σx²
        let mut above = s3.times(count).times(count);
        above.add(&s1_2.product(&s1).times(2));
        let m3 = difference(&above, &s1.product(&s2).times(3).times(count));
        // n³ M₄ = n³ Σx⁴ + 6 n (Σx)² Σx² − 4 n² Σx Σx³ − 3 (Σx)⁴
        let mut above = s4.times(count).times(count).times(count);
        above.add(&s1_2.product(&s2).times(6).times(count));
        let mut below = s1.product(&s3).times(4).times(count).times(count);
        below.add(&s1_2.product(&s1_2).times(3));
        let m4 = difference(&above, &below);
        Central {
            mean: s1.to_f64() / n,
            mean_rest: 0.0,
            m2: m2 / n,
            m3: m3 / n / n,
            m4: m4 / n / n / n,
        }
    }
}

/// Returns the sums of powers of the distances from `min`, all of which are small. Factors are half words, so that the
/// compiler vectorizes the multiplications.
fn small_distance_sums(values: &[u64], min: u64) -> [u64; 5] {
    const HALF: u64 = (1 << 32) - 1;
    let mut sums = [0_u64; 5];
    for &value in values {
        let distance = (value - min) & HALF;
        let square = (distance * distance) & HALF;
        sums[0] += 1;
        sums[1] += distance;
        sums[2] += square;
        sums[3] += square * distance;
        sums[4] += square * square;
    }
    sums
}

impl Extremes {
    /// Returns the range of values, if there are any.
    pub(crate) fn of(values: &[u64]) -> Option<Self> {
        let (&first, rest) = values.split_first()?;
        let (mut min, mut max) = (first, first);
        for &value in rest {
            min = min.min(value);
            max = max.max(value);
        }
        Some(Self { min, max })
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is rounded once")]
fn small_difference(a: u128, b: u128) -> f64 {
    if a < b {
        -((b - a) as f64)
    } else {
        (a - b) as f64
    }
}

fn difference(a: &Wide<10>, b: &Wide<10>) -> f64 {
    match a.compare(b) {
        Ordering::Less => -b.minus(a).to_f64(),
        _ => a.minus(b).to_f64(),
    }
}

/// Returns a number as a 64-bit integer, if it is one.
pub(crate) fn integer(value: f64) -> Option<u64> {
    const FRACTION_BITS: u64 = 52;
    let bits = value.to_bits();
    if bits == 0 {
        return Some(0);
    }
    // A negative number has a large value here, because its sign bit is set.
    let exponent = (bits >> FRACTION_BITS).checked_sub(1023)?;
    let mantissa = (bits & ((1 << FRACTION_BITS) - 1)) | (1 << FRACTION_BITS);
    if exponent >= 64 {
        return None;
    }
    if exponent >= FRACTION_BITS {
        return Some(mantissa << (exponent - FRACTION_BITS));
    }
    let num_fraction_bits = FRACTION_BITS - exponent;
    let integer = mantissa >> num_fraction_bits;
    (integer << num_fraction_bits == mantissa).then_some(integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_any_size_sum_to_the_same_bits() {
        let values: Vec<u64> = (0..5_000_u64)
            .map(|index| (index * index * 7919) % 100_003 + (index % 11) * (1 << (index % 40)))
            .chain([0, (1 << 32) - 1, 1 << 32, u64::MAX])
            .collect();
        let (mut one_by_one, mut by_count) = (PowerSums::default(), PowerSums::default());
        for &value in &values {
            one_by_one.push(value);
            by_count.push_repeated(value, 1);
        }
        assert_eq!(one_by_one, by_count);
        for size in [1, 9, 1000, 5_004] {
            let mut in_batches = PowerSums::default();
            for batch in values.chunks(size) {
                in_batches.extend(batch, Extremes::of(batch).unwrap());
            }
            assert_eq!(in_batches, one_by_one, "batches of {size}");
        }
    }

    #[test]
    fn central_moments_have_the_same_bits_for_any_word_width() {
        let mut num_small = 0;
        for index in 0..2_000_u64 {
            let values: Vec<u64> = (0..=index % 50)
                .map(|it| (it * it * 7919 + index) % (1 << (index % 40 + 1)))
                .collect();
            let mut sums = PowerSums::default();
            for &value in &values {
                sums.push_repeated(value, 1 + index * index % 97);
            }
            let count = values.len() as u64 * (1 + index * index % 97);
            let Some(small) = sums.central_of_small(count) else {
                continue;
            };
            num_small += 1;
            let any = sums.central_of_any(count);
            let bits = |it: Central| [it.mean, it.m2, it.m3, it.m4].map(f64::to_bits);
            assert_eq!(bits(small), bits(any), "{values:?}");
        }
        assert!((500..2_000).contains(&num_small), "{num_small}");
    }

    #[test]
    fn integers_are_distinguished_from_other_numbers() {
        let largest = 2_f64.powi(64).next_down();
        for value in [0.0, 1.0, 2.0, 25.0, 1e15, 9_007_199_254_740_993.0, largest] {
            assert_eq!(
                integer(value).map(|it| Wide::<1>::from(it).to_f64()),
                Some(value)
            );
        }
        for value in [
            -1.0,
            0.5,
            1.5,
            2_f64.powi(64),
            f64::NAN,
            f64::INFINITY,
            1e-300,
            -0.0,
        ] {
            assert_eq!(integer(value), None, "{value}");
        }
    }
}
