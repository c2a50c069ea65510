//! Fixed pseudo-random numbers and fast hashing for tables inside this process.

use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are mixed already.
pub(crate) type MixedMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<MixedHasher>>;

/// Returns a fixed pseudo-random 128-bit number for a small one (SplitMix64 twice, Steele et al. 2014).
pub(super) fn number_of(index: u32) -> u128 {
    let split_mix = |seed: u64| {
        let mut z = u64::from(index).wrapping_add(seed).wrapping_add(1);
        z = z.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    (u128::from(split_mix(0)) << 64) | u128::from(split_mix(1 << 40))
}

/// Appends a number to the list with the hash `state`. Different lists get different states, except with a
/// probability of about 2^-128.
pub fn chain(state: u128, number: u128) -> u128 {
    // An odd number with mixed bits: twice the fraction of the golden ratio.
    const ODD: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;
    let mixed = (state.rotate_left(53) ^ number).wrapping_mul(ODD);
    mixed ^ (mixed >> 64)
}

/// Hashes keys whose bits are mixed already: one multiplication a word.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct MixedHasher(u64);

impl Hasher for MixedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let mixed = (self.0.rotate_left(26) ^ word).wrapping_mul(ODD);
        self.0 = mixed ^ (mixed >> 32);
    }

    #[expect(clippy::cast_possible_truncation, reason = "one half after the other")]
    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }
}
