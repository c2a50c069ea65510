//! Models as messages: histograms as distances between their occupied bins.

use callgrove_detect::{
    Bin, CallerKey, ContextPart, Contexts, Distribution, FuncModel, Histogram, Moments,
};
use callgrove_model::FuncId;

use super::error::{Result, damaged};
use super::fields::{
    next_field, put_double_field, put_field, put_integer, put_integer_field, put_word_field,
    take_integer,
};
use super::moments::{MAX_VALUE, moments_from_wire, put_moments};

/// The fields of `Model` in `proto/pserver.proto`.
mod model_field {
    pub(super) const FID: u64 = 1;
    pub(super) const MOMENTS: u64 = 2;
    pub(super) const HISTOGRAM: u64 = 3;
    pub(super) const THRESHOLD: u64 = 4;
    pub(super) const CONTEXTS: u64 = 5;
}

/// That of `Contexts`.
const PARTS: u64 = 1;

/// Those of `Context`.
mod context_field {
    pub(super) const CALLER: u64 = 1;
    pub(super) const EPOCH: u64 = 2;
    pub(super) const HISTOGRAM: u64 = 3;
}

/// Those of `Histogram`.
mod histogram_field {
    pub(super) const MAX_BINS: u64 = 1;
    pub(super) const PRECISION: u64 = 2;
    pub(super) const BINS: u64 = 3;
}

/// The message of a model, at the end of `bytes`.
pub(super) fn put_model(bytes: &mut Vec<u8>, fid: FuncId, model: &FuncModel) {
    put_integer_field(bytes, model_field::FID, fid.0.into());
    if model.moments().count() > 0 {
        put_field(bytes, model_field::MOMENTS, |bytes| {
            put_moments(bytes, model.moments());
        });
    }
    if let Distribution::Histogram(histogram) = model.distribution() {
        put_field(bytes, model_field::HISTOGRAM, |bytes| {
            put_histogram(bytes, histogram);
        });
    }
    let threshold = model.internal_global_threshold();
    put_double_field(bytes, model_field::THRESHOLD, threshold);
    if let Distribution::Contexts(contexts) = model.distribution() {
        put_field(bytes, model_field::CONTEXTS, |bytes| {
            put_contexts(bytes, contexts);
        });
    }
}

pub(super) fn model_from_wire(mut message: &[u8]) -> Result<(FuncId, FuncModel)> {
    let (mut fid, mut threshold) = (0, 0.0);
    let (mut moments, mut histogram, mut contexts) = (Moments::default(), None, None);
    while let Some((number, value)) = next_field(&mut message)? {
        match number {
            model_field::FID => fid = value.small_integer()?,
            model_field::MOMENTS => moments = moments_from_wire(value.bytes()?)?,
            model_field::HISTOGRAM => histogram = Some(histogram_from_wire(value.bytes()?)?),
            model_field::THRESHOLD => threshold = value.double()?,
            model_field::CONTEXTS => contexts = Some(contexts_from_wire(value.bytes()?)?),
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
    let model = FuncModel::from_parts(moments, distribution, threshold);
    Ok((FuncId(fid), model.map_err(|error| damaged(&error))?))
}

fn put_contexts(bytes: &mut Vec<u8>, contexts: &Contexts) {
    for (caller, epoch, histogram) in contexts.parts() {
        put_field(bytes, PARTS, |bytes| {
            if let Some(key) = caller {
                put_word_field(bytes, context_field::CALLER, key.0);
            }
            put_integer_field(bytes, context_field::EPOCH, epoch.into());
            put_field(bytes, context_field::HISTOGRAM, |bytes| {
                put_histogram(bytes, histogram);
            });
        });
    }
}

fn contexts_from_wire(mut message: &[u8]) -> Result<Contexts> {
    let mut contexts = Contexts::default();
    while let Some((number, value)) = next_field(&mut message)? {
        if number == PARTS {
            let part = part_from_wire(value.bytes()?)?;
            contexts.add_part(part).map_err(|error| damaged(&error))?;
        }
    }
    Ok(contexts)
}

fn part_from_wire(mut message: &[u8]) -> Result<ContextPart> {
    let (mut caller, mut epoch, mut histogram) = (None, 0, None);
    while let Some((number, value)) = next_field(&mut message)? {
        match number {
            context_field::CALLER => caller = Some(CallerKey(value.word()?)),
            context_field::EPOCH => epoch = value.small_integer()?,
            context_field::HISTOGRAM => histogram = Some(histogram_from_wire(value.bytes()?)?),
            _ => {}
        }
    }
    let histogram = histogram.ok_or_else(|| damaged(&"a caller without times"))?;
    Ok(ContextPart {
        caller,
        epoch,
        histogram,
    })
}

fn put_histogram(bytes: &mut Vec<u8>, histogram: &Histogram) {
    let (max_bins, precision) = (histogram.max_bins() as u64, histogram.precision());
    put_integer_field(bytes, histogram_field::MAX_BINS, max_bins);
    put_integer_field(bytes, histogram_field::PRECISION, precision.into());
    if histogram.bins().is_empty() {
        return;
    }
    put_field(bytes, histogram_field::BINS, |bytes| {
        let mut before = 0;
        for bin in histogram.bins() {
            put_integer(bytes, bin.index - before);
            put_integer(bytes, bin.count);
            before = bin.index;
        }
    });
}

fn histogram_from_wire(mut message: &[u8]) -> Result<Histogram> {
    let (mut max_bins, mut precision, mut rest) = (0, 0, [].as_slice());
    while let Some((number, value)) = next_field(&mut message)? {
        match number {
            histogram_field::MAX_BINS => max_bins = value.small_integer()?,
            histogram_field::PRECISION => precision = value.small_integer()?,
            histogram_field::BINS => rest = value.bytes()?,
            _ => {}
        }
    }
    // Two numbers of at least one byte for each bin.
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
    Histogram::from_parts(max_bins as usize, precision, bins).map_err(|error| damaged(&error))
}
