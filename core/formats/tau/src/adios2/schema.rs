//! The names in the stream: its variables, and the attributes that define the indices in rows.

use std::borrow::Cow;
use std::collections::BTreeSet;

use callgrove_adios2_sys::Adios2Error;
use callgrove_model::{
    CounterId, FuncId, MAX_COUNTER_NAME_BYTES, MAX_NAME_BYTES, Metadata, Name, NameTable,
    ProgramId, RankId, ThreadId, storable_text,
};

use super::step_origin::StepOrigin;
use callgrove_source::Announcement;

/// Maximum size of a metadata value, in bytes, to bound documents. Longer values are cut; records keep all of them.
const MAX_VALUE_BYTES: usize = 1 << 20;

/// The scalars of a step; `None` or 0 if the stream does not state them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    /// Highest thread id so far, plus one.
    pub(super) threads: Option<u32>,
    /// Size of the communicator.
    pub(super) ranks: Option<u32>,
    /// Number of timers named so far.
    pub(super) timers: u32,
    /// Number of counters named so far.
    pub(super) counters: u32,
    /// Number of event types named so far.
    pub(super) event_types: u32,
}

/// The variables of the fields of [`Counts`], in their order.
pub(super) const COUNTS: [&str; 5] = [
    "thread_count",
    "comm_rank_count",
    "timer_count",
    "counter_count",
    "event_type_count",
];

/// The variable that every step of TAU's stream has.
pub(super) const FUNC_ROW_COUNT: &str = "timer_event_count";

impl Counts {
    /// Returns the counts of the current step of `origin`, and reads only those that `known` lacks.
    pub(super) fn read(
        origin: &StepOrigin,
        known: [Option<u32>; COUNTS.len()],
    ) -> Result<Self, Adios2Error> {
        let mut counts = known;
        for (count, name) in counts.iter_mut().zip(COUNTS) {
            if count.is_none()
                && let Some((engine, variable)) = origin.variable(name)?
            {
                *count = u32::try_from(engine.get_value::<i32>(&variable)?).ok();
            }
        }
        let [threads, ranks, timers, counters, event_types] = counts;
        Ok(Self {
            threads,
            ranks,
            timers: timers.unwrap_or(0),
            counters: counters.unwrap_or(0),
            event_types: event_types.unwrap_or(0),
        })
    }
}

/// The meaning of an event type index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EventType {
    Entry,
    Exit,
    Send,
    Recv,
    Other,
}

impl EventType {
    fn of_name(name: &str) -> Self {
        match name {
            "ENTRY" => Self::Entry,
            "EXIT" => Self::Exit,
            "SEND" => Self::Send,
            "RECV" => Self::Recv,
            _ => Self::Other,
        }
    }
}

/// The names announced so far. Each rank numbers them by its own order of first use.
#[derive(Debug, Default)]
pub(super) struct AnnouncedNames {
    pub(super) timers: IndexedNames<FuncId>,
    pub(super) counters: IndexedNames<CounterId>,
    pub(super) event_types: Vec<Option<EventType>>,
    num_threads: Option<u32>,
    /// Attributes whose metadata was returned. A finished BP4 folder shows all of them at its first step.
    metadata: BTreeSet<String>,
    /// Attributes whose text had to be changed and that were not reported yet.
    changed: Vec<String>,
    /// The announcements since the last call of [`AnnouncedNames::take_unreported`]; `None` if they are not needed.
    pub(super) unreported: Option<Vec<Announcement>>,
    /// Metadata that another reader read, to be returned with the next.
    recalled: Vec<Metadata>,
}

/// Names by index. Two indices may have the same name.
#[derive(Debug)]
pub(super) struct IndexedNames<Id> {
    pub(super) table: NameTable<Id>,
    pub(super) ids: Vec<Option<Id>>,
}

