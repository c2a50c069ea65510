//! Processes packets one after another, with the state of their sequences.

use std::collections::HashMap;

use callgrove_model::WarningKind;

use super::event_reader::{TrackEventPlace, take_event};
use super::sequence_state::Sequence;
use crate::clocks::{ClockStamp, MONOTONIC, is_of_sequence};
use crate::proto::{BadField, FieldValue, FieldWalk, TracePacket, TrackEvent, signed};
use crate::recorder::TraceRecorder;
use crate::text::text;
use crate::tracks::{ProcessFacts, ThreadFacts};

/// Packets in a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PackedPackets<'a> {
    Deflated(&'a [u8]),
    Zstd(&'a [u8]),
}

/// Everything that was read, and the state of each sequence.
#[derive(Default)]
pub(crate) struct TraceState {
    sequences: Vec<Sequence>,
    by_id: HashMap<u64, usize>,
    last: Option<(u64, usize)>,
    pub(crate) recorder: TraceRecorder,
}

impl TraceState {
    /// Processes the packet at `offset` bytes. Returns the packets in it, if there are any.
    pub(crate) fn take_in<'a>(
        &mut self,
        bytes: &'a [u8],
        offset: u64,
    ) -> Option<PackedPackets<'a>> {
        self.recorder.num_packets += 1;
        let Ok(packet) = TracePacket::of(bytes) else {
            self.recorder.leave_out(offset, "not a valid message");
            return None;
        };
        let sequence = self.sequence(packet.sequence);
        if let Some(sequence) = self.sequences.get_mut(sequence)
            && take_packet(&packet, sequence, &mut self.recorder, offset).is_err()
        {
            self.recorder.leave_out(offset, "not a valid message");
        }
        let deflated = packet.deflated.map(PackedPackets::Deflated);
        deflated.or(packet.zstd.map(PackedPackets::Zstd))
    }

    #[inline]
    fn sequence(&mut self, id: u64) -> usize {
        if let Some((last, index)) = self.last
            && last == id
        {
            return index;
        }
        let sequences = &mut self.sequences;
        let index = *self.by_id.entry(id).or_insert_with(|| {
            sequences.push(Sequence::default());
            sequences.len() - 1
        });
        self.last = Some((id, index));
        index
    }
}

fn take_packet(
    packet: &TracePacket<'_>,
    sequence: &mut Sequence,
    recorder: &mut TraceRecorder,
    offset: u64,
) -> Result<(), BadField> {
    let is_after_loss = packet.is_after_loss && !packet.is_first;
    // A recording that begins in the middle of a sequence has lost what came before.
    if is_after_loss && sequence.has_begun {
        let place = || format!("before the packet at byte {offset}");
        recorder
            .warnings
            .count(WarningKind::PacketsDropped, None, place);
    }
    sequence.has_begun = true;
    if packet.clears_state {
        sequence.clear();
    } else if is_after_loss {
        sequence.is_valid = false;
    }
    if packet.needs_state && !sequence.is_valid {
        let place = || format!("packet at byte {offset}");
        recorder.warnings.count(WarningKind::StateLost, None, place);
        return Ok(());
    }
    if let Some(defaults) = packet.defaults {
        sequence.take_defaults(defaults)?;
    }
    if let Some(names) = packet.interned {
        sequence.take_names(names, &mut recorder.warnings)?;
    }
    if let Some(snapshot) = packet.clocks {
        recorder.clocks.take_in(snapshot, &mut sequence.clocks)?;
    }
    if let Some(track) = packet.track {
        let is_own = recorder.tracks.describe(track, &mut recorder.warnings)?;
        sequence.is_own |= is_own;
    }
    if packet.thread.is_some() || packet.process.is_some() {
        take_old_descriptors(packet, sequence, recorder)?;
    }
    if packet.process_tree.is_some() || packet.system.is_some() {
        take_system(packet, recorder)?;
    }
    let at = packet_time(packet, sequence, recorder);
    let Some(event) = packet.event else {
        return Ok(());
    };
    let event = TrackEvent::of(event)?;
    recorder.num_events += 1;
    let at = at.or_else(|| old_event_time(&event, sequence));
    let Some(at) = at.filter(|it| it.time_ns >= 0) else {
        recorder.leave_out(offset, "its time is of an unknown clock, or missing");
        return Ok(());
    };
    recorder.first.get_or_insert(at);
    let place = TrackEventPlace {
        at,
        offset,
        sequence_id: packet.sequence,
    };
    take_event(&event, place, sequence, recorder)
}

