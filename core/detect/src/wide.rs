//! Integers of several hundred bits, for sums and products that must not round.

use std::cmp::Ordering;

/// An integer of N · 64 bits, the lowest word first. Overflow is cut off, so callers choose a sufficient N.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wide<const N: usize>([u64; N]);

impl<const N: usize> Default for Wide<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> From<u64> for Wide<N> {
    fn from(value: u64) -> Self {
        let mut limbs = [0; N];
        limbs[0] = value;
        Self(limbs)
    }
}

impl<const N: usize> Wide<N> {
    pub(crate) fn from_u128(value: u128) -> Self {
        Self::from_bytes(&value.to_le_bytes()).unwrap_or_default()
    }

    /// Returns the value if it fits 128 bits.
    pub(crate) fn to_u128(self) -> Option<u128> {
        let (low, high) = self.0.split_at(2.min(N));
        let value = low.iter().rev();
        let value = value.fold(0, |value, &limb| value << 64 | u128::from(limb));
        high.iter().all(|&limb| limb == 0).then_some(value)
    }

    /// Returns the integer with these bytes, the lowest first, or `None` if there are too many.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut limbs = [0; N];
        let (whole, rest) = bytes.as_chunks::<8>();
        let mut free = limbs.iter_mut();
        for limb in whole {
            *free.next()? = u64::from_le_bytes(*limb);
        }
        if !rest.is_empty() {
            let limb = free.next()?;
            let bytes = rest.iter().rev();
            *limb = bytes.fold(0, |value, &byte| value << 8 | u64::from(byte));
        }
        Some(Self(limbs))
    }

    /// Returns the words, the lowest first, without zeros at the end.
    pub(crate) fn words(&self) -> &[u64] {
        let last = self.0.iter().rposition(|&limb| limb != 0);
        &self.0[..last.map_or(0, |last| last + 1)]
    }

    /// Returns the bytes, the lowest first, without zeros at the end.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.0.iter().flat_map(|limb| limb.to_le_bytes()).collect();
        let num_bytes = bytes
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1);
        bytes.truncate(num_bytes);
        bytes
    }

    pub(crate) fn widened<const M: usize>(self) -> Wide<M> {
        let mut limbs = [0; M];
        limbs[..N].copy_from_slice(&self.0);
        Wide(limbs)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let mut carry = false;
        for (limb, more) in self.0.iter_mut().zip(other.0) {
            (*limb, carry) = limb.carrying_add(more, carry);
        }
    }

    /// Adds a 128-bit number.
    pub(crate) fn add_u128(&mut self, value: u128) {
        let bytes = value.to_le_bytes();
        let (halves, _) = bytes.as_chunks::<8>();
        let mut halves = halves.iter();
        let mut carry = false;
        for limb in &mut self.0 {
            let more = match halves.next() {
                Some(half) => u64::from_le_bytes(*half),
                None if carry => 0,
                None => return,
            };
            (*limb, carry) = limb.carrying_add(more, carry);
        }
    }

    /// Returns the difference to another number that is not larger.
    pub(crate) fn minus(mut self, other: &Self) -> Self {
        let mut borrow = false;
        for (limb, less) in self.0.iter_mut().zip(other.0) {
            (*limb, borrow) = limb.borrowing_sub(less, borrow);
        }
        self
    }

    pub(crate) fn times(mut self, factor: u64) -> Self {
        let mut carry = 0;
        for limb in &mut self.0 {
            (*limb, carry) = limb.carrying_mul(factor, carry);
        }
        self
    }

    pub(crate) fn product(&self, other: &Self) -> Self {
        let mut limbs = [0; N];
        for (shift, &factor) in self
            .0
            .iter()
            .enumerate()
            .filter(|(_, factor)| **factor != 0)
        {
            let mut carry = 0;
            for (limb, &of_other) in limbs[shift..].iter_mut().zip(&other.0) {
                (*limb, carry) = factor.carrying_mul_add(of_other, carry, *limb);
            }
        }
        Self(limbs)
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }

    /// Returns the nearest double; of two, the even one.
    pub(crate) fn to_f64(self) -> f64 {
        const FRACTION_BITS: u32 = 52;
        let Some(top) = self.0.iter().rposition(|&limb| limb != 0) else {
            return 0.0;
        };
        let shift = self.0[top].leading_zeros();
        let next = if top > 0 { self.0[top - 1] } else { 0 };
        // The highest 64 bits, and whether any lower bit is set.
        let (mut high, mut is_more) = (self.0[top], next != 0);
        if shift > 0 {
            high = (high << shift) | (next >> (64 - shift));
            is_more = next << shift != 0;
        }
        is_more |= self.0[..top.saturating_sub(1)]
            .iter()
            .any(|&limb| limb != 0);
        let num_cut = 63 - FRACTION_BITS;
        let cut = high & ((1 << num_cut) - 1);
        let half = 1 << (num_cut - 1);
        let mantissa = high >> num_cut;
        let is_up = cut > half || (cut == half && (is_more || mantissa & 1 == 1));
        // A mantissa that overflows carries into the exponent, as intended.
        let exponent = (0..top).fold(1023 + 63 - u64::from(shift), |it, _| it + 64);
        let bits = ((exponent - 1) << FRACTION_BITS) + mantissa + u64::from(is_up);
        f64::from_bits(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_the_nearest() {
        for value in [
            0,
            1,
            3,
            25,
            (1 << 53) + 1,
            (1 << 53) + 3,
            u64::MAX,
            u64::MAX - 1024,
        ] {
            let nearest = Wide::<2>::from(value).to_f64();
            assert_eq!(nearest.to_bits(), (value as f64).to_bits(), "{value}");
        }
        for value in [
            1_u128 << 64,
            u128::MAX,
            (1 << 100) + 1,
            (1 << 117) + (1 << 64) + 1,
        ] {
            let nearest = Wide::<3>::from_u128(value).to_f64();
            assert_eq!(nearest.to_bits(), (value as f64).to_bits(), "{value}");
        }
    }

    #[test]
    fn products_and_differences_are_those_of_integers() {
        let (a, b) = (0x1234_5678_9abc_def0_1111_u128, 0xfedc_ba98_7654_u128);
        let [wide_a, wide_b] = [a, b].map(Wide::<4>::from_u128);
        assert_eq!(wide_a.product(&wide_b), Wide::from_u128(a * b));
        assert_eq!(wide_a.minus(&wide_b), Wide::from_u128(a - b));
        assert_eq!(wide_a.compare(&wide_b), Ordering::Greater);
        assert_eq!(Wide::from_bytes(&wide_a.to_bytes()), Some(wide_a));
    }
}
