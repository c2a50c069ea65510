//! The fields of a protobuf message, read in place.
//!
//! A field is a tag (number and wire type) and a value. Fields whose number a caller does not know are skipped by
//! the caller; groups, which no trace has, and 32-bit values are skipped here.

/// Wire type of an integer of variable length.
const VARINT: u64 = 0;
/// Wire type of eight bytes.
const FIXED64: u64 = 1;
/// Wire type of a length and that number of bytes.
const BYTES: u64 = 2;
/// Wire type of the beginning of a group.
const GROUP: u64 = 3;
/// Wire type of the end of a group.
const GROUP_END: u64 = 4;
/// Wire type of four bytes.
const FIXED32: u64 = 5;
/// Maximum number of a field that protobuf allows.
const MAX_NUMBER: u64 = (1 << 29) - 1;
/// Maximum number of bytes of an integer of variable length.
const MAX_VARINT_BYTES: usize = 10;

/// A message that is not valid protobuf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadField;

/// The value of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldValue<'a> {
    /// An integer of variable length.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// A text, bytes, a message, or packed values.
    Bytes(&'a [u8]),
    /// A value of a kind that no field of interest has.
    Other,
}

/// The fields of a message, in order. It ends after the first that is damaged.
#[derive(Clone, Debug)]
pub struct FieldWalk<'a> {
    bytes: &'a [u8],
}

impl<'a> FieldWalk<'a> {
    /// Returns the fields of a message.
    pub const fn of(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns the bytes that were not read yet.
    pub const fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns an integer of variable length.
    #[inline]
    pub fn varint(&mut self) -> Option<u64> {
        let (&first, rest) = self.bytes.split_first()?;
        if first < 0x80 {
            self.bytes = rest;
            return Some(u64::from(first));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for (place, &byte) in self.bytes.iter().take(MAX_VARINT_BYTES).enumerate() {
            value |= u64::from(byte & 0x7F) << (7 * place);
            if byte < 0x80 {
                self.bytes = self.bytes.get(place + 1..)?;
                return Some(value);
            }
        }
        None
    }

    #[inline]
    fn take(&mut self, num_bytes: u64) -> Option<&'a [u8]> {
        let num_bytes = usize::try_from(num_bytes).ok()?;
        let (taken, rest) = self.bytes.split_at_checked(num_bytes)?;
        self.bytes = rest;
        Some(taken)
    }

    #[inline]
    fn field(&mut self) -> Option<(u64, FieldValue<'a>)> {
        let tag = self.varint()?;
        let number = tag >> 3;
        if number == 0 || number > MAX_NUMBER {
            return None;
        }
        let value = match tag & 7 {
            VARINT => FieldValue::Varint(self.varint()?),
            BYTES => {
                let num_bytes = self.varint()?;
                FieldValue::Bytes(self.take(num_bytes)?)
            }
            FIXED64 => {
                let (&value, rest) = self.bytes.split_first_chunk::<8>()?;
                self.bytes = rest;
                FieldValue::Fixed64(u64::from_le_bytes(value))
            }
            kind => {
                self.skip(kind)?;
                FieldValue::Other
            }
        };
        Some((number, value))
    }

    /// Skips a value of another kind. Groups may be nested to any depth.
    fn skip(&mut self, mut kind: u64) -> Option<()> {
        let mut num_open = 0_u64;
        loop {
            match kind {
                VARINT => drop(self.varint()?),
                FIXED64 => drop(self.take(8)?),
                FIXED32 => drop(self.take(4)?),
                BYTES => {
                    let num_bytes = self.varint()?;
                    self.take(num_bytes)?;
                }
                GROUP => num_open += 1,
                GROUP_END => num_open = num_open.checked_sub(1)?,
                _ => return None,
            }
            if num_open == 0 {
                return Some(());
            }
            kind = self.varint()? & 7;
        }
    }
}

impl<'a> Iterator for FieldWalk<'a> {
    type Item = Result<(u64, FieldValue<'a>), BadField>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.bytes = &[];
        }
        Some(field.ok_or(BadField))
    }
}

/// Returns a signed integer that a message has as an unsigned one.
pub const fn signed(value: u64) -> i64 {
    value.cast_signed()
}

/// Returns the integers of a repeated field, which is packed or has one integer.
pub fn packed(value: FieldValue<'_>) -> impl Iterator<Item = u64> + '_ {
    let (one, mut many) = match value {
        FieldValue::Varint(value) | FieldValue::Fixed64(value) => (Some(value), FieldWalk::of(&[])),
        FieldValue::Bytes(bytes) => (None, FieldWalk::of(bytes)),
        FieldValue::Other => (None, FieldWalk::of(&[])),
    };
    one.into_iter()
        .chain(std::iter::from_fn(move || many.varint()))
}

/// Returns the 64-bit values of a repeated field, which is packed or has one value.
pub fn packed_fixed64(value: FieldValue<'_>) -> impl Iterator<Item = u64> + '_ {
    let (one, many) = match value {
        FieldValue::Fixed64(value) => (Some(value), &[][..]),
        FieldValue::Bytes(bytes) => (None, bytes.as_chunks::<8>().0),
        FieldValue::Varint(_) | FieldValue::Other => (None, &[][..]),
    };
    one.into_iter()
        .chain(many.iter().map(|it| u64::from_le_bytes(*it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Vec<Result<(u64, FieldValue<'_>), BadField>> {
        FieldWalk::of(bytes).collect()
    }

    #[test]
    fn values_of_all_kinds_are_read_and_groups_are_skipped() {
        let bytes = [
            0x08, 0xAC, 0x02, // 1: 300
            0x12, 2, b'h', b'i', // 2: hi
            0x19, 1, 0, 0, 0, 0, 0, 0, 0, // 3: eight bytes
            0x23, 0x2B, 0x08, 1, 0x2C, 0x24, // 4: a group in a group
            0x35, 1, 2, 3, 4, // 6: four bytes
            0x38, 1, // 7: 1
        ];
        let expected = [
            Ok((1, FieldValue::Varint(300))),
            Ok((2, FieldValue::Bytes(b"hi"))),
            Ok((3, FieldValue::Fixed64(1))),
            Ok((4, FieldValue::Other)),
            Ok((6, FieldValue::Other)),
            Ok((7, FieldValue::Varint(1))),
        ];
        assert_eq!(fields(&bytes), expected);
    }

    #[test]
    fn a_damaged_field_ends_the_message() {
        for bytes in [
            &[0x08][..],
            &[0x12, 3, 1],
            &[0x00, 1],
            &[0x0C],
            &[0x0B],
            &[0x0E, 1],
            &[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
        ] {
            assert_eq!(fields(bytes), [Err(BadField)], "{bytes:?}");
        }
        assert_eq!(fields(&[0x0B].repeat(100_000)), [Err(BadField)]);
    }

    #[test]
    fn integers_have_ten_bytes_at_most() {
        let mut negative = vec![0x08];
        negative.extend([0xFF; 9]);
        negative.push(1);
        let expected = [Ok((1, FieldValue::Varint(u64::MAX)))];
        assert_eq!(fields(&negative), expected);
        assert_eq!(signed(u64::MAX), -1);
    }

    #[test]
    fn repeated_integers_may_be_packed() {
        let values: Vec<u64> = packed(FieldValue::Bytes(&[1, 0xAC, 2])).collect();
        assert_eq!(values, [1, 300]);
        let one: Vec<u64> = packed_fixed64(FieldValue::Fixed64(7)).collect();
        assert_eq!(one, [7]);
    }
}
