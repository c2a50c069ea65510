//! Reads one track event into the record of the trace.

use callgrove_model::WarningKind;

use super::conventions::take_instant;
use super::legacy::{LegacyEvent, take_legacy};
use super::sequence_state::Sequence;
use crate::clocks::ClockStamp;
use crate::own::OwnTrack;
use crate::proto::{BEGIN, BadField, COUNTER, INSTANT, SLICE_END, TrackEvent};
use crate::recorder::{CounterValue, TraceRecorder, TrackFlow, function, index_of};
use crate::tracks::{END, NO_EVENT};

/// Name of a slice whose name is unknown.
const UNKNOWN_NAME: &[u8] = b"unknown";
/// Name of a slice that has none.
const NO_NAME: &[u8] = b"unnamed";

/// The position of an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrackEventPlace {
    pub(crate) at: ClockStamp,
    /// Place of its packet in the file, in bytes.
    pub(crate) offset: u64,
    pub(crate) sequence_id: u64,
}

/// Processes an event.
///
/// # Errors
/// [`BadField`].
pub(crate) fn take_event(
    event: &TrackEvent<'_>,
    place: TrackEventPlace,
    sequence: &mut Sequence,
    recorder: &mut TraceRecorder,
) -> Result<(), BadField> {
    let legacy = event.legacy.map(LegacyEvent::of).transpose()?;
    let track = track_of(event, legacy.as_ref(), sequence, recorder);
    let own = recorder.tracks.tracks.get(track).and_then(|it| it.own);
    if own == Some(OwnTrack::Findings) {
        return Ok(());
    }
    let at = place.at;
    let mut begun = NO_EVENT;
    match event.kind {
        BEGIN => {
            let func = func_of(event, legacy.as_ref(), place, sequence, recorder);
            begun = recorder.begin(track, at, func);
        }
        SLICE_END => recorder.end(track, at),
        INSTANT => {
            if event.has_annotations && take_instant(event, track, at, sequence, recorder) {
                return Ok(());
            }
        }
        COUNTER => take_counter(event, track, place, sequence, recorder),
        _ => {
            if let Some(legacy) = &legacy {
                let is_slice = matches!(legacy.phase, b'B' | b'X' | b'b' | b'S');
                let id = event.name_id.or(legacy.name_id);
                let has_name = event.name.is_some_and(|it| !it.is_empty());
                let has_name = has_name || id.is_some_and(|it| it != 0);
                // The end of an asynchronous slice may name it.
                let is_named_end = matches!(legacy.phase, b'e' | b'F') && has_name;
                let func = if is_slice || is_named_end {
                    func_of(event, Some(legacy), place, sequence, recorder)
                } else {
                    END
                };
                begun = take_legacy(legacy, (track, at, func), sequence, recorder);
            }
        }
    }
    if let Some((id, ends)) = legacy.as_ref().and_then(LegacyEvent::flow) {
        push_flow(recorder, (id, ends), track, at, begun);
    }
    if event.has_flows {
        for flow in event.flows() {
            push_flow(recorder, flow, track, at, begun);
        }
    }
    if event.has_extra_counters {
        take_extra_counters(event, place, sequence, recorder);
    }
    Ok(())
}

fn push_flow(
    recorder: &mut TraceRecorder,
    (id, ends): (u64, bool),
    track: usize,
    at: ClockStamp,
    event: u32,
) {
    recorder.flows.push(TrackFlow {
        id,
        track,
        at,
        event,
        ends,
    });
}

/// Returns the track of an event: its own, the thread that it or its sequence states, or the default.
#[inline]
fn track_of(
    event: &TrackEvent<'_>,
    legacy: Option<&LegacyEvent>,
    sequence: &Sequence,
    recorder: &mut TraceRecorder,
) -> usize {
    if let Some(legacy) = legacy
        && (legacy.pid.is_some() || legacy.tid.is_some())
    {
        let (pid, tid) = thread_of(event, sequence, recorder).unwrap_or_default();
        let (pid, tid) = (legacy.pid.unwrap_or(pid), legacy.tid.unwrap_or(tid));
        return recorder.tracks.of_thread(pid, tid);
    }
    let stated = event.track.or(sequence.default_track);
    match (stated, sequence.thread) {
        (None, Some((pid, tid))) => recorder.tracks.of_thread(pid, tid),
        _ => recorder.tracks.of_uuid(stated.unwrap_or_default()),
    }
}

