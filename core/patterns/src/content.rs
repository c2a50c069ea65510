//! Content hashes of sequences: equal sequences have equal hashes, however they were put together.
//!
//! The hash of a sequence of tokens t₁ … tₙ is Σ tᵢ Bⁿ⁻ⁱ modulo 2⁶¹ − 1, for two bases B at once (122 bits). The hash
//! of a sequence follows from the hashes of its parts, so `(a b) c` and `a (b c)` are equal.

/// The Mersenne prime modulo which hashes are computed.
const MODULUS: u64 = (1 << 61) - 1;
/// The two bases B.
const BASES: [u64; 2] = [0x0dfa_3a4b_91c7_52e3, 0x1743_9e58_02bd_6f19];

/// The hash of a sequence, and B to the power of its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Content {
    hash: [u64; 2],
    power: [u64; 2],
}

impl Content {
    /// The empty sequence.
    pub(super) const EMPTY: Self = Self {
        hash: [0; 2],
        power: [1; 2],
    };

    /// Returns a sequence of one token.
    pub(super) fn token(words: [u64; 2]) -> Self {
        Self {
            hash: words.map(|word| word % (MODULUS - 1) + 1),
            power: BASES,
        }
    }

    /// Returns a sequence of one token that represents this sequence; `kind` is the construct it becomes.
    pub(super) fn wrap(self, kind: u64) -> Self {
        let [a, b] = self.hash;
        let left = mix(kind ^ mix(a).wrapping_add(b));
        Self::token([left, mix(left ^ b.rotate_left(29) ^ a)])
    }

    /// Returns this sequence followed by another.
    pub(super) fn then(self, next: Self) -> Self {
        let hash =
            std::array::from_fn(|way| add(times(self.hash[way], next.power[way]), next.hash[way]));
        let power = std::array::from_fn(|way| times(self.power[way], next.power[way]));
        Self { hash, power }
    }

    /// Returns this sequence `count` times.
    pub(super) fn repeated(self, count: u32) -> Self {
        let (mut result, mut square, mut rest) = (Self::EMPTY, self, count);
        while rest > 0 {
            if rest & 1 == 1 {
                result = result.then(square);
            }
            square = square.then(square);
            rest >>= 1;
        }
        result
    }

    /// Returns the identity of the sequence.
    pub(super) fn key(self) -> u128 {
        u128::from(self.hash[0]) << 64 | u128::from(self.hash[1])
    }

    /// Returns a shorter identity, for display and for comparison with other traces.
    pub(super) fn short(self) -> u64 {
        mix(self.hash[0] ^ mix(self.hash[1]))
    }
}

/// Spreads the bits of a word (the finaliser of SplitMix64).
pub(super) fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

fn add(left: u64, right: u64) -> u64 {
    let sum = left + right;
    if sum >= MODULUS { sum - MODULUS } else { sum }
}

fn times(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    let low = product & u128::from(MODULUS);
    let high = product >> 61;
    // Both are below 2^62, so the conversions hold.
    let [low, high] = [low, high].map(|part| u64::try_from(part).unwrap_or(0));
    let sum = low + high;
    if sum >= MODULUS { sum - MODULUS } else { sum }
}

/// A hasher for keys that are hashes already.
#[derive(Clone, Copy, Default)]
pub(super) struct Ready(u64);

impl std::hash::Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0 ^ word);
    }

    fn write_u128(&mut self, word: u128) {
        self.0 = mix(u64::try_from(word & u128::from(u64::MAX)).unwrap_or(0));
    }
}

/// A map with hashes as keys.
pub(super) type HashedMap<Key, Value> =
    std::collections::HashMap<Key, Value, std::hash::BuildHasherDefault<Ready>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_depends_on_the_sequence_and_not_on_its_grouping() {
        let [a, b, c] = [1, 2, 3].map(|word| Content::token([mix(word), mix(!word)]));
        assert_eq!(a.then(b).then(c), a.then(b.then(c)));
        assert_ne!(a.then(b).key(), b.then(a).key());
        assert_eq!(
            a.then(b).repeated(3),
            a.then(b).then(a.then(b)).then(a).then(b)
        );
        assert_eq!(a.repeated(0), Content::EMPTY);
        assert_ne!(a.wrap(1).key(), a.wrap(2).key());
        assert_ne!(a.repeated(2).key(), a.repeated(3).key());
    }
}
