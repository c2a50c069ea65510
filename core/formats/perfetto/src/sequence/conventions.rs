//! Instants by which TAU states messages, user events and metadata, and those of files that Callgrove wrote.
//!
//! Source: `src/Profile/TracerPerfetto.cpp` of TAU. A message is an instant `MPI_Send` with the arguments `dst`, `tag`
//! and `bytes`, or `MPI_Recv` with `src`, in the category `tau_mpi`. A user event is an instant of its name with the
//! argument `value`, in the category `tau`. Metadata are lines `key=value` in the argument `data` of an instant in
//! `tau_meta`.

use callgrove_model::{CommKind, ThreadId};

use super::sequence_state::Sequence;
use crate::clocks::ClockStamp;
use crate::own::{OwnFact, OwnFactKind};
use crate::proto::{Annotation, AnnotationValue, TrackEvent};
use crate::recorder::{CounterValue, StatedMessage, TraceRecorder, TrackSample};
use crate::text::text;
use crate::tracks::TrackNumber;

/// Processes an instant with annotations. Returns whether it is one of these.
pub(crate) fn take_instant(
    event: &TrackEvent<'_>,
    track: usize,
    at: ClockStamp,
    sequence: &Sequence,
    recorder: &mut TraceRecorder,
) -> bool {
    let interned = |id: Option<u64>| id.and_then(|id| sequence.categories.get(id));
    let category = interned(event.category_id).map(String::as_bytes);
    let Some(category) = category.or(event.category) else {
        return false;
    };
    match category {
        b"tau_mpi" => take_message(event, track, at, sequence, recorder),
        b"tau" => take_user_event(event, track, at, sequence, recorder),
        b"tau_meta" => take_metadata(event, track, sequence, recorder),
        b"callgrove" if sequence.is_own => {
            let name = name_of(event, sequence).unwrap_or_default();
            take_own_instant(event, name, (track, at), sequence, recorder)
        }
        _ => false,
    }
}

fn name_of<'a>(event: &TrackEvent<'a>, sequence: &'a Sequence) -> Option<&'a [u8]> {
    let interned = event.name_id.and_then(|id| sequence.names.get(id));
    event.name.or(interned.map(|it| it.text.as_bytes()))
}

/// Returns the value of an argument.
fn argument<'a>(
    event: &TrackEvent<'a>,
    sequence: &Sequence,
    name: &str,
) -> Option<AnnotationValue<'a>> {
    let is_named = |it: &Annotation<'_>| {
        let interned = it.name_id.and_then(|id| sequence.annotation_names.get(id));
        let stated = it.name.or(interned.map(String::as_bytes));
        stated == Some(name.as_bytes())
    };
    event.annotations().find(is_named)?.value
}

fn integer(event: &TrackEvent<'_>, sequence: &Sequence, name: &str) -> Option<i64> {
    match argument(event, sequence, name)? {
        AnnotationValue::Integer(value) => Some(value),
        _ => None,
    }
}

fn take_message(
    event: &TrackEvent<'_>,
    track: usize,
    at: ClockStamp,
    sequence: &Sequence,
    recorder: &mut TraceRecorder,
) -> bool {
    let (kind, partner) = match name_of(event, sequence) {
        Some(b"MPI_Send") => (CommKind::Send, "dst"),
        Some(b"MPI_Recv") => (CommKind::Recv, "src"),
        _ => return false,
    };
    let partner = integer(event, sequence, partner).and_then(|it| u32::try_from(it).ok());
    let Some(partner) = partner else {
        return false;
    };
    let number = |name| integer(event, sequence, name).map_or(0, i64::cast_unsigned);
    recorder.messages.push(StatedMessage {
        track: TrackNumber::of_index(track),
        at,
        kind,
        partner,
        tag: number("tag"),
        num_bytes: integer(event, sequence, "bytes").map_or(0, |it| it.max(0).cast_unsigned()),
    });
    true
}

fn take_user_event(
    event: &TrackEvent<'_>,
    track: usize,
    at: ClockStamp,
    sequence: &Sequence,
    recorder: &mut TraceRecorder,
) -> bool {
    let value = match argument(event, sequence, "value") {
        Some(AnnotationValue::Integer(value)) => CounterValue::Integer(value),
        Some(AnnotationValue::Double(value)) => CounterValue::Double(value),
        _ => return false,
    };
    let Some(name) = name_of(event, sequence) else {
        return false;
    };
    let name = text(name, &mut recorder.warnings);
    let counter = Some(recorder.counter_of(&name));
    let sample = TrackSample::new(track, counter, at, value);
    recorder.counters.push(sample);
    true
}

fn take_metadata(
    event: &TrackEvent<'_>,
    track: usize,
    sequence: &Sequence,
    recorder: &mut TraceRecorder,
) -> bool {
    let Some(AnnotationValue::Text(lines)) = argument(event, sequence, "data") else {
        return false;
    };
    let lines = text(lines, &mut recorder.warnings);
    let facts = lines.lines().filter_map(|line| line.split_once('='));
    let facts = facts.map(|(key, value)| (track, key.to_owned(), value.to_owned()));
    recorder.metadata.extend(facts);
    true
}

/// Processes an instant of the category `callgrove`. Returns false for those whose flows count.
fn take_own_instant(
    event: &TrackEvent<'_>,
    name: &[u8],
    (track, at): (usize, ClockStamp),
    sequence: &Sequence,
    recorder: &mut TraceRecorder,
) -> bool {
    let mut push = |kind| recorder.own_facts.push(OwnFact { track, at, kind });
    let number = |name| match argument(event, sequence, name) {
        Some(AnnotationValue::Integer(value)) => value,
        _ => 0,
    };
    match name {
        b"collective" => {
            let [communicator, number] = ["communicator", "sequence"].map(number);
            push(OwnFactKind::Collective(
                communicator.cast_unsigned(),
                number.cast_unsigned(),
            ));
        }
        b"size" => push(OwnFactKind::Size(number("bytes").cast_unsigned())),
        b"device wait" => {
            let stream = match argument(event, sequence, "thread") {
                Some(AnnotationValue::Integer(value)) => u32::try_from(value).ok().map(ThreadId),
                _ => None,
            };
            push(OwnFactKind::DeviceWait(stream));
        }
        b"tracer write" => push(OwnFactKind::TracerWrite(number("duration_ns").max(0))),
        b"metadata" => {
            for it in event.annotations() {
                let (Some(key), Some(AnnotationValue::Text(value))) = (it.name, it.value) else {
                    continue;
                };
                let key = text(key, &mut recorder.warnings);
                let value = text(value, &mut recorder.warnings);
                let kind = OwnFactKind::Metadata(key, value);
                recorder.own_facts.push(OwnFact { track, at, kind });
            }
        }
        _ => return false,
    }
    true
}
