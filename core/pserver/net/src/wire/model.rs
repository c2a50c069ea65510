//! Models as messages: histograms as distances between their occupied bins.
//!
//! Models are by far the most frequent messages, so they are encoded and decoded without an intermediate struct.

use callgrove_detect::{
    Bin, CallerKey, ContextPart, Contexts, Distribution, FuncModel, Histogram, Moments,
};
use callgrove_model::{FuncId, Real};
use callgrove_pserver::PserverError;

use super::error::{Result, damaged};
use super::fields::{
    Field, Fields, put_bytes_field, put_integer, put_integer_field, put_real_field, put_word_field,
    small, take_integer,
};
use crate::proto;

/// Maximum magnitude of a value. Times, scores and counters are 64-bit integers or small. Their fourth powers, summed
/// over every possible count, stay far inside the range of doubles.
const MAX_VALUE: f64 = 1e30;
/// Maximum magnitude of a central moment.
const MAX_MOMENT: f64 = 1e140;
/// Initial capacity in bytes for the four exact sums.
const MAX_SUM_BYTES: usize = 64;

/// Appends the message `Model`.
pub(super) fn put_model(bytes: &mut Vec<u8>, fid: FuncId, model: &FuncModel) {
    put_integer_field(bytes, 1, u64::from(fid.0));
    let moments = model.moments();
    if moments.count() > 0 {
        put_bytes_field(bytes, 2, |bytes| put_moments(bytes, moments));
    }
    if let Some(histogram) = model.histogram() {
        put_bytes_field(bytes, 3, |bytes| put_histogram(bytes, histogram));
    }
    put_real_field(bytes, 4, model.internal_global_threshold());
    if let Distribution::Contexts(contexts) = model.distribution() {
        put_bytes_field(bytes, 5, |bytes| put_contexts(bytes, contexts));
    }
}

/// Decodes the message `Model`.
pub(super) fn model_from_wire(message: &[u8]) -> Result<(FuncId, FuncModel)> {
    let (mut fid, mut threshold) = (0, 0.0);
    let mut moments = Moments::default();
    let (mut histogram, mut contexts) = (None, None);
    for field in Fields(message) {
        match field? {
            (1, Field::Integer(value)) => fid = small(value)?,
            (2, Field::Bytes(message)) => moments = moments_from_bytes(message)?,
            (3, Field::Bytes(message)) => histogram = Some(histogram_from_wire(message)?),
            (4, Field::Word(bits)) => threshold = f64::from_bits(bits),
            (5, Field::Bytes(message)) => contexts = Some(contexts_from_wire(message)?),
            (1..=5, _) => return Err(other_kind()),
            _ => {}
        }
    }
    if threshold > MAX_VALUE {
        return Err(damaged(&"a threshold out of range"));
    }
    let distribution = match (histogram, contexts) {
        (None, None) => Distribution::Moments,
        (Some(histogram), None) => Distribution::Histogram(histogram),
        (None, Some(contexts)) => Distribution::Contexts(contexts),
        (Some(_), Some(_)) => return Err(damaged(&"a model of two kinds")),
    };
    let whole = FuncModel::from_parts(moments, distribution, threshold);
    Ok((FuncId(fid), whole.map_err(|error| damaged(&error))?))
}

fn other_kind() -> PserverError {
    damaged(&"a field with an unexpected wire type")
}

fn put_contexts(bytes: &mut Vec<u8>, contexts: &Contexts) {
    for (caller, epoch, histogram) in contexts.parts() {
        put_bytes_field(bytes, 1, |bytes| {
            if let Some(key) = caller {
                put_word_field(bytes, 1, key.0);
            }
            put_integer_field(bytes, 2, u64::from(epoch));
            put_bytes_field(bytes, 3, |bytes| put_histogram(bytes, histogram));
        });
    }
}

fn contexts_from_wire(message: &[u8]) -> Result<Contexts> {
    let mut whole = Contexts::default();
    for field in Fields(message) {
        match field? {
            (1, Field::Bytes(message)) => {
                let added = whole.add_part(context_from_wire(message)?);
                added.map_err(|error| damaged(&error))?;
            }
            (1, _) => return Err(other_kind()),
            _ => {}
        }
    }
    Ok(whole)
}

fn context_from_wire(message: &[u8]) -> Result<ContextPart> {
    let (mut caller, mut epoch, mut histogram) = (None, 0, None);
    for field in Fields(message) {
        match field? {
            (1, Field::Word(key)) => caller = Some(CallerKey(key)),
            (2, Field::Integer(value)) => epoch = small(value)?,
            (3, Field::Bytes(message)) => histogram = Some(histogram_from_wire(message)?),
            (1..=3, _) => return Err(other_kind()),
            _ => {}
        }
    }
    Ok(ContextPart {
        caller,
        epoch,
        histogram: histogram.ok_or_else(|| damaged(&"a caller without a histogram"))?,
    })
}

fn put_histogram(bytes: &mut Vec<u8>, histogram: &Histogram) {
    put_integer_field(bytes, 1, histogram.max_bins() as u64);
    put_integer_field(bytes, 2, u64::from(histogram.precision()));
    if histogram.bins().is_empty() {
        return;
    }
    put_bytes_field(bytes, 3, |bytes| {
        let mut before = 0;
        for bin in histogram.bins() {
            put_integer(bytes, bin.index - before);
            put_integer(bytes, bin.count);
            before = bin.index;
        }
    });
}

