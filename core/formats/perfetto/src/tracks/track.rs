//! Tracks: the facts that their descriptors state, and the slices on them.
//!
//! Source: `protos/perfetto/trace/track_event/track_descriptor.proto` of Perfetto and the files it names.

use std::collections::HashMap;

use callgrove_model::{ThreadId, WarningKind, Warnings};

use crate::clocks::ClockStamp;
use crate::own::OwnTrack;
use crate::proto::{BadField, FieldValue, FieldWalk, signed};
use crate::text::text;

/// Number in place of a function: the end of a slice.
pub(crate) const END: u32 = u32::MAX;
/// Number in place of the index of another event: no such event is known.
pub(crate) const NO_EVENT: u32 = u32::MAX;

/// The beginning or the end of a slice, in 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SliceEvent {
    pub(crate) time_ns: i64,
    /// The function that begins, or [`END`].
    pub(crate) func: u32,
    /// Of a beginning: the index of its end, once it is known.
    pub(crate) partner: u32,
}

/// The events of a track with times of one clock, as they were read.
#[derive(Debug)]
pub(crate) struct EventList {
    pub(crate) clock: u64,
    pub(crate) events: Vec<SliceEvent>,
    pub(crate) is_sorted: bool,
}

/// A slice that an event has as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompleteSlice {
    pub(crate) start: ClockStamp,
    pub(crate) end_ns: i64,
    pub(crate) func: u32,
}

/// The facts that a descriptor states about a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessFacts {
    pub(crate) pid: Option<i64>,
    pub(crate) name: Option<String>,
    pub(crate) command_line: Option<String>,
}

/// The facts that a descriptor states about a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadFacts {
    pub(crate) pid: i64,
    pub(crate) tid: i64,
    pub(crate) name: Option<String>,
    /// Time to which the events of old writers refer, in microseconds.
    pub(crate) reference_us: Option<i64>,
}

/// The facts that a descriptor states about a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CounterFacts {
    pub(crate) unit: Option<String>,
    pub(crate) multiplier: i64,
    pub(crate) is_incremental: bool,
}

/// A track.
#[derive(Debug, Default)]
pub(crate) struct Track {
    pub(crate) parent: Option<u64>,
    pub(crate) name: Option<String>,
    pub(crate) process: Option<ProcessFacts>,
    pub(crate) thread: Option<ThreadFacts>,
    pub(crate) counter: Option<CounterFacts>,
    /// Its kind in a file that Callgrove wrote.
    pub(crate) own: Option<OwnTrack>,
    pub(crate) lists: Vec<EventList>,
    pub(crate) complete: Vec<CompleteSlice>,
    /// The value of a counter of differences, and the state of the sequence to which it belongs.
    pub(crate) sum: (u64, i64),
    /// True if it holds asynchronous slices.
    pub(crate) is_async: bool,
    /// The process of the asynchronous slices.
    pub(crate) owner: Option<i64>,
}

/// The index of a track in half the size, for lists of many events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TrackNumber(u32);

