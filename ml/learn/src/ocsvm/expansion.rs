//! f = Kα as an exact sum.

use callgrove_trees::real::Real;
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

/// Number of values of f that one task updates; the result does not depend on it.
const PLACES_PER_TASK: usize = 4096;

/// α and f(x_t) = Σ α_j K(x_j, x_t), where every term is rounded to a multiple of 2⁻⁵⁰ before it is added. Sums of
/// such terms are exact, so f depends on α alone, not on the order of updates.
///
/// Each term has an error of at most 2⁻⁵¹ ≈ 4·10⁻¹⁶; a thousand support vectors typically give 10⁻¹⁴.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Expansion {
    alpha: Vec<f64>,
    scaled_f: Vec<i64>,
}

impl Expansion {
    pub(super) fn zero(num_distinct: usize) -> Self {
        Self {
            alpha: vec![0.0; num_distinct],
            scaled_f: vec![0; num_distinct],
        }
    }

    pub(super) fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    pub(super) fn f(&self, index: usize) -> f64 {
        from_scaled(self.scaled_f[index])
    }

    /// Returns f as a multiple of 2⁻⁵⁰.
    pub(super) fn scaled_f(&self, index: usize) -> i64 {
        self.scaled_f[index]
    }

    /// Returns all f in order.
    pub(super) fn all_f(&self) -> Vec<f64> {
        self.scaled_f.iter().map(|&f| from_scaled(f)).collect()
    }

    /// Sets one α, given its kernel row.
    pub(super) fn set(&mut self, index: usize, alpha: f64, kernel_row: &[f64]) {
        self.set_all(&[(index, alpha, kernel_row)]);
    }

    /// Sets several α, given their kernel rows; indices are distinct.
    pub(super) fn set_all(&mut self, changes: &[(usize, f64, &[f64])]) {
        let changes: Vec<(usize, f64, f64, &[f64])> = changes
            .iter()
            .map(|&(index, alpha, row)| (index, self.alpha[index], alpha, row))
            .filter(|(_, old, new, _)| old.to_bits() != new.to_bits())
            .collect();
        let vectors = pulp::Arch::new();
        let run = |(task, f): (usize, &mut [i64])| {
            let first = task * PLACES_PER_TASK;
            for &(_, old, new, row) in &changes {
                let kernel_row = &row[first..first + f.len()];
                vectors.dispatch(AlphaMove {
                    f: &mut *f,
                    old,
                    new,
                    kernel_row,
                });
            }
        };
        if self.scaled_f.len() > PLACES_PER_TASK {
            let tasks = self.scaled_f.par_chunks_mut(PLACES_PER_TASK);
            tasks.enumerate().for_each(run);
        } else {
            run((0, &mut self.scaled_f));
        }
        for (index, _, new, _) in changes {
            self.alpha[index] = new;
        }
    }

    /// Returns the sum over some of the rows only.
    pub(super) fn select(&self, places: &[usize]) -> Self {
        Self {
            alpha: places.iter().map(|&place| self.alpha[place]).collect(),
            scaled_f: places.iter().map(|&place| self.scaled_f[place]).collect(),
        }
    }
}

/// The change of f by one α, compiled by pulp per vector width.
pub(super) struct AlphaMove<'a> {
    pub(super) f: &'a mut [i64],
    pub(super) old: f64,
    pub(super) new: f64,
    pub(super) kernel_row: &'a [f64],
}

impl WithSimd for AlphaMove<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for (f, &kernel) in self.f.iter_mut().zip(self.kernel_row) {
            *f += to_scaled(self.new * kernel) - to_scaled(self.old * kernel);
        }
    }
}

/// 1.5 · 2⁵²: adding it to |x| ≤ 2⁵¹ leaves x, rounded to an integer, in the low bits.
const MAGIC: f64 = 6_755_399_441_055_744.0;
/// 2⁵⁰, the factor of scaled values.
const SCALE: f64 = 1_125_899_906_842_624.0;

/// Returns a term of f in −1..=1 as a multiple of 2⁻⁵⁰, without a branch so that loops of it are vectorised.
#[inline(always)]
pub(super) fn to_scaled(term: f64) -> i64 {
    let bits = (term * SCALE + MAGIC).to_bits();
    bits.wrapping_sub(MAGIC.to_bits()).cast_signed()
}

pub(super) fn from_scaled(scaled: i64) -> f64 {
    scaled.real() / SCALE
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KERNEL: [[f64; 4]; 4] = [
        [1.0, 0.3, 0.1, 0.77],
        [0.3, 1.0, 0.01, 0.123],
        [0.1, 0.01, 1.0, 1e-9],
        [0.77, 0.123, 1e-9, 1.0],
    ];

    proptest! {
        #[test]
        fn f_does_not_depend_on_the_order(
            path in prop::collection::vec((0_usize..4, 0.0..1.0_f64), 1..40),
        ) {
            let kernel = |row: usize| KERNEL[row];
            let mut walked = Expansion::zero(4);
            for &(index, alpha) in &path {
                walked.set(index, alpha, &kernel(index));
            }
            let rows = [0, 1, 2, 3].map(kernel);
            let changes = [3, 1, 0, 2].map(|index| (index, walked.alpha()[index], &rows[index][..]));
            let mut direct = Expansion::zero(4);
            direct.set_all(&changes);
            prop_assert_eq!(&walked, &direct);
            let plain: f64 = (0..4).map(|j| walked.alpha()[j] * kernel(j)[2]).sum();
            prop_assert!((walked.f(2) - plain).abs() < 1e-14);
        }
    }
}
