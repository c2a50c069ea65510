//! Pseudo-random numbers, the same for each seed.

/// A sequence of pseudo-random numbers (Knuth's MMIX generator).
pub struct Numbers(u64);

impl Numbers {
    /// Returns the sequence of a seed.
    pub fn with_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number, from 0 to `bound` - 1.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}
