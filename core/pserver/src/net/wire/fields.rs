//! The form of messages on the wire (protocol buffers), field by field: for those that are many and must be quick.

use super::error::{Result, damaged};

/// How the wire tells the lengths of a field's values.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED_32: u64 = 5;
/// Seven bits a byte, a 64-bit integer has at most so many.
const MAX_INTEGER_BYTES: usize = 10;

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldValue<'a> {
    /// Of up to 64 bits: a `uint64`, `uint32` or `bool`.
    Integer(u64),
    /// A `fixed64` or `double`.
    Word(u64),
    /// `bytes`, a `string` or a message.
    Bytes(&'a [u8]),
    /// What no message here has.
    Other,
}

impl<'a> FieldValue<'a> {
    pub(super) fn integer(self) -> Result<u64> {
        match self {
            Self::Integer(value) => Ok(value),
            _ => Err(wrong_kind()),
        }
    }

    /// The lowest bits of an integer, as other readers of the wire take them.
    pub(super) fn small_integer(self) -> Result<u32> {
        let lowest = |value: u64| u32::try_from(value & u64::from(u32::MAX)).unwrap_or_default();
        self.integer().map(lowest)
    }

    pub(super) fn word(self) -> Result<u64> {
        match self {
            Self::Word(bits) => Ok(bits),
            _ => Err(wrong_kind()),
        }
    }

    pub(super) fn double(self) -> Result<f64> {
        self.word().map(f64::from_bits)
    }

    pub(super) fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(wrong_kind()),
        }
    }
}

fn wrong_kind() -> crate::PserverError {
    damaged(&"a field of another kind")
}

/// The next field of a message, of which `rest` is what was not read yet: its number and its value.
pub(super) fn next_field<'a>(rest: &mut &'a [u8]) -> Result<Option<(u64, FieldValue<'a>)>> {
    if rest.is_empty() {
        return Ok(None);
    }
    let key = take_integer(rest)?;
    let value = match key & 7 {
        VARINT => FieldValue::Integer(take_integer(rest)?),
        FIXED_64 => FieldValue::Word(u64::from_le_bytes(take_array(rest)?)),
        LENGTH => {
            let length = take_integer(rest)?;
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let (bytes, others) = rest.split_at_checked(length).ok_or_else(cut_off)?;
            *rest = others;
            FieldValue::Bytes(bytes)
        }
        FIXED_32 => {
            take_array::<4>(rest)?;
            FieldValue::Other
        }
        _ => return Err(wrong_kind()),
    };
    Ok(Some((key >> 3, value)))
}

fn take_array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (array, others) = rest.split_first_chunk::<N>().ok_or_else(cut_off)?;
    *rest = others;
    Ok(*array)
}

fn cut_off() -> crate::PserverError {
    damaged(&"a message that is cut off")
}

/// Seven bits in each byte, the lowest first; all bytes but the last have the eighth bit.
pub(super) fn put_integer(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

pub(super) fn take_integer(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for (place, &byte) in bytes.iter().take(MAX_INTEGER_BYTES).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            *bytes = &bytes[place + 1..];
            return Ok(value);
        }
    }
    Err(damaged(&"a number without end"))
}

/// An integer; 0 goes without saying.
pub(super) fn put_integer_field(bytes: &mut Vec<u8>, number: u64, value: u64) {
    if value != 0 {
        put_integer(bytes, number << 3 | VARINT);
        put_integer(bytes, value);
    }
}

/// A double; 0 goes without saying.
pub(super) fn put_double_field(bytes: &mut Vec<u8>, number: u64, value: f64) {
    if value != 0.0 {
        put_word_field(bytes, number, value.to_bits());
    }
}

/// A word of 64 bits.
pub(super) fn put_word_field(bytes: &mut Vec<u8>, number: u64, bits: u64) {
    put_integer(bytes, number << 3 | FIXED_64);
    bytes.extend_from_slice(&bits.to_le_bytes());
}

/// A field that `put` fills: bytes, or a message.
pub(super) fn put_field(bytes: &mut Vec<u8>, number: u64, put: impl FnOnce(&mut Vec<u8>)) {
    put_integer(bytes, number << 3 | LENGTH);
    let start = bytes.len();
    // The length of most takes one byte.
    bytes.push(0);
    put(bytes);
    let length = bytes.len() - start - 1;
    if length < 0x80 {
        bytes[start] = length.to_le_bytes()[0];
        return;
    }
    let end = bytes.len();
    put_integer(bytes, length as u64);
    bytes[start] = bytes.remove(end);
    let num_more = bytes.len() - end;
    bytes[start + 1..].rotate_right(num_more);
}
