//! The values of OTF2's files.
//!
//! Compressed integers have a byte with their length, then that many bytes, the least significant first if the machine
//! that wrote them was little-endian. Length 0 is the value 0, and length 255 all ones, which means undefined.
//!
//! Source: OTF2 3.0.2, `src/OTF2_Buffer.h` and `OTF2_Buffer.c`.

/// All ones: an undefined reference of 32 bits.
pub(crate) const UNDEFINED: u32 = u32::MAX;
/// The length of a compressed integer that is undefined.
const UNDEFINED_LENGTH: u8 = 0xFF;

/// The byte order of the machine that wrote a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

/// Bytes that are read from their beginning. Each method returns `None` if they end early or are invalid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteReader<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl ByteOrder {
    /// Returns the order that a byte at the start of a file or chunk states.
    pub(crate) fn of(mark: u8) -> Option<Self> {
        match mark {
            0x42 => Some(Self::Little),
            0x23 => Some(Self::Big),
            _ => None,
        }
    }
}

impl<'a> ByteReader<'a> {
    pub(crate) fn new(bytes: &'a [u8], order: ByteOrder) -> Self {
        Self { bytes, order }
    }

    /// Returns the number of bytes that are left.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the byte order.
    pub(crate) fn order(&self) -> ByteOrder {
        self.order
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    /// Returns the next `num_bytes` bytes as a separate reader.
    #[inline]
    pub(crate) fn take(&mut self, num_bytes: usize) -> Option<Self> {
        let (taken, rest) = self.bytes.split_at_checked(num_bytes)?;
        self.bytes = rest;
        Some(Self::new(taken, self.order))
    }

    /// Returns an integer of eight bytes.
    #[inline]
    pub(crate) fn full_u64(&mut self) -> Option<u64> {
        let (&bytes, rest) = self.bytes.split_first_chunk::<8>()?;
        self.bytes = rest;
        Some(match self.order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        })
    }

    /// Returns a compressed integer.
    #[inline]
    pub(crate) fn u64(&mut self) -> Option<u64> {
        let length = self.u8()?;
        if length == UNDEFINED_LENGTH {
            return Some(u64::MAX);
        }
        let length = usize::from(length);
        if length > 8 {
            return None;
        }
        let (digits, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        let add = |value: u64, digit: &u8| value << 8 | u64::from(*digit);
        Some(match self.order {
            ByteOrder::Little => digits.iter().rev().fold(0, add),
            ByteOrder::Big => digits.iter().fold(0, add),
        })
    }

    /// Returns a compressed integer of at most 32 bits.
    #[inline]
    pub(crate) fn u32(&mut self) -> Option<u32> {
        let value = self.u64()?;
        if value == u64::MAX {
            return Some(UNDEFINED);
        }
        u32::try_from(value).ok()
    }

    /// Returns a compressed signed integer; negative ones have their full width.
    pub(crate) fn i64(&mut self) -> Option<i64> {
        Some(self.u64()?.cast_signed())
    }

    /// Returns a text up to its NUL. Bytes that are not UTF-8 are replaced.
    pub(crate) fn text(&mut self) -> Option<String> {
        let end = self.bytes.iter().position(|byte| *byte == 0)?;
        let text = String::from_utf8_lossy(&self.bytes[..end]).into_owned();
        self.bytes = &self.bytes[end + 1..];
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_integers_of_both_orders_are_read() {
        for (bytes, order, expected) in [
            (&[0][..], ByteOrder::Little, Some(0)),
            (&[2, 0x34, 0x12], ByteOrder::Little, Some(0x1234)),
            (&[2, 0x12, 0x34], ByteOrder::Big, Some(0x1234)),
            (&[0xFF], ByteOrder::Big, Some(u64::MAX)),
            (&[9, 0, 0, 0, 0, 0, 0, 0, 0, 0], ByteOrder::Big, None),
            (&[2, 1], ByteOrder::Little, None),
            (&[], ByteOrder::Little, None),
        ] {
            assert_eq!(ByteReader::new(bytes, order).u64(), expected, "{bytes:?}");
        }
        let negative = [8, 0xFB, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
        assert_eq!(
            ByteReader::new(&negative, ByteOrder::Little).i64(),
            Some(-5)
        );
        let wide = [5, 0, 0, 0, 0, 1];
        assert_eq!(ByteReader::new(&wide, ByteOrder::Little).u32(), None);
    }

    #[test]
    fn a_text_ends_with_a_nul() {
        let mut bytes = ByteReader::new(b"a\xFF\0b", ByteOrder::Little);
        assert_eq!(bytes.text().as_deref(), Some("a\u{FFFD}"));
        assert_eq!(bytes.text(), None);
    }
}
