//! Events of the SDK's older interface, which have the phases of Chrome's JSON.
//!
//! Source: `LegacyEvent` in `protos/perfetto/trace/track_event/track_event.proto` of Perfetto.

use callgrove_model::{FuncId, WarningKind};
use callgrove_source::OpenAsyncs;

use super::sequence_state::Sequence;
use crate::clocks::ClockStamp;
use crate::proto::{BadField, FieldValue, FieldWalk, signed};
use crate::recorder::{TraceRecorder, index_of};
use crate::tracks::{CompleteSlice, END, NO_EVENT};

/// Direction of a flow: it ends here.
const FLOW_IN: u64 = 1;

/// The fields of a legacy event.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct LegacyEvent {
    pub(crate) phase: u8,
    pub(crate) name_id: Option<u64>,
    pub(crate) pid: Option<i64>,
    pub(crate) tid: Option<i64>,
    duration_us: Option<i64>,
    /// The id of a flow or an asynchronous slice, and whether it is of one process.
    id: Option<(u64, bool)>,
    scope: u64,
    bind_id: Option<u64>,
    direction: u64,
}

impl LegacyEvent {
    /// Reads an event.
    ///
    /// # Errors
    /// [`BadField`].
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, BadField> {
        let mut event = Self::default();
        for field in FieldWalk::of(bytes) {
            match field? {
                (1, FieldValue::Varint(id)) => event.name_id = Some(id),
                (2, FieldValue::Varint(phase)) => event.phase = u8::try_from(phase).unwrap_or(0),
                (3, FieldValue::Varint(time)) => event.duration_us = Some(signed(time)),
                (6 | 11, FieldValue::Varint(id)) => event.id = Some((id, false)),
                (10, FieldValue::Varint(id)) => event.id = Some((id, true)),
                (7, FieldValue::Bytes(scope)) => event.scope = callgrove_model::fnv1a(scope),
                (8, FieldValue::Varint(id)) => event.bind_id = Some(id),
                (13, FieldValue::Varint(direction)) => event.direction = direction,
                (18, FieldValue::Varint(pid)) => event.pid = Some(signed(pid)),
                (19, FieldValue::Varint(tid)) => event.tid = Some(signed(tid)),
                _ => {}
            }
        }
        Ok(event)
    }

    /// Returns the flow through the event, and whether it ends here.
    pub(crate) fn flow(&self) -> Option<(u64, bool)> {
        match self.phase {
            b's' | b't' => Some((self.id?.0, false)),
            b'f' => Some((self.id?.0, true)),
            _ if self.direction != 0 => Some((self.bind_id?, self.direction == FLOW_IN)),
            _ => None,
        }
    }
}

/// Processes an event on a track; `func` is the function of a slice, or [`END`] for an end without a name. Returns the index of a slice that begins.
pub(crate) fn take_legacy(
    legacy: &LegacyEvent,
    (track, at, func): (usize, ClockStamp, u32),
    sequence: &Sequence,
    recorder: &mut TraceRecorder,
) -> u32 {
    match legacy.phase {
        b'B' => return recorder.begin(track, at, func),
        b'E' => recorder.end(track, at),
        b'X' => {
            let duration_us = legacy.duration_us.unwrap_or(0);
            let end_ns = at.time_ns.saturating_add(duration_us.saturating_mul(1000));
            push_complete(recorder, track, at, (end_ns, func));
        }
        b'b' | b'S' => {
            let key = async_key(legacy, track, sequence, recorder);
            let open = recorder.asyncs.entry(key).or_default();
            open.begin(FuncId(func), at);
        }
        b'e' | b'F' => {
            let key = async_key(legacy, track, sequence, recorder);
            let name = (func != END).then_some(FuncId(func));
            let open = recorder.asyncs.get_mut(&key);
            let Some((func, start)) = open.and_then(|it| it.end(name)) else {
                let place = || format!("asynchronous slice at {} ns", at.time_ns);
                recorder
                    .warnings
                    .count(WarningKind::ExitWithoutEntry, None, place);
                return NO_EVENT;
            };
            if recorder.asyncs.get(&key).is_some_and(OpenAsyncs::is_empty) {
                recorder.asyncs.remove(&key);
            }
            let track = recorder.tracks.of_asyncs(key.0);
            push_complete(recorder, track, start, (at.time_ns, index_of(func)));
        }
        _ => {}
    }
    NO_EVENT
}

fn push_complete(
    recorder: &mut TraceRecorder,
    track: usize,
    start: ClockStamp,
    (end_ns, func): (i64, u32),
) {
    if end_ns < start.time_ns {
        let place = || format!("slice at {} ns of clock {}", start.time_ns, start.clock);
        recorder
            .warnings
            .count(WarningKind::NegativeDuration, None, place);
    }
    if let Some(track) = recorder.tracks.tracks.get_mut(track) {
        track.complete.push(CompleteSlice {
            start,
            end_ns: end_ns.max(start.time_ns),
            func,
        });
    }
}

/// Returns the process, the scope and the id of an asynchronous slice.
fn async_key(
    legacy: &LegacyEvent,
    track: usize,
    sequence: &Sequence,
    recorder: &TraceRecorder,
) -> (Option<i64>, u64, u64) {
    let track = recorder.tracks.tracks.get(track);
    let thread = track.and_then(|it| it.thread.as_ref()).map(|it| it.pid);
    let process = track.and_then(|it| it.process.as_ref()?.pid);
    let own = sequence.thread.map(|it| it.0);
    let pid = legacy.pid.or(thread).or(process).or(own);
    (pid, legacy.scope, legacy.id.unwrap_or_default().0)
}
