//! Reads and writes the fields of a message without intermediate structs, for the most frequent messages.

use callgrove_pserver::PserverError;

use super::error::damaged;

/// Maximum size of an encoded 64-bit integer in bytes, at seven bits a byte.
const MAX_INTEGER_BYTES: usize = 10;

/// Wire type of a varint; the wire type is the lowest three bits of a field's key.
const INTEGER: u8 = 0;
/// Wire type of a fixed 64-bit value.
const WORD: u8 = 1;
/// Wire type of a length-delimited field.
const BYTES: u8 = 2;
/// Wire type of a fixed 32-bit value.
const HALF_WORD: u8 = 5;

/// The reason why bytes are not valid fields. Small, since every field has a result.
#[derive(Clone, Copy, Debug)]
pub(super) struct InvalidFields(&'static str);

type Result<T> = std::result::Result<T, InvalidFields>;

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field<'a> {
    Integer(u64),
    Word(u64),
    Bytes(&'a [u8]),
    /// A fixed 32-bit value, which this protocol does not use.
    HalfWord,
}

impl From<InvalidFields> for PserverError {
    fn from(InvalidFields(cause): InvalidFields) -> Self {
        damaged(&cause)
    }
}

/// An iterator over the fields of a message with their numbers, in message order.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Field<'a>)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        (!self.0.is_empty()).then(|| take_field(&mut self.0))
    }
}

#[inline]
fn take_field<'a>(rest: &mut &'a [u8]) -> Result<(u64, Field<'a>)> {
    let key = take_integer(rest)?;
    let field = match key.to_le_bytes()[0] & 7 {
        INTEGER => Field::Integer(take_integer(rest)?),
        WORD => Field::Word(u64::from_le_bytes(take_array(rest)?)),
        BYTES => {
            let len = usize::try_from(take_integer(rest)?)
                .ok()
                .ok_or_else(cut_off)?;
            let (bytes, after) = rest.split_at_checked(len).ok_or_else(cut_off)?;
            *rest = after;
            Field::Bytes(bytes)
        }
        HALF_WORD => take_array::<4>(rest).map(|_| Field::HalfWord)?,
        _ => return Err(InvalidFields("a field of an unknown wire type")),
    };
    Ok((key >> 3, field))
}

fn take_array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (&array, after) = rest.split_first_chunk().ok_or_else(cut_off)?;
    *rest = after;
    Ok(array)
}

fn cut_off() -> InvalidFields {
    InvalidFields("a field that is cut off")
}

/// Returns an integer if its value fits into 32 bits.
pub(super) fn small(value: u64) -> Result<u32> {
    u32::try_from(value)
        .ok()
        .ok_or(InvalidFields("a number out of range"))
}

/// Appends a varint: seven bits in each byte, the lowest first; all bytes but the last have the eighth bit set.
#[inline]
pub(super) fn put_integer(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

#[inline]
pub(super) fn take_integer(bytes: &mut &[u8]) -> Result<u64> {
    if let [byte @ 0..0x80, rest @ ..] = *bytes {
        *bytes = rest;
        return Ok(u64::from(*byte));
    }
    let mut value = 0;
    for (place, &byte) in bytes.iter().take(MAX_INTEGER_BYTES).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            *bytes = &bytes[place + 1..];
            return Ok(value);
        }
    }
    Err(InvalidFields("a varint without an end"))
}

/// Appends a varint field, unless it is 0.
#[inline]
pub(super) fn put_integer_field(bytes: &mut Vec<u8>, number: u8, value: u64) {
    if value != 0 {
        bytes.push(number << 3 | INTEGER);
        put_integer(bytes, value);
    }
}

/// Appends a double field, unless it is 0.
#[inline]
pub(super) fn put_real_field(bytes: &mut Vec<u8>, number: u8, value: f64) {
    if value != 0.0 {
        put_word_field(bytes, number, value.to_bits());
    }
}

/// Appends a field of eight bytes.
#[inline]
pub(super) fn put_word_field(bytes: &mut Vec<u8>, number: u8, value: u64) {
    bytes.push(number << 3 | WORD);
    bytes.extend(value.to_le_bytes());
}

/// Appends a length-delimited field with the bytes that `put` appends.
#[inline]
pub(super) fn put_bytes_field(bytes: &mut Vec<u8>, number: u8, put: impl FnOnce(&mut Vec<u8>)) {
    bytes.push(number << 3 | BYTES);
    let start = bytes.len();
    bytes.push(0);
    put(bytes);
    // The length is known only now, and belongs before the bytes. Most are short, so that one byte is enough.
    let num_bytes = bytes.len() - start - 1;
    if num_bytes < 0x80 {
        bytes[start] = num_bytes.to_le_bytes()[0];
        return;
    }
    bytes.remove(start);
    put_integer(bytes, num_bytes as u64);
    let num_length_bytes = bytes.len() - start - num_bytes;
    bytes[start..].rotate_right(num_length_bytes);
}