impl AnnouncedNames {
    /// Processes the attributes of a step if it can have new ones. Returns the new metadata, and whether the attributes
    /// were scanned.
    ///
    /// Scanning all attributes costs more than reading a small step, so it is done only when a count shows that
    /// something was added: each new item is announced in the step that first uses it, and metadata arrives with its
    /// thread. A step without counts contains only attributes.
    pub(super) fn update(
        &mut self,
        origin: &StepOrigin,
        counts: Option<&Counts>,
    ) -> Result<(Vec<Metadata>, bool), Adios2Error> {
        let mut metadata = std::mem::take(&mut self.recalled);
        if counts.is_some_and(|it| self.is_complete(it)) {
            return Ok((metadata, false));
        }
        metadata.extend(match origin {
            StepOrigin::Adios2(engine) => {
                let attributes = engine.io().attributes()?;
                let attributes = attributes
                    .iter()
                    .map(|attribute| Ok((attribute.name()?, attribute)));
                let attributes: Vec<_> = attributes.collect::<Result<_, Adios2Error>>()?;
                self.take_in(&attributes, |it| it.text())?
            }
            StepOrigin::FileSystem(attributes) => {
                self.take_in(&attributes.list(), |&text| Ok(text.to_owned()))?
            }
        });
        if let Some(counts) = counts {
            self.num_threads = self.num_threads.max(counts.threads).or(Some(0));
        }
        Ok((metadata, true))
    }

    /// Adopts what another reader of the stream read, as it is announced only once.
    pub(super) fn recall(&mut self, announced: &[Announcement]) {
        let text = |text: &String| Ok(text.clone());
        if let Ok(metadata) = self.take_in(announced, text) {
            self.recalled.extend(metadata);
        }
    }

    /// Returns the announcements since the last call, including recalled ones.
    pub(super) fn take_unreported(&mut self) -> Vec<Announcement> {
        self.unreported
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Processes attributes by their names, and returns the new metadata.
    fn take_in<T>(
        &mut self,
        attributes: &[(impl AsRef<str>, T)],
        text: impl Fn(&T) -> Result<String, Adios2Error>,
    ) -> Result<Vec<Metadata>, Adios2Error> {
        let mut metadata = Vec::new();
        // Indices run from 0 without gaps, so each is smaller than the number of attributes.
        let limit = attributes.len() + self.timers.ids.len().max(self.counters.ids.len());
        let (mut timers, mut counters) = (Vec::new(), Vec::new());
        let mut changed = std::mem::take(&mut self.changed);
        let mut unreported = self.unreported.take();
        let mut text_of = |attribute: &T, name: &str, max_bytes| {
            let text = text(attribute)?;
            let kept = storable_text(&text, max_bytes);
            if let Cow::Owned(_) = kept {
                changed.push(storable_text(name, MAX_NAME_BYTES).into_owned());
            }
            let kept = kept.into_owned();
            if let Some(unreported) = &mut unreported {
                unreported.push((name.to_owned(), kept.clone()));
            }
            Ok::<_, Adios2Error>(kept)
        };
        for (name, attribute) in attributes {
            let name = name.as_ref();
            match Key::parse(name) {
                Key::Timer(index) if self.timers.is_new(index, limit) => {
                    timers.push((index, text_of(attribute, name, MAX_NAME_BYTES)?));
                }
                Key::Counter(index) if self.counters.is_new(index, limit) => {
                    counters.push((index, text_of(attribute, name, MAX_COUNTER_NAME_BYTES)?));
                }
                Key::EventType(index) if index < limit => {
                    let slot = slot(&mut self.event_types, index);
                    if slot.is_none() {
                        *slot = Some(EventType::of_name(&text_of(
                            attribute,
                            name,
                            MAX_NAME_BYTES,
                        )?));
                    }
                }
                Key::Metadata(rank, thread, key) if !self.metadata.contains(name) => {
                    let key = storable_text(key, MAX_NAME_BYTES).into_owned();
                    let value = text_of(attribute, name, MAX_VALUE_BYTES)?;
                    metadata.push(Metadata {
                        program: ProgramId(0),
                        rank,
                        thread,
                        key,
                        value,
                    });
                    self.metadata.insert(name.to_owned());
                }
                _ => {}
            }
        }
        self.timers.add(timers);
        self.counters.add(counters);
        (self.changed, self.unreported) = (changed, unreported);
        Ok(metadata)
    }

    /// Returns the attributes whose text had to be changed since the last call.
    pub(super) fn take_changed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.changed)
    }

    fn is_complete(&self, counts: &Counts) -> bool {
        self.num_threads.is_some()
            && self.num_threads >= counts.threads
            && self.timers.ids.len() >= counts.timers as usize
            && self.counters.ids.len() >= counts.counters as usize
            && self.event_types.len() >= counts.event_types as usize
    }
}

