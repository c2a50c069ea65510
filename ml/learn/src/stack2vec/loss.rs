//! Derivatives of the two objectives at given scores, vectorised for the machine's vector width.

use pulp::{Simd, WithSimd};

/// Number of sums that are added at once, in a fixed order whatever the vector width.
const LANES: usize = 16;

/// Replaces the products x·o of a tree by (Σ_s p_s) softmax(x·o + c) − p, and returns −Σ_s p_s log softmax_s(x·o +
/// c).
pub(super) fn softmax_errors(
    row: &mut [f32],
    offsets: &[f32],
    words: &[u32],
    shares: &[f32],
) -> f32 {
    let total: f32 = shares.iter().sum();
    let own = words
        .iter()
        .map(|&word| row[word as usize] + offsets[word as usize]);
    let wanted: f32 = own.zip(shares).map(|(logit, share)| share * logit).sum();
    let log_sum = pulp::Arch::new().dispatch(Softmax {
        row: &mut *row,
        offsets,
        total,
    });
    for (&word, &share) in words.iter().zip(shares) {
        row[word as usize] -= share;
    }
    total * log_sum - wanted
}

/// Replaces the products x·o of a tree, one for each of `words`, by σ(x·o) (p + n) − p, where n is the total share of
/// the tree times the weight of the word as a negative.
pub(super) fn logistic_errors(
    row: &mut [f32],
    words: &[u32],
    negative: &[f32],
    own: &[u32],
    shares: &[f32],
) {
    let total: f32 = shares.iter().sum();
    let indices = || own.iter().map(|word| words.binary_search(word));
    let logits: Vec<f32> = indices()
        .map(|index| index.map_or(0.0, |index| row[index]))
        .collect();
    pulp::Arch::new().dispatch(Logistic {
        row: &mut *row,
        negative,
        total,
    });
    for ((index, logit), share) in indices().zip(logits).zip(shares) {
        if let Ok(index) = index {
            row[index] += share * (logistic(logit) - 1.0);
        }
    }
}

struct Softmax<'a> {
    row: &'a mut [f32],
    offsets: &'a [f32],
    total: f32,
}

impl WithSimd for Softmax<'_> {
    /// log Σ exp(x·o + c)
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> f32 {
        let mut largest = [f32::NEG_INFINITY; LANES];
        let (chunks, rest) = self.row.as_chunks_mut::<LANES>();
        let (offset_chunks, offset_rest) = self.offsets.as_chunks::<LANES>();
        for (chunk, offsets) in chunks.iter_mut().zip(offset_chunks) {
            for lane in 0..LANES {
                chunk[lane] += offsets[lane];
                largest[lane] = if chunk[lane] > largest[lane] {
                    chunk[lane]
                } else {
                    largest[lane]
                };
            }
        }
        for (value, offset) in rest.iter_mut().zip(offset_rest) {
            *value += offset;
            largest[0] = largest[0].max(*value);
        }
        let largest = largest.into_iter().fold(f32::NEG_INFINITY, f32::max);
        let mut sums = [0.0_f32; LANES];
        for chunk in &mut *chunks {
            for lane in 0..LANES {
                chunk[lane] = exp_of_negative(chunk[lane] - largest);
                sums[lane] += chunk[lane];
            }
        }
        for value in &mut *rest {
            *value = exp_of_negative(*value - largest);
            sums[0] += *value;
        }
        let sum = sums.iter().sum::<f32>();
        let scale = self.total / sum;
        for value in self.row {
            *value *= scale;
        }
        largest + sum.ln()
    }
}

struct Logistic<'a> {
    row: &'a mut [f32],
    negative: &'a [f32],
    total: f32,
}

impl WithSimd for Logistic<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for (value, negative) in self.row.iter_mut().zip(self.negative) {
            *value = logistic(*value) * (negative * self.total);
        }
    }
}

#[inline(always)]
fn logistic(x: f32) -> f32 {
    let small = exp_of_negative(-x.abs());
    (if x >= 0.0 { 1.0 } else { small }) / (1.0 + small)
}

/// Returns e^x for x ≤ 0 within 2·10⁻⁷, without a branch so that loops of it are vectorised: x is split into a whole
/// power of two, set in the exponent bits, and a remainder for a polynomial (that of Cephes' `expf`).
#[inline(always)]
fn exp_of_negative(x: f32) -> f32 {
    // 1.5 · 2²³: adding it rounds to an integer, which is then in the low bits.
    const MAGIC: f32 = 12_582_912.0;
    let x = x.max(-87.0);
    let shifted = x * std::f32::consts::LOG2_E + MAGIC;
    let power = shifted - MAGIC;
    let rest = x - power * 0.693_359_4 + power * 2.121_944_4e-4;
    let mut sum = 1.987_569_2e-4;
    for coefficient in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5] {
        sum = sum * rest + coefficient;
    }
    let exponential = sum * rest * rest + rest + 1.0;
    exponential * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_exponential_is_close_to_the_exact_one() {
        for step in 0..87_000 {
            let x = -(step as f32) / 1_000.0;
            let exact = f64::from(x).exp();
            let error = (f64::from(exp_of_negative(x)) - exact).abs() / exact;
            assert!(error < 3e-7, "{x}: {error}");
        }
        assert!(exp_of_negative(f32::NEG_INFINITY) < 1e-37);
    }

    /// Returns the slope of `loss` along each entry of `row`.
    fn slopes(row: &[f64], loss: impl Fn(&[f64]) -> f64) -> Vec<f32> {
        let moved = |index: usize, by: f64| {
            let mut row = row.to_vec();
            row[index] += by;
            loss(&row)
        };
        let step = 1e-5;
        (0..row.len())
            .map(|index| ((moved(index, step) - moved(index, -step)) / (2.0 * step)) as f32)
            .collect()
    }

    fn assert_close(found: &[f32], expected: &[f32]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-4, "{found} {expected}");
        }
    }

    #[test]
    fn errors_are_slopes_of_the_loss() {
        let scores: Vec<f64> = (0..37).map(|word| (f64::from(word) * 0.7).sin()).collect();
        let (own, shares) = ([2_u32, 19, 36], [2.0_f32, 1.5, 0.5]);
        let offsets: Vec<f32> = (0..37).map(|word| (word as f32).cos()).collect();
        let mut row: Vec<f32> = scores.iter().map(|&score| score as f32).collect();
        softmax_errors(&mut row, &offsets, &own, &shares);
        let expected = slopes(&scores, |scores| {
            let with = |word: usize| scores[word] + f64::from(offsets[word]);
            let total: f64 = (0..37).map(|word| with(word).exp()).sum();
            let of = |(&word, &share)| f64::from(share) * (total.ln() - with(word as usize));
            own.iter().zip(&shares).map(of).sum()
        });
        assert_close(&row, &expected);

        let words: Vec<u32> = (0..37).collect();
        let negative: Vec<f32> = (0..37).map(|word| 0.01 * word as f32).collect();
        let mut row: Vec<f32> = scores.iter().map(|&score| score as f32).collect();
        logistic_errors(&mut row, &words, &negative, &own, &shares);
        let expected = slopes(&scores, |scores| {
            let soft = |x: f64| x.exp().ln_1p();
            let of = |(&word, &share)| f64::from(share) * soft(-scores[word as usize]);
            let positives: f64 = own.iter().zip(&shares).map(of).sum();
            let of = |(score, &weight): (&f64, &f32)| 4.0 * f64::from(weight) * soft(*score);
            positives + scores.iter().zip(&negative).map(of).sum::<f64>()
        });
        assert_close(&row, &expected);
    }
}
