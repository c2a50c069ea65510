//! The state of a sequence of packets: names and defaults that later packets refer to.
//!
//! A packet with a flag clears the state. After packets were dropped, those that need the state cannot be read until
//! it is cleared.
//!
//! Source: `protos/perfetto/trace/interned_data/interned_data.proto` and `trace_packet_defaults.proto` of Perfetto.

use std::collections::{BTreeMap, HashMap};

use callgrove_model::{FuncId, Warnings};

use crate::clocks::SequenceClock;
use crate::proto::{BadField, FieldValue, FieldWalk, packed};
use crate::text::text;

/// Maximum gap between ids that are found by index instead of hashing. Writers number names from 1.
const MAX_GAP: usize = 64;

/// Texts by the ids that packets use for them.
#[derive(Debug)]
pub(crate) struct InternTable<T> {
    by_index: Vec<Option<T>>,
    by_id: HashMap<u64, T>,
}

/// A name of events.
#[derive(Debug)]
pub(crate) struct EventName {
    pub(crate) text: String,
    /// The function of the name, once an event has used it.
    pub(crate) func: Option<FuncId>,
}

/// The state of a sequence.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    /// True after its first packet.
    pub(crate) has_begun: bool,
    /// True if nothing of the state was lost.
    pub(crate) is_valid: bool,
    /// True if Callgrove wrote it.
    pub(crate) is_own: bool,
    /// Number of times that the state was cleared.
    pub(crate) num_clears: u32,
    pub(crate) names: InternTable<EventName>,
    pub(crate) categories: InternTable<String>,
    pub(crate) annotation_names: InternTable<String>,
    pub(crate) default_track: Option<u64>,
    pub(crate) default_clock: Option<u64>,
    pub(crate) counter_tracks: Vec<u64>,
    pub(crate) double_counter_tracks: Vec<u64>,
    pub(crate) clocks: BTreeMap<u64, SequenceClock>,
    /// The thread that an old writer stated, as process and thread.
    pub(crate) thread: Option<(i64, i64)>,
    /// Time to which the next event of an old writer refers, in microseconds.
    pub(crate) reference_us: i64,
}

impl<T> Default for InternTable<T> {
    fn default() -> Self {
        Self {
            by_index: Vec::new(),
            by_id: HashMap::new(),
        }
    }
}

impl<T> InternTable<T> {
    #[inline]
    pub(crate) fn get_mut(&mut self, id: u64) -> Option<&mut T> {
        let index = usize::try_from(id).unwrap_or(usize::MAX);
        match self.by_index.get_mut(index) {
            Some(Some(found)) => Some(found),
            _ => self.by_id.get_mut(&id),
        }
    }

    pub(crate) fn get(&self, id: u64) -> Option<&T> {
        let index = usize::try_from(id).unwrap_or(usize::MAX);
        match self.by_index.get(index) {
            Some(Some(found)) => Some(found),
            _ => self.by_id.get(&id),
        }
    }

    fn put(&mut self, id: u64, value: T) {
        let index = usize::try_from(id).unwrap_or(usize::MAX);
        if index >= self.by_index.len() + MAX_GAP {
            self.by_id.insert(id, value);
            return;
        }
        while self.by_index.len() <= index {
            self.by_index.push(None);
        }
        self.by_id.remove(&id);
        if let Some(place) = self.by_index.get_mut(index) {
            *place = Some(value);
        }
    }

    fn clear(&mut self) {
        self.by_index.clear();
        self.by_id.clear();
    }
}

impl Sequence {
    /// Clears the state.
    pub(crate) fn clear(&mut self) {
        self.is_valid = true;
        self.num_clears = self.num_clears.wrapping_add(1);
        self.names.clear();
        self.categories.clear();
        self.annotation_names.clear();
        self.default_track = None;
        self.default_clock = None;
        self.counter_tracks.clear();
        self.double_counter_tracks.clear();
    }

    /// Processes the defaults of later packets.
    ///
    /// # Errors
    /// [`BadField`].
    pub(crate) fn take_defaults(&mut self, bytes: &[u8]) -> Result<(), BadField> {
        for field in FieldWalk::of(bytes) {
            match field? {
                (58, FieldValue::Varint(clock)) => {
                    self.default_clock = Some(clock).filter(|it| *it != 0);
                }
                (11, FieldValue::Bytes(of_events)) => self.take_event_defaults(of_events)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn take_event_defaults(&mut self, bytes: &[u8]) -> Result<(), BadField> {
        self.counter_tracks.clear();
        self.double_counter_tracks.clear();
        for field in FieldWalk::of(bytes) {
            match field? {
                (11, FieldValue::Varint(track)) => self.default_track = Some(track),
                (31, tracks) => self.counter_tracks.extend(packed(tracks)),
                (45, tracks) => self.double_counter_tracks.extend(packed(tracks)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Processes new names.
    ///
    /// # Errors
    /// [`BadField`].
    pub(crate) fn take_names(
        &mut self,
        bytes: &[u8],
        warnings: &mut Warnings,
    ) -> Result<(), BadField> {
        for field in FieldWalk::of(bytes) {
            let (number, FieldValue::Bytes(entry)) = field? else {
                continue;
            };
            if number == 4 && self.is_own {
                self.take_full_name(entry, warnings)?;
                continue;
            }
            let table = match number {
                1 => &mut self.categories,
                3 => &mut self.annotation_names,
                2 => {
                    let (id, text) = interned(entry, warnings)?;
                    self.names.put(id, EventName { text, func: None });
                    continue;
                }
                _ => continue,
            };
            let (id, text) = interned(entry, warnings)?;
            table.put(id, text);
        }
        Ok(())
    }

    /// Processes the full name of a function, whose number was stated with its short form before.
    fn take_full_name(&mut self, entry: &[u8], warnings: &mut Warnings) -> Result<(), BadField> {
        let (mut id, mut name) = (0, None);
        for field in FieldWalk::of(entry) {
            match field? {
                (1, FieldValue::Varint(value)) => id = value,
                (3, FieldValue::Bytes(value)) => name = Some(value),
                _ => {}
            }
        }
        if let Some(name) = name {
            let text = text(name, warnings);
            self.names.put(id, EventName { text, func: None });
        }
        Ok(())
    }
}

fn interned(entry: &[u8], warnings: &mut Warnings) -> Result<(u64, String), BadField> {
    let (mut id, mut name) = (0, &[][..]);
    for field in FieldWalk::of(entry) {
        match field? {
            (1, FieldValue::Varint(value)) => id = value,
            (2, FieldValue::Bytes(value)) => name = value,
            _ => {}
        }
    }
    Ok((id, text(name, warnings)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_any_size_are_found_until_the_table_is_cleared() {
        let mut table = InternTable::default();
        for id in [0, 7, u64::MAX] {
            table.put(id, id.to_string());
        }
        assert_eq!(table.get(7).map(String::as_str), Some("7"));
        assert_eq!(table.get(u64::MAX).map(String::len), Some(20));
        assert_eq!(table.get(3), None);
        table.clear();
        assert_eq!(table.get(7), None);
    }
}