/// Returns the time that a packet states, if its clock is known.
#[inline]
fn packet_time(
    packet: &TracePacket<'_>,
    sequence: &mut Sequence,
    recorder: &mut TraceRecorder,
) -> Option<ClockStamp> {
    let units = i64::try_from(packet.num_units?).ok()?;
    let clock = packet.clock.or(sequence.default_clock);
    match clock {
        Some(clock) if is_of_sequence(clock) => Some(sequence.clocks.get_mut(&clock)?.at(units)),
        clock => {
            let clock = clock.unwrap_or(recorder.clocks.primary());
            recorder.clocks.at(clock, units)
        }
    }
}

/// Returns the time that an event of an old writer states in microseconds.
fn old_event_time(event: &TrackEvent<'_>, sequence: &mut Sequence) -> Option<ClockStamp> {
    let time_us = if let Some(delta_us) = event.delta_us {
        sequence.reference_us = sequence.reference_us.saturating_add(delta_us);
        sequence.reference_us
    } else {
        event.absolute_us?
    };
    Some(ClockStamp {
        clock: MONOTONIC,
        time_ns: time_us.checked_mul(1000)?,
    })
}

/// Processes descriptors of old writers, which are not tracks.
fn take_old_descriptors(
    packet: &TracePacket<'_>,
    sequence: &mut Sequence,
    recorder: &mut TraceRecorder,
) -> Result<(), BadField> {
    if let Some(process) = packet.process {
        let facts = ProcessFacts::of(process, &mut recorder.warnings)?;
        if let Some(pid) = facts.pid {
            let index = recorder.tracks.of_process(pid);
            if let Some(track) = recorder.tracks.tracks.get_mut(index) {
                track.process = Some(facts);
            }
        }
    }
    if let Some(thread) = packet.thread {
        let facts = ThreadFacts::of(thread, &mut recorder.warnings)?;
        sequence.thread = Some((facts.pid, facts.tid));
        sequence.reference_us = facts.reference_us.unwrap_or(sequence.reference_us);
        let index = recorder.tracks.of_thread(facts.pid, facts.tid);
        if let Some(track) = recorder.tracks.tracks.get_mut(index)
            && facts.name.is_some()
        {
            track.thread = Some(facts);
        }
    }
    Ok(())
}

/// Processes the facts about the machine and its processes.
fn take_system(packet: &TracePacket<'_>, recorder: &mut TraceRecorder) -> Result<(), BadField> {
    for field in FieldWalk::of(packet.system.unwrap_or_default()) {
        if let (17, FieldValue::Bytes(name)) = field? {
            recorder.host = Some(text(name, &mut recorder.warnings));
        }
    }
    for field in FieldWalk::of(packet.process_tree.unwrap_or_default()) {
        let (1, FieldValue::Bytes(process)) = field? else {
            continue;
        };
        let (mut pid, mut words) = (None, Vec::new());
        for field in FieldWalk::of(process) {
            match field? {
                (1, FieldValue::Varint(value)) => pid = Some(signed(value)),
                (3, FieldValue::Bytes(word)) => words.push(text(word, &mut recorder.warnings)),
                _ => {}
            }
        }
        if let Some(pid) = pid.filter(|_| !words.is_empty()) {
            recorder.command_lines.insert(pid, words.join(" "));
        }
    }
    Ok(())
}
