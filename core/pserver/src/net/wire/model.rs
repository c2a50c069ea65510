//! Models as messages: histograms as distances between their occupied bins.

use callgrove_detect::{
    Bin, CallerKey, ContextPart, Contexts, Distribution, FuncModel, Histogram, Moments,
};
use callgrove_model::FuncId;

use super::error::{Result, damaged};
use crate::net::proto;
use callgrove_model::Real;

/// Values beyond are no times, scores or counters: all are 64-bit integers or small. Their fourth powers, summed over
/// all that can be counted, stay far inside the range of doubles.
const MAX_VALUE: f64 = 1e30;
/// Seven bits a byte, a 64-bit integer has at most so many.
const MAX_INTEGER_BYTES: usize = 10;
/// Bound on sums of their powers.
const MAX_MOMENT: f64 = 1e140;
/// Four sums of few words take no more.
const MOST_SUM_BYTES: usize = 64;

pub(super) fn model_to_wire(fid: FuncId, model: &FuncModel) -> proto::Model {
    proto::Model {
        fid: fid.0,
        moments: moments_to_wire(model.moments()),
        histogram: model.histogram().map(histogram_to_wire),
        contexts: match model.distribution() {
            Distribution::Contexts(contexts) => Some(contexts_to_wire(contexts)),
            Distribution::Moments | Distribution::Histogram(_) => None,
        },
        internal_global_threshold: model.internal_global_threshold(),
    }
}

pub(super) fn model_from_wire(model: &proto::Model) -> Result<(FuncId, FuncModel)> {
    let threshold = model.internal_global_threshold;
    if threshold > MAX_VALUE {
        return Err(damaged(&"a threshold out of range"));
    }
    let moments = moments_from_wire(model.moments.as_ref())?;
    let distribution = match (&model.histogram, &model.contexts) {
        (None, None) => Distribution::Moments,
        (Some(histogram), None) => Distribution::Histogram(histogram_from_wire(histogram)?),
        (None, Some(contexts)) => Distribution::Contexts(contexts_from_wire(contexts)?),
        (Some(_), Some(_)) => return Err(damaged(&"a model of two kinds")),
    };
    let whole = FuncModel::from_parts(moments, distribution, threshold);
    Ok((FuncId(model.fid), whole.map_err(|error| damaged(&error))?))
}

fn contexts_to_wire(contexts: &Contexts) -> proto::Contexts {
    let parts = contexts
        .parts()
        .map(|(caller, epoch, histogram)| proto::Context {
            caller: caller.map(|key| key.0),
            epoch,
            histogram: Some(histogram_to_wire(histogram)),
        });
    proto::Contexts {
        parts: parts.collect(),
    }
}

fn contexts_from_wire(contexts: &proto::Contexts) -> Result<Contexts> {
    let part = |part: &proto::Context| {
        let histogram = part.histogram.as_ref();
        let histogram = histogram.ok_or_else(|| damaged(&"a caller without times"))?;
        Ok(ContextPart {
            caller: part.caller.map(CallerKey),
            epoch: part.epoch,
            histogram: histogram_from_wire(histogram)?,
        })
    };
    let mut whole = Contexts::default();
    for message in &contexts.parts {
        let added = whole.add_part(part(message)?);
        added.map_err(|error| damaged(&error))?;
    }
    Ok(whole)
}

fn histogram_to_wire(histogram: &Histogram) -> proto::Histogram {
    let mut bytes = Vec::with_capacity(4 * histogram.bins().len());
    let mut before = 0;
    for bin in histogram.bins() {
        put_integer(&mut bytes, bin.index - before);
        put_integer(&mut bytes, bin.count);
        before = bin.index;
    }
    proto::Histogram {
        max_bins: u32::try_from(histogram.max_bins()).unwrap_or(u32::MAX),
        precision: histogram.precision(),
        bins: bytes,
    }
}

fn histogram_from_wire(histogram: &proto::Histogram) -> Result<Histogram> {
    // Two numbers of at least one byte for each bin.
    let mut bins = Vec::with_capacity(histogram.bins.len() / 2);
    let mut rest = &histogram.bins[..];
    let mut index: u64 = 0;
    while !rest.is_empty() {
        let distance = take_integer(&mut rest)?;
        let count = take_integer(&mut rest)?;
        index = index
            .checked_add(distance)
            .ok_or_else(|| damaged(&"a bin beyond all bins"))?;
        bins.push(Bin { index, count });
    }
    Histogram::from_parts(histogram.max_bins as usize, histogram.precision, bins)
        .map_err(|error| damaged(&error))
}

/// Seven bits in each byte, the lowest first; all bytes but the last have the eighth bit.
fn put_integer(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

fn take_integer(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for (place, &byte) in bytes.iter().take(MAX_INTEGER_BYTES).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            *bytes = &bytes[place + 1..];
            return Ok(value);
        }
    }
    Err(damaged(&"a number in a histogram without end"))
}

pub(super) fn moments_to_wire(moments: &Moments) -> Option<proto::Moments> {
    let of_values = proto::Moments {
        count: moments.count(),
        minimum: moments.min(),
        maximum: moments.max(),
        ..proto::Moments::default()
    };
    if moments.count() == 0 {
        return None;
    }
    if let Some(sums) = moments.exact_sums() {
        return Some(proto::Moments {
            sums: sums_to_wire(sums),
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

/// Each sum as the number of its words, and these.
fn sums_to_wire(sums: [&[u64]; 4]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MOST_SUM_BYTES);
    for words in sums {
        bytes.push(words.len().to_le_bytes()[0]);
        for word in words {
            bytes.extend(word.to_le_bytes());
        }
    }
    bytes
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

fn wrong_sums() -> crate::PserverError {
    damaged(&"moments with other than four sums")
}

pub(super) fn moments_from_wire(moments: Option<&proto::Moments>) -> Result<Moments> {
    let Some(moments) = moments else {
        return Ok(Moments::default());
    };
    let values = [moments.minimum, moments.maximum];
    let sums = [moments.m2, moments.m3, moments.m4];
    if values.iter().any(|value| value.abs() > MAX_VALUE)
        || sums.iter().any(|sum| sum.abs() > MAX_MOMENT)
        || moments.count > Moments::MAX_COUNT
    {
        return Err(damaged(&"moments out of range"));
    }
    if !moments.sums.is_empty() {
        let (min, max) = (moments.minimum, moments.maximum);
        let sums = sums_from_wire(&moments.sums)?;
        let whole = Moments::from_exact_sums(moments.count, min, max, sums);
        return whole.map_err(|error| damaged(&error));
    }
    Moments::from_parts([
        moments.count.real(),
        moments.mean,
        moments.m2,
        moments.m3,
        moments.m4,
        moments.minimum,
        moments.maximum,
    ])
    .map_err(|error| damaged(&error))
}