fn histogram_from_wire(message: &[u8]) -> Result<Histogram> {
    let (mut max_bins, mut precision, mut bins) = (0, 0, Vec::new());
    for field in Fields(message) {
        match field? {
            (1, Field::Integer(value)) => max_bins = small(value)?,
            (2, Field::Integer(value)) => precision = small(value)?,
            (3, Field::Bytes(bytes)) => bins = bins_from_wire(bytes)?,
            (1..=3, _) => return Err(other_kind()),
            _ => {}
        }
    }
    Histogram::from_parts(max_bins as usize, precision, bins).map_err(|error| damaged(&error))
}

fn bins_from_wire(mut rest: &[u8]) -> Result<Vec<Bin>> {
    // A bin takes two numbers of at least one byte each.
    let mut bins = Vec::with_capacity(rest.len() / 2);
    let mut index: u64 = 0;
    while !rest.is_empty() {
        let distance = take_integer(&mut rest)?;
        let count = take_integer(&mut rest)?;
        index = index
            .checked_add(distance)
            .ok_or_else(|| damaged(&"a bin beyond all bins"))?;
        bins.push(Bin { index, count });
    }
    Ok(bins)
}

fn put_moments(bytes: &mut Vec<u8>, moments: &Moments) {
    put_integer_field(bytes, 1, moments.count());
    let sums = moments.exact_sums();
    if sums.is_none() {
        let [_, mean, m2, m3, m4, ..] = moments.parts();
        for (number, value) in (2..).zip([mean, m2, m3, m4]) {
            put_real_field(bytes, number, value);
        }
    }
    put_real_field(bytes, 6, moments.min());
    put_real_field(bytes, 7, moments.max());
    if let Some(sums) = sums {
        put_bytes_field(bytes, 8, |bytes| put_sums(bytes, sums));
    }
}

fn moments_from_bytes(message: &[u8]) -> Result<Moments> {
    let mut fields = MomentFields::default();
    for field in Fields(message) {
        match field? {
            (1, Field::Integer(value)) => fields.count = value,
            (2, Field::Word(bits)) => fields.mean = f64::from_bits(bits),
            (3, Field::Word(bits)) => fields.m2 = f64::from_bits(bits),
            (4, Field::Word(bits)) => fields.m3 = f64::from_bits(bits),
            (5, Field::Word(bits)) => fields.m4 = f64::from_bits(bits),
            (6, Field::Word(bits)) => fields.minimum = f64::from_bits(bits),
            (7, Field::Word(bits)) => fields.maximum = f64::from_bits(bits),
            (8, Field::Bytes(sums)) => fields.sums = sums,
            (1..=8, _) => return Err(other_kind()),
            _ => {}
        }
    }
    fields.moments()
}

/// The fields of a message `Moments`.
#[derive(Debug, Default)]
struct MomentFields<'a> {
    count: u64,
    mean: f64,
    m2: f64,
    m3: f64,
    m4: f64,
    minimum: f64,
    maximum: f64,
    sums: &'a [u8],
}

impl MomentFields<'_> {
    fn moments(&self) -> Result<Moments> {
        let &Self {
            count,
            mean,
            m2,
            m3,
            m4,
            minimum,
            maximum,
            sums,
        } = self;
        if [minimum, maximum].iter().any(|it| it.abs() > MAX_VALUE)
            || [m2, m3, m4].iter().any(|it| it.abs() > MAX_MOMENT)
            || count > Moments::MAX_COUNT
        {
            return Err(damaged(&"moments out of range"));
        }
        let parts = [count.real(), mean, m2, m3, m4, minimum, maximum];
        let moments = if sums.is_empty() {
            Moments::from_parts(parts)
        } else {
            Moments::from_exact_sums(count, minimum, maximum, sums_from_wire(sums)?)
        };
        moments.map_err(|error| damaged(&error))
    }
}

pub(super) fn moments_to_wire(moments: &Moments) -> Option<proto::Moments> {
    if moments.count() == 0 {
        return None;
    }
    let of_values = proto::Moments {
        count: moments.count(),
        minimum: moments.min(),
        maximum: moments.max(),
        ..proto::Moments::default()
    };
    if let Some(sums) = moments.exact_sums() {
        let mut bytes = Vec::with_capacity(MAX_SUM_BYTES);
        put_sums(&mut bytes, sums);
        return Some(proto::Moments {
            sums: bytes,
            ..of_values
        });
    }
    let [_, mean, m2, m3, m4, ..] = moments.parts();
    Some(proto::Moments {
        mean,
        m2,
        m3,
        m4,
        ..of_values
    })
}

pub(super) fn moments_from_wire(moments: Option<&proto::Moments>) -> Result<Moments> {
    let Some(moments) = moments else {
        return Ok(Moments::default());
    };
    let fields = MomentFields {
        count: moments.count,
        mean: moments.mean,
        m2: moments.m2,
        m3: moments.m3,
        m4: moments.m4,
        minimum: moments.minimum,
        maximum: moments.maximum,
        sums: &moments.sums,
    };
    fields.moments()
}

/// Appends each sum as its number of words, followed by the words.
fn put_sums(bytes: &mut Vec<u8>, sums: [&[u64]; 4]) {
    for words in sums {
        bytes.push(words.len().to_le_bytes()[0]);
        for word in words {
            bytes.extend(word.to_le_bytes());
        }
    }
}

fn sums_from_wire(mut rest: &[u8]) -> Result<[&[u8]; 4]> {
    let mut sums = [[].as_slice(); 4];
    for sum in &mut sums {
        let (&num_words, after) = rest.split_first().ok_or_else(wrong_sums)?;
        let num_bytes = 8 * usize::from(num_words);
        (*sum, rest) = after.split_at_checked(num_bytes).ok_or_else(wrong_sums)?;
    }
    if rest.is_empty() {
        Ok(sums)
    } else {
        Err(wrong_sums())
    }
}

fn wrong_sums() -> PserverError {
    damaged(&"moments with other than four sums")
}