/// Returns the thread of the track of an event, or of its sequence.
fn thread_of(
    event: &TrackEvent<'_>,
    sequence: &Sequence,
    recorder: &TraceRecorder,
) -> Option<(i64, i64)> {
    let stated = event.track.or(sequence.default_track);
    let track = stated.and_then(|uuid| recorder.tracks.find(uuid));
    let track = track.and_then(|index| recorder.tracks.tracks.get(index));
    let thread = track.and_then(|it| it.thread.as_ref());
    thread.map(|it| (it.pid, it.tid)).or(sequence.thread)
}

/// Returns the function of a slice.
#[inline]
fn func_of(
    event: &TrackEvent<'_>,
    legacy: Option<&LegacyEvent>,
    place: TrackEventPlace,
    sequence: &mut Sequence,
    recorder: &mut TraceRecorder,
) -> u32 {
    let is_own = sequence.is_own;
    if let Some(name) = event.name {
        return recorder.func(name, is_own);
    }
    let id = event.name_id.or(legacy.and_then(|it| it.name_id));
    let Some(id) = id.filter(|it| *it != 0) else {
        let category = event.category_id.and_then(|it| sequence.categories.get(it));
        let category = category.map(String::as_bytes).or(event.category);
        return recorder.func(category.unwrap_or(NO_NAME), is_own);
    };
    let Some(name) = sequence.names.get_mut(id) else {
        let place = || format!("packet at byte {}: name {id}", place.offset);
        recorder
            .warnings
            .count(WarningKind::UnknownName, None, place);
        return recorder.func(UNKNOWN_NAME, is_own);
    };
    let func = *name
        .func
        .get_or_insert_with(|| function(&mut recorder.names, &name.text, is_own));
    index_of(func)
}

/// Returns a number for the state of a sequence, to which differences of counters refer.
fn state_of(place: TrackEventPlace, sequence: &Sequence) -> u64 {
    (place.sequence_id << 32) | u64::from(sequence.num_clears)
}

fn take_counter(
    event: &TrackEvent<'_>,
    track: usize,
    place: TrackEventPlace,
    sequence: &Sequence,
    recorder: &mut TraceRecorder,
) {
    let value = event.counter.map(CounterValue::Integer);
    let value = value.or(event.double_counter.map(CounterValue::Double));
    if let Some(value) = value {
        recorder.count(track, place.at, value, state_of(place, sequence));
    }
}

/// Processes the values that an event has of other counters, whose tracks it or the defaults state.
fn take_extra_counters(
    event: &TrackEvent<'_>,
    place: TrackEventPlace,
    sequence: &Sequence,
    recorder: &mut TraceRecorder,
) {
    let state = state_of(place, sequence);
    let (integers, tracks) = event.extra_counters();
    let (doubles, double_tracks) = event.extra_double_counters();
    let stated = |own: Vec<u64>, defaults: &[u64]| {
        if own.is_empty() {
            defaults.to_vec()
        } else {
            own
        }
    };
    let tracks = stated(tracks, &sequence.counter_tracks);
    let double_tracks = stated(double_tracks, &sequence.double_counter_tracks);
    let integers = tracks
        .into_iter()
        .zip(integers.into_iter().map(CounterValue::Integer));
    let doubles = double_tracks
        .into_iter()
        .zip(doubles.into_iter().map(CounterValue::Double));
    for (uuid, value) in integers.chain(doubles) {
        let track = recorder.tracks.of_uuid(uuid);
        recorder.count(track, place.at, value, state);
    }
}
