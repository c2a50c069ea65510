//! Integers of variable length: small numbers take one byte.

use super::PackedError;

/// Number of value bits in a byte; the highest bit marks that more bytes follow.
const BITS: usize = 7;

/// Appends a number, seven bits per byte, the lowest first.
pub(super) fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 1 << BITS {
        bytes.push(value.to_le_bytes()[0] | 1 << BITS);
        value >>= BITS;
    }
    bytes.push(value.to_le_bytes()[0]);
}

/// Appends a number of elements.
pub(super) fn put_len(bytes: &mut Vec<u8>, len: usize) {
    put(bytes, u64::try_from(len).unwrap_or(u64::MAX));
}

/// Appends a number that may be negative; small numbers of both signs are short.
pub(super) fn put_signed(bytes: &mut Vec<u8>, value: i64) {
    put(bytes, (value << 1 ^ value >> 63).cast_unsigned());
}

/// A reader of packed bytes, which may come from an untrusted source.
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

    /// Reads a time or a duration: `before` plus a number of units.
    pub(super) fn take_ns(&mut self, before: i64, unit: i64) -> Result<i64, PackedError> {
        let ns = self.take_signed()?.checked_mul(unit);
        let ns = ns.and_then(|ns| before.checked_add(ns));
        // Bounded, so that the sum of two such numbers does not overflow.
        let is_possible = |ns: &i64| ns.unsigned_abs() < 1 << 62;
        ns.filter(is_possible).ok_or(PackedError::Number)
    }

    pub(super) fn take_u32(&mut self) -> Result<u32, PackedError> {
        Ok(u32::try_from(self.take()?)?)
    }

    /// Reads a number of elements that take at least one byte each, so that invalid lengths allocate no memory.
    pub(super) fn take_len(&mut self) -> Result<usize, PackedError> {
        let len = self.take()?;
        let len = usize::try_from(len).ok();
        len.filter(|&len| len <= self.left.len())
            .ok_or(PackedError::Short)
    }

    /// Reads a column of the length that `take_len` returned.
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

    /// Returns an error if bytes are left.
    pub(super) fn end(&self) -> Result<(), PackedError> {
        if self.left.is_empty() {
            Ok(())
        } else {
            Err(PackedError::Long)
        }
    }
}
