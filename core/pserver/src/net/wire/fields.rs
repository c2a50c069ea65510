//! The fields of a message, written and read without anything in between, for what there is most of.

use super::error::damaged;
use crate::PserverError;

/// Seven bits a byte, a 64-bit integer has at most so many.
const MAX_INTEGER_BYTES: usize = 10;

/// How a field is written; the lowest three bits of its key.
const INTEGER: u8 = 0;
const WORD: u8 = 1;
const BYTES: u8 = 2;
const HALF_WORD: u8 = 5;

/// Why bytes are no fields. Small, for every field has a result.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoFields(&'static str);

type Result<T> = std::result::Result<T, NoFields>;

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field<'a> {
    Integer(u64),
    Word(u64),
    Bytes(&'a [u8]),
    /// This protocol has none of four bytes.
    HalfWord,
}

impl From<NoFields> for PserverError {
    fn from(NoFields(cause): NoFields) -> Self {
        damaged(&cause)
    }
}

/// The fields of a message with their numbers, as they come.
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
        _ => return Err(NoFields("a field of no kind")),
    };
    Ok((key >> 3, field))
}

fn take_array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (&array, after) = rest.split_first_chunk().ok_or_else(cut_off)?;
    *rest = after;
    Ok(array)
}

fn cut_off() -> NoFields {
    NoFields("a field that is cut off")
}

/// An integer, if its value is small enough for one of 32 bits.
pub(super) fn small(value: u64) -> Result<u32> {
    u32::try_from(value)
        .ok()
        .ok_or(NoFields("a number out of range"))
}

/// Seven bits in each byte, the lowest first; all bytes but the last have the eighth bit.
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
    Err(NoFields("a number without end"))
}

/// A field that is absent if it is 0.
#[inline]
pub(super) fn put_integer_field(bytes: &mut Vec<u8>, number: u8, value: u64) {
    if value != 0 {
        bytes.push(number << 3 | INTEGER);
        put_integer(bytes, value);
    }
}

/// A field that is absent if it is 0.
#[inline]
pub(super) fn put_real_field(bytes: &mut Vec<u8>, number: u8, value: f64) {
    if value != 0.0 {
        put_word_field(bytes, number, value.to_bits());
    }
}

/// A field of eight bytes.
#[inline]
pub(super) fn put_word_field(bytes: &mut Vec<u8>, number: u8, value: u64) {
    bytes.push(number << 3 | WORD);
    bytes.extend(value.to_le_bytes());
}

/// A field of the bytes that `put` appends.
#[inline]
pub(super) fn put_bytes_field(bytes: &mut Vec<u8>, number: u8, put: impl FnOnce(&mut Vec<u8>)) {
    bytes.push(number << 3 | BYTES);
    let start = bytes.len();
    bytes.push(0);
    put(bytes);
    // How many they are is known now, and belongs before them: most are few, for which one byte is enough.
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