impl TrackNumber {
    pub(crate) fn of_index(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    pub(crate) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// All tracks, by index in order of first mention.
#[derive(Debug, Default)]
pub(crate) struct TrackTable {
    pub(crate) tracks: Vec<Track>,
    by_uuid: HashMap<u64, usize>,
    by_thread: HashMap<(i64, i64), usize>,
    by_process: HashMap<i64, usize>,
    async_by_process: HashMap<Option<i64>, usize>,
    last: Option<(u64, usize)>,
}

impl Track {
    /// Adds an event, and returns its index among those of its clock.
    #[inline]
    pub(crate) fn push(&mut self, at: ClockStamp, func: u32) -> u32 {
        let list = match self.lists.iter().position(|it| it.clock == at.clock) {
            Some(list) => list,
            None => self.add_list(at.clock),
        };
        let Some(list) = self.lists.get_mut(list) else {
            return NO_EVENT;
        };
        let index = u32::try_from(list.events.len()).unwrap_or(NO_EVENT);
        list.is_sorted &= (list.events.last()).is_none_or(|it| it.time_ns <= at.time_ns);
        list.events.push(SliceEvent {
            time_ns: at.time_ns,
            func,
            partner: NO_EVENT,
        });
        index
    }

    fn add_list(&mut self, clock: u64) -> usize {
        self.lists.push(EventList {
            clock,
            events: Vec::new(),
            is_sorted: true,
        });
        self.lists.len() - 1
    }

    /// Returns the thread that it is in a file that Callgrove wrote.
    pub(crate) fn own_thread(&self) -> Option<ThreadId> {
        match self.own {
            Some(OwnTrack::Lane(thread)) => Some(thread),
            Some(OwnTrack::Findings) | None => None,
        }
    }

    /// Returns the name of the thread or of the track itself.
    pub(crate) fn label(&self) -> Option<&str> {
        let thread = self.thread.as_ref().and_then(|it| it.name.as_deref());
        thread.or(self.name.as_deref())
    }
}

impl TrackTable {
    /// Returns the track of an id, which is new if it was not mentioned before.
    #[inline]
    pub(crate) fn of_uuid(&mut self, uuid: u64) -> usize {
        if let Some((last, index)) = self.last
            && last == uuid
        {
            return index;
        }
        let tracks = &mut self.tracks;
        let index = *self.by_uuid.entry(uuid).or_insert_with(|| add(tracks));
        self.last = Some((uuid, index));
        index
    }

    /// Returns the track of an id that was mentioned.
    pub(crate) fn find(&self, uuid: u64) -> Option<usize> {
        self.by_uuid.get(&uuid).copied()
    }

    /// Returns the track of a process that was described.
    pub(crate) fn find_process(&self, pid: i64) -> Option<usize> {
        self.by_process.get(&pid).copied()
    }

    /// Returns the track of a thread.
    pub(crate) fn of_thread(&mut self, pid: i64, tid: i64) -> usize {
        let tracks = &mut self.tracks;
        *self.by_thread.entry((pid, tid)).or_insert_with(|| {
            let index = add(tracks);
            if let Some(track) = tracks.get_mut(index) {
                track.thread = Some(ThreadFacts {
                    pid,
                    tid,
                    ..ThreadFacts::default()
                });
            }
            index
        })
    }

    /// Returns the track of a process.
    pub(crate) fn of_process(&mut self, pid: i64) -> usize {
        let tracks = &mut self.tracks;
        *self.by_process.entry(pid).or_insert_with(|| {
            let index = add(tracks);
            if let Some(track) = tracks.get_mut(index) {
                track.process = Some(ProcessFacts {
                    pid: Some(pid),
                    ..ProcessFacts::default()
                });
            }
            index
        })
    }

    /// Returns the track of the asynchronous slices of a process.
    pub(crate) fn of_asyncs(&mut self, pid: Option<i64>) -> usize {
        let tracks = &mut self.tracks;
        *self.async_by_process.entry(pid).or_insert_with(|| {
            let index = add(tracks);
            if let Some(track) = tracks.get_mut(index) {
                track.is_async = true;
                track.name = Some("asynchronous".to_owned());
                track.owner = pid;
            }
            index
        })
    }

    /// Processes a descriptor of a track. Returns whether Callgrove wrote it.
    ///
    /// # Errors
    /// [`BadField`].
    pub(crate) fn describe(
        &mut self,
        descriptor: &[u8],
        warnings: &mut Warnings,
    ) -> Result<bool, BadField> {
        let mut stated = Track::default();
        let mut uuid = None;
        for field in FieldWalk::of(descriptor) {
            match field? {
                (1, FieldValue::Varint(value)) => uuid = Some(value),
                (5, FieldValue::Varint(value)) => stated.parent = Some(value).filter(|it| *it != 0),
                (14, FieldValue::Bytes(text)) => stated.own = OwnTrack::of(text),
                (2 | 10, FieldValue::Bytes(name)) => stated.name = Some(text(name, warnings)),
                (3, FieldValue::Bytes(it)) => {
                    stated.process = Some(ProcessFacts::of(it, warnings)?);
                }
                (4, FieldValue::Bytes(it)) => stated.thread = Some(ThreadFacts::of(it, warnings)?),
                (8, FieldValue::Bytes(it)) => {
                    stated.counter = Some(CounterFacts::of(it, warnings)?);
                }
                _ => {}
            }
        }
        let index = self.of_uuid(uuid.unwrap_or_default());
        if let Some(pid) = stated.process.as_ref().and_then(|it| it.pid) {
            self.by_process.entry(pid).or_insert(index);
        }
        if let Some(thread) = &stated.thread {
            let key = (thread.pid, thread.tid);
            self.by_thread.entry(key).or_insert(index);
        }
        let is_own = stated.own.is_some();
        if let Some(track) = self.tracks.get_mut(index) {
            if track.is_of_other(&stated) {
                let place = || stated.label_of_process().unwrap_or_default();
                warnings.count(WarningKind::TracksShared, None, place);
            }
            track.update(stated);
        }
        Ok(is_own)
    }
}

fn add(tracks: &mut Vec<Track>) -> usize {
    tracks.push(Track::default());
    tracks.len() - 1
}

impl Track {
    /// Returns whether a descriptor of the same id states another process or thread.
    fn is_of_other(&self, stated: &Self) -> bool {
        fn differ<T: PartialEq>(own: Option<T>, stated: Option<T>) -> bool {
            own.zip(stated).is_some_and(|(own, stated)| own != stated)
        }
        let pid = |it: &Self| it.process.as_ref().and_then(|it| it.pid);
        let thread = |it: &Self| it.thread.as_ref().map(|it| (it.pid, it.tid));
        differ(pid(self), pid(stated)) || differ(thread(self), thread(stated))
    }

    /// Returns the name and number of the process, or the number of that of the thread.
    fn label_of_process(&self) -> Option<String> {
        let pid = |pid: i64| format!("process {pid}");
        match (&self.process, &self.thread) {
            (Some(process), _) => {
                let name = process
                    .name
                    .as_deref()
                    .or(self.name.as_deref())
                    .unwrap_or_default();
                process
                    .pid
                    .map(|it| format!("{} {name}", pid(it)).trim_end().to_owned())
            }
            (None, thread) => thread.as_ref().map(|it| pid(it.pid)),
        }
    }

    /// Processes the fields of a descriptor; a later one may state more.
    fn update(&mut self, stated: Self) {
        self.parent = stated.parent.or(self.parent);
        self.name = stated.name.or(self.name.take());
        self.process = stated.process.or(self.process.take());
        self.thread = stated.thread.or(self.thread.take());
        self.counter = stated.counter.or(self.counter.take());
        self.own = stated.own.or(self.own);
    }
}

impl ProcessFacts {
    pub(crate) fn of(bytes: &[u8], warnings: &mut Warnings) -> Result<Self, BadField> {
        let mut facts = Self::default();
        let mut words: Vec<String> = Vec::new();
        for field in FieldWalk::of(bytes) {
            match field? {
                (1, FieldValue::Varint(pid)) => facts.pid = Some(signed(pid)),
                (2, FieldValue::Bytes(word)) => words.push(text(word, warnings)),
                (6, FieldValue::Bytes(name)) => facts.name = Some(text(name, warnings)),
                _ => {}
            }
        }
        facts.command_line = (!words.is_empty()).then(|| words.join(" "));
        Ok(facts)
    }
}

impl ThreadFacts {
    pub(crate) fn of(bytes: &[u8], warnings: &mut Warnings) -> Result<Self, BadField> {
        let mut facts = Self::default();
        for field in FieldWalk::of(bytes) {
            match field? {
                (1, FieldValue::Varint(pid)) => facts.pid = signed(pid),
                (2, FieldValue::Varint(tid)) => facts.tid = signed(tid),
                (5, FieldValue::Bytes(name)) => facts.name = Some(text(name, warnings)),
                (6, FieldValue::Varint(time)) => facts.reference_us = Some(signed(time)),
                _ => {}
            }
        }
        Ok(facts)
    }
}

impl CounterFacts {
    fn of(bytes: &[u8], warnings: &mut Warnings) -> Result<Self, BadField> {
        let mut facts = Self {
            unit: None,
            multiplier: 1,
            is_incremental: false,
        };
        for field in FieldWalk::of(bytes) {
            match field? {
                (3, FieldValue::Varint(1)) => facts.unit = Some("ns".to_owned()),
                (3, FieldValue::Varint(3)) => facts.unit = Some("bytes".to_owned()),
                (4, FieldValue::Varint(value)) if value != 0 => facts.multiplier = signed(value),
                (5, FieldValue::Varint(value)) => facts.is_incremental = value != 0,
                (6, FieldValue::Bytes(unit)) => facts.unit = Some(text(unit, warnings)),
                _ => {}
            }
        }
        Ok(facts)
    }
}
