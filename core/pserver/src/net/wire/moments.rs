//! Moments as messages.

use callgrove_detect::Moments;
use prost::bytes::Bytes;

use super::error::{Result, damaged};
use super::fields::{next_field, put_double_field, put_field, put_integer_field};

/// Values beyond are no times, scores or counters: all are 64-bit integers or small. Their fourth powers, summed over
/// all that can be counted, stay far inside the range of doubles.
pub(super) const MAX_VALUE: f64 = 1e30;
/// Bound on sums of their powers.
const MAX_MOMENT: f64 = 1e140;

/// The fields of `Moments` in `proto/pserver.proto`.
mod field {
    pub(super) const COUNT: u64 = 1;
    pub(super) const MEAN: u64 = 2;
    pub(super) const M2: u64 = 3;
    pub(super) const M3: u64 = 4;
    pub(super) const M4: u64 = 5;
    pub(super) const MINIMUM: u64 = 6;
    pub(super) const MAXIMUM: u64 = 7;
    pub(super) const SUMS: u64 = 8;
}

pub(super) fn moments_to_wire(moments: &Moments) -> Bytes {
    let mut bytes = Vec::new();
    put_moments(&mut bytes, moments);
    bytes.into()
}

/// Nothing for moments of nothing.
pub(super) fn put_moments(bytes: &mut Vec<u8>, moments: &Moments) {
    if moments.count() == 0 {
        return;
    }
    put_integer_field(bytes, field::COUNT, moments.count());
    let sums = moments.exact_sums();
    if sums.is_none() {
        let [_, mean, m2, m3, m4, ..] = moments.parts();
        put_double_field(bytes, field::MEAN, mean);
        put_double_field(bytes, field::M2, m2);
        put_double_field(bytes, field::M3, m3);
        put_double_field(bytes, field::M4, m4);
    }
    put_double_field(bytes, field::MINIMUM, moments.min());
    put_double_field(bytes, field::MAXIMUM, moments.max());
    for words in sums.iter().flatten() {
        put_field(bytes, field::SUMS, |bytes| put_sum(bytes, words));
    }
}

/// The lowest byte first, without zeros at the end.
fn put_sum(bytes: &mut Vec<u8>, words: &[u64]) {
    let Some((highest, others)) = words.split_last() else {
        return;
    };
    for word in others {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    let num_bytes = 8 - highest.leading_zeros() as usize / 8;
    bytes.extend_from_slice(&highest.to_le_bytes()[..num_bytes]);
}

pub(super) fn moments_from_wire(mut message: &[u8]) -> Result<Moments> {
    let mut count = 0;
    let [mut mean, mut m2, mut m3, mut m4, mut minimum, mut maximum] = [0.0_f64; 6];
    let (mut sums, mut num_sums) = ([[].as_slice(); 4], 0);
    while let Some((number, value)) = next_field(&mut message)? {
        match number {
            field::COUNT => count = value.integer()?,
            field::MEAN => mean = value.double()?,
            field::M2 => m2 = value.double()?,
            field::M3 => m3 = value.double()?,
            field::M4 => m4 = value.double()?,
            field::MINIMUM => minimum = value.double()?,
            field::MAXIMUM => maximum = value.double()?,
            field::SUMS => {
                let place = sums.get_mut(num_sums);
                *place.ok_or_else(wrong_sums)? = value.bytes()?;
                num_sums += 1;
            }
            _ => {}
        }
    }
    if [minimum, maximum]
        .iter()
        .any(|value| value.abs() > MAX_VALUE)
        || [m2, m3, m4].iter().any(|sum| sum.abs() > MAX_MOMENT)
        || count > Moments::MAX_COUNT
    {
        return Err(damaged(&"moments out of range"));
    }
    let moments = match num_sums {
        0 => Moments::from_parts([count as f64, mean, m2, m3, m4, minimum, maximum]),
        4 => Moments::from_exact_sums(count, minimum, maximum, sums),
        _ => return Err(wrong_sums()),
    };
    moments.map_err(|error| damaged(&error))
}

fn wrong_sums() -> crate::PserverError {
    damaged(&"moments with other than four sums")
}
