//! The tracks, names and warnings that the events of all sequences of a trace build.

use std::collections::{BTreeMap, HashMap};

use callgrove_model::{
    CommKind, CounterId, FuncId, MAX_COUNTER_NAME_BYTES, NameTable, WarningKind, Warnings,
    storable_text,
};
use callgrove_source::{EventPieces, OpenAsyncs, RecordedName};

use crate::clocks::{ClockStamp, TraceClocks};
use crate::own::OwnFact;
use crate::text::text;
use crate::tracks::{END, NO_EVENT, TrackNumber, TrackTable};

/// A point of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrackFlow {
    pub(crate) id: u64,
    pub(crate) track: usize,
    pub(crate) at: ClockStamp,
    /// The slice that begins with it, as index of the track, or [`NO_EVENT`].
    pub(crate) event: u32,
    pub(crate) ends: bool,
}

/// A message that the writer states with its partner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatedMessage {
    pub(crate) track: TrackNumber,
    pub(crate) at: ClockStamp,
    pub(crate) kind: CommKind,
    pub(crate) partner: u32,
    pub(crate) tag: u64,
    pub(crate) num_bytes: u64,
}

/// The value of a counter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CounterValue {
    Integer(i64),
    Double(f64),
}

/// A sample of a counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrackSample {
    pub(crate) track: TrackNumber,
    /// The counter, if it is not the track itself.
    pub(crate) counter: Option<CounterId>,
    pub(crate) at: ClockStamp,
    value_bits: u64,
    is_double: bool,
}

impl TrackSample {
    pub(crate) fn new(
        track: usize,
        counter: Option<CounterId>,
        at: ClockStamp,
        value: CounterValue,
    ) -> Self {
        let (value_bits, is_double) = match value {
            CounterValue::Integer(value) => (value.cast_unsigned(), false),
            CounterValue::Double(value) => (value.to_bits(), true),
        };
        Self {
            track: TrackNumber::of_index(track),
            counter,
            at,
            value_bits,
            is_double,
        }
    }

    pub(crate) fn value(&self) -> CounterValue {
        if self.is_double {
            CounterValue::Double(f64::from_bits(self.value_bits))
        } else {
            CounterValue::Integer(self.value_bits.cast_signed())
        }
    }
}

/// Everything that was read.
#[derive(Debug, Default)]
pub(crate) struct TraceRecorder {
    pub(crate) names: NameTable<FuncId>,
    pub(crate) counter_names: NameTable<CounterId>,
    pub(crate) tracks: TrackTable,
    pub(crate) clocks: TraceClocks,
    pub(crate) flows: Vec<TrackFlow>,
    pub(crate) messages: EventPieces<StatedMessage>,
    pub(crate) counters: EventPieces<TrackSample>,
    pub(crate) asyncs: HashMap<(Option<i64>, u64, u64), OpenAsyncs<ClockStamp>>,
    /// Command lines by process, from lists of processes.
    pub(crate) command_lines: BTreeMap<i64, String>,
    pub(crate) host: Option<String>,
    /// Keys and values that TAU states, with the track of the thread.
    pub(crate) metadata: Vec<(usize, String, String)>,
    /// The facts about lanes in a file that Callgrove wrote.
    pub(crate) own_facts: Vec<OwnFact>,
    /// The first time of an event.
    pub(crate) first: Option<ClockStamp>,
    pub(crate) num_events: u64,
    pub(crate) num_packets: u64,
    pub(crate) warnings: Warnings,
}

impl TraceRecorder {
    /// Returns the function of a recorded name. Bytes that are not UTF-8 are replaced and counted.
    pub(crate) fn func(&mut self, name: &[u8], is_own: bool) -> u32 {
        let known = std::str::from_utf8(name).ok();
        let id = known.and_then(|name| self.names.get(name));
        let id = id.unwrap_or_else(|| {
            let name = text(name, &mut self.warnings);
            function(&mut self.names, &name, is_own)
        });
        index_of(id)
    }

    /// Returns the counter of a name.
    pub(crate) fn counter_of(&mut self, name: &str) -> CounterId {
        let stored = storable_text(name, MAX_COUNTER_NAME_BYTES);
        self.counter_names.intern(&stored)
    }

    /// Adds the beginning of a slice, and returns its index.
    #[inline]
    pub(crate) fn begin(&mut self, track: usize, at: ClockStamp, func: u32) -> u32 {
        self.push(track, at, func)
    }

    /// Adds the end of a slice.
    #[inline]
    pub(crate) fn end(&mut self, track: usize, at: ClockStamp) {
        self.push(track, at, END);
    }

    #[inline]
    fn push(&mut self, track: usize, at: ClockStamp, func: u32) -> u32 {
        let tracks = &mut self.tracks.tracks;
        tracks
            .get_mut(track)
            .map_or(NO_EVENT, |track| track.push(at, func))
    }

    /// Adds a sample of a counter that is a track. Differences of a state of a sequence are added up.
    pub(crate) fn count(&mut self, track: usize, at: ClockStamp, value: CounterValue, state: u64) {
        let mut value = value;
        if let Some(track) = self.tracks.tracks.get_mut(track)
            && track.counter.as_ref().is_some_and(|it| it.is_incremental)
            && let CounterValue::Integer(difference) = value
        {
            if track.sum.0 != state {
                track.sum = (state, 0);
            }
            track.sum.1 = track.sum.1.saturating_add(difference);
            value = CounterValue::Integer(track.sum.1);
        }
        let sample = TrackSample::new(track, None, at, value);
        self.counters.push(sample);
    }

    /// Counts a packet, or an event in one, that is left out.
    pub(crate) fn leave_out(&mut self, offset: u64, reason: &str) {
        let place = || format!("packet at byte {offset}: {reason}");
        self.warnings.count(WarningKind::BadRow, None, place);
    }
}

/// Returns the function of a recorded name, without the arguments of the call. Callgrove writes the names of functions,
/// of which nothing is removed.
pub(crate) fn function(names: &mut NameTable<FuncId>, name: &str, is_own: bool) -> FuncId {
    if is_own {
        return names.intern(name);
    }
    names.intern(&RecordedName::parse(name).function)
}

/// Returns the index of a function, below that of [`END`].
pub(crate) fn index_of(func: FuncId) -> u32 {
    func.0
}
