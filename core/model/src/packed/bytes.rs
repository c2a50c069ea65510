//! Numbers as bytes: small ones take one.

use super::PackedError;

/// Bits of a number in one byte; the highest says that more follow.
const BITS: usize = 7;

/// Appends a number, seven bits a byte, the lowest first.
pub(super) fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 1 << BITS {
        bytes.push(value.to_le_bytes()[0] | 1 << BITS);
        value >>= BITS;
    }
    bytes.push(value.to_le_bytes()[0]);
}

/// Appends a number of things.
pub(super) fn put_len(bytes: &mut Vec<u8>, len: usize) {
    put(bytes, u64::try_from(len).unwrap_or(u64::MAX));
}

/// The same for numbers that may be negative; small ones of both signs are short.
pub(super) fn put_signed(bytes: &mut Vec<u8>, value: i64) {
    put(bytes, (value << 1 ^ value >> 63).cast_unsigned());
}

/// Reads what was put. Bytes may come from anywhere.
pub(super) struct Bytes<'a> {
    left: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    pub(super) fn take(&mut self) -> Result<u64, PackedError> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(BITS) {
            let (&byte, left) = self.left.split_first().ok_or(PackedError::Short)?;
            self.left = left;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 1 << BITS {
                return Ok(value);
            }
        }
        Err(PackedError::Number)
    }

    pub(super) fn take_signed(&mut self) -> Result<i64, PackedError> {
        let value = self.take()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// A time or a duration: `before` and so many units more.
    pub(super) fn take_ns(&mut self, before: i64, unit: i64) -> Result<i64, PackedError> {
        let ns = self.take_signed()?.checked_mul(unit);
        let ns = ns.and_then(|ns| before.checked_add(ns));
        // So that the sum of two is none that cannot be.
        let is_possible = |ns: &i64| ns.unsigned_abs() < 1 << 62;
        ns.filter(is_possible).ok_or(PackedError::Number)
    }

    pub(super) fn take_u32(&mut self) -> Result<u32, PackedError> {
        Ok(u32::try_from(self.take()?)?)
    }

    /// A number of things of which each takes at least one byte, so that no memory is taken for what cannot come.
    pub(super) fn take_len(&mut self) -> Result<usize, PackedError> {
        let len = self.take()?;
        let len = usize::try_from(len).ok();
        len.filter(|&len| len <= self.left.len())
            .ok_or(PackedError::Short)
    }

    /// As many things as `take_len` said.
    pub(super) fn take_column<T>(
        &mut self,
        len: usize,
        mut take: impl FnMut(&mut Self) -> Result<T, PackedError>,
    ) -> Result<Vec<T>, PackedError> {
        let mut column = Vec::with_capacity(len);
        for _ in 0..len {
            column.push(take(self)?);
        }
        Ok(column)
    }

    /// Nothing may be left.
    pub(super) fn end(&self) -> Result<(), PackedError> {
        if self.left.is_empty() {
            Ok(())
        } else {
            Err(PackedError::Long)
        }
    }
}