impl<Id: Name> IndexedNames<Id> {
    fn is_new(&self, index: usize, limit: usize) -> bool {
        index < limit && self.ids.get(index).is_none_or(Option::is_none)
    }

    /// Adds names in order of index, so that ids do not depend on the order of the attributes.
    fn add(&mut self, mut new: Vec<(usize, String)>) {
        new.sort_by_key(|(index, _)| *index);
        for (index, name) in new {
            let id = self.table.intern(&name);
            *slot(&mut self.ids, index) = Some(id);
        }
    }
}

impl<Id> Default for IndexedNames<Id> {
    fn default() -> Self {
        Self {
            table: NameTable::default(),
            ids: Vec::new(),
        }
    }
}

fn slot<T: Clone>(slots: &mut Vec<Option<T>>, index: usize) -> &mut Option<T> {
    if slots.len() <= index {
        slots.resize(index + 1, None);
    }
    &mut slots[index]
}

/// The meaning of an attribute's name.
#[derive(PartialEq, Eq, Debug)]
enum Key<'a> {
    Timer(usize),
    Counter(usize),
    EventType(usize),
    Metadata(RankId, ThreadId, &'a str),
    Other,
}

impl<'a> Key<'a> {
    fn parse(name: &'a str) -> Self {
        // This prefix is tested first, as a metadata key may contain any of the other words.
        if let Some(rest) = name.strip_prefix("MetaData:") {
            let mut parts = rest.splitn(3, ':');
            let mut number = || parts.next()?.parse().ok();
            return match (number(), number(), parts.next()) {
                (Some(rank), Some(thread), Some(key)) => {
                    Self::Metadata(RankId(rank), ThreadId(thread), key)
                }
                _ => Self::Other,
            };
        }
        match name
            .split_once(' ')
            .map(|(kind, index)| (kind, index.parse()))
        {
            Some(("timer", Ok(index))) => Self::Timer(index),
            Some(("counter", Ok(index))) => Self::Counter(index),
            Some(("event_type", Ok(index))) => Self::EventType(index),
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attribute_names_are_parsed() {
        assert_eq!(Key::parse("timer 164"), Key::Timer(164));
        assert_eq!(Key::parse("counter 0"), Key::Counter(0));
        assert_eq!(Key::parse("event_type 3"), Key::EventType(3));
        assert_eq!(
            Key::parse("MetaData:2:1:CPU Type"),
            Key::Metadata(RankId(2), ThreadId(1), "CPU Type")
        );
        assert_eq!(Key::parse("program_name 0"), Key::Other);
        assert_eq!(Key::parse("timer x"), Key::Other);
    }

    #[test]
    fn a_metadata_key_may_hold_any_word() {
        assert_eq!(
            Key::parse("MetaData:0:0:timer 5"),
            Key::Metadata(RankId(0), ThreadId(0), "timer 5")
        );
        assert_eq!(
            Key::parse("MetaData:0:0:a:counter"),
            Key::Metadata(RankId(0), ThreadId(0), "a:counter")
        );
        assert_eq!(Key::parse("MetaData:x:0:a"), Key::Other);
    }
}
