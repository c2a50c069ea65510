//! The definitions of one location, `NAME/LOCATION.def`: how its ids map to those of the run, and how its clock
//! differs.
//!
//! Source: OTF2 3.0.2, `src/otf2_id_map.c`, `src/OTF2_IdMap.c`, `src/otf2_archive_location.c`.

use std::collections::BTreeMap;
use std::io::Read;

use callgrove_model::TimeNs;

use crate::bytes::ByteReader;
use crate::chunk::{Chunks, Record, Records};
use crate::definitions::ClockProperties;

/// Maximum id of a table that is kept as a list; larger ones are kept in a map.
const MAX_LISTED: usize = 1 << 16;

/// The ids of one kind of definitions in a location's events, and those of the run. An id without an entry is one of
/// the run.
#[derive(Default, Debug)]
pub(crate) struct IdMap {
    listed: Vec<u32>,
    others: BTreeMap<u32, u32>,
}

/// The difference of a location's clock from that of the run at a time, both in ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ClockOffset {
    tick: u64,
    offset: i64,
}

/// The definitions of one location.
#[derive(Default, Debug)]
pub(crate) struct LocalDefinitions {
    pub(crate) regions: IdMap,
    pub(crate) communicators: IdMap,
    pub(crate) metrics: IdMap,
    pub(crate) strings: IdMap,
    pub(crate) calling_contexts: IdMap,
    offsets: Vec<ClockOffset>,
    /// False if the file is damaged; what precedes the damage is kept.
    pub(crate) is_whole: bool,
}

/// The clock of one location.
#[derive(Debug)]
pub(crate) struct LocationClock {
    offsets: Vec<ClockOffset>,
    /// The interval of the last time.
    interval: usize,
    ticks_per_second: i128,
    /// The tick that is time zero.
    origin: i128,
    epoch_ns: i128,
}

impl IdMap {
    fn read(values: &mut ByteReader<'_>) -> Option<Self> {
        let (num_ids, mode) = (values.u64()?, values.u8()?);
        let mut map = Self::default();
        for index in 0..num_ids {
            let (local, global) = if mode == 0 {
                (index, values.u64()?)
            } else {
                (values.u64()?, values.u64()?)
            };
            map.insert(u32::try_from(local).ok()?, u32::try_from(global).ok()?);
        }
        Some(map)
    }

    fn insert(&mut self, local: u32, global: u32) {
        match usize::try_from(local) {
            Ok(index) if index < MAX_LISTED => {
                while self.listed.len() <= index {
                    // An id without an entry is one of the run.
                    self.listed
                        .push(u32::try_from(self.listed.len()).unwrap_or(u32::MAX));
                }
                self.listed[index] = global;
            }
            _ => {
                self.others.insert(local, global);
            }
        }
    }

    /// Returns the id of the run.
    #[inline]
    pub(crate) fn global(&self, local: u32) -> u32 {
        let listed = usize::try_from(local)
            .ok()
            .and_then(|at| self.listed.get(at));
        let known = listed.or_else(|| self.others.get(&local));
        known.copied().unwrap_or(local)
    }
}

impl LocalDefinitions {
    /// Reads a file; one that is missing defines nothing.
    pub(crate) fn read(file: Option<impl Read>, chunk_bytes: usize) -> Self {
        let mut definitions = Self {
            is_whole: true,
            ..Self::default()
        };
        let Some(file) = file else {
            return definitions;
        };
        let mut chunks = Chunks::new(file, chunk_bytes);
        while let Ok(true) = chunks.advance() {
            let Some(mut records) = Records::of_chunk(chunks.bytes()) else {
                definitions.is_whole = false;
                return definitions;
            };
            loop {
                let taken = match records.next_definition() {
                    Record::Of(kind, values) => definitions.take_in(kind, values),
                    Record::End => break,
                    Record::Damaged => None,
                };
                if taken.is_none() {
                    definitions.is_whole = false;
                    return definitions;
                }
            }
        }
        definitions
    }

    fn take_in(&mut self, kind: u8, mut values: ByteReader<'_>) -> Option<()> {
        match kind {
            5 => {
                let map = match values.u8()? {
                    0 => &mut self.strings,
                    3 => &mut self.regions,
                    5 => &mut self.metrics,
                    6 => &mut self.communicators,
                    10 => &mut self.calling_contexts,
                    _ => return Some(()),
                };
                *map = IdMap::read(&mut values)?;
            }
            6 => {
                let (tick, offset) = (values.full_u64()?, values.i64()?);
                self.offsets.push(ClockOffset { tick, offset });
            }
            _ => {}
        }
        Some(())
    }

    /// Returns the clock of the location.
    pub(crate) fn clock(&self, properties: ClockProperties) -> LocationClock {
        let mut offsets = self.offsets.clone();
        offsets.sort_by_key(|it| it.tick);
        offsets.dedup_by_key(|it| it.tick);
        LocationClock {
            offsets,
            interval: 0,
            ticks_per_second: properties.ticks_per_second.into(),
            origin: origin(properties).into(),
            epoch_ns: properties.epoch_ns.unwrap_or_default().into(),
        }
    }
}

/// Seconds from the epoch to the years between which a tick is taken for a time since the epoch: 2000 and 2100.
const EPOCH_SECONDS: std::ops::Range<u64> = 946_684_800..4_102_444_800;

/// Returns the tick that is time zero: the offset of the run, unless its ticks count from the epoch already, as those
/// of TAU do.
fn origin(properties: ClockProperties) -> u64 {
    let seconds = properties.offset / properties.ticks_per_second;
    if properties.epoch_ns.is_none() && EPOCH_SECONDS.contains(&seconds) {
        0
    } else {
        properties.offset
    }
}

impl LocationClock {
    /// Returns the time of a tick. Between two offsets the difference is linear, and before the first and after the
    /// last the nearest interval continues. A single offset has no interval and is ignored.
    pub(crate) fn time(&mut self, tick: u64) -> TimeNs {
        let since = i128::from(tick) + self.offset(tick) - self.origin;
        let ns = (since * 1_000_000_000).div_euclid(self.ticks_per_second) + self.epoch_ns;
        let limit = i128::from(i64::MAX / 4);
        TimeNs(i64::try_from(ns.clamp(-limit, limit)).unwrap_or_default())
    }

    fn offset(&mut self, tick: u64) -> i128 {
        let last = self.offsets.len().saturating_sub(2);
        if self.offsets.len() < 2 {
            return 0;
        }
        // Times of a location never go back, so the interval is that of the last time or a later one.
        while self.interval < last && self.offsets[self.interval + 1].tick <= tick {
            self.interval += 1;
        }
        let (a, b) = (self.offsets[self.interval], self.offsets[self.interval + 1]);
        let length = i128::from(b.tick) - i128::from(a.tick);
        let change =
            (i128::from(b.offset) - i128::from(a.offset)) * (i128::from(tick) - i128::from(a.tick));
        // Rounded to the nearest tick.
        i128::from(a.offset) + (2 * change + length).div_euclid(2 * length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(offsets: &[(u64, i64)], properties: ClockProperties) -> LocationClock {
        let offsets = offsets
            .iter()
            .map(|&(tick, offset)| ClockOffset { tick, offset });
        let definitions = LocalDefinitions {
            offsets: offsets.collect(),
            ..LocalDefinitions::default()
        };
        definitions.clock(properties)
    }

    #[test]
    fn offsets_are_linear_between_and_beyond_their_times() {
        let mut clock = clock(&[(0, 100), (2_000, 300)], ClockProperties::default());
        let times = [1_000, 2_000, 4_000].map(|tick| clock.time(tick).0);
        assert_eq!(times, [1_200, 2_300, 4_500]);
        let mut single = self::clock(&[(0, 100)], ClockProperties::default());
        assert_eq!(single.time(7), TimeNs(7));
    }

    #[test]
    fn time_begins_at_the_offset_of_the_run_or_at_the_epoch() {
        let properties = |offset, epoch_ns| ClockProperties {
            ticks_per_second: 1_000_000,
            offset,
            epoch_ns,
        };
        let time = |tick, properties| clock(&[], properties).time(tick).0;
        assert_eq!(time(7_000_003, properties(7_000_000, None)), 3_000);
        assert_eq!(time(7_000_003, properties(7_000_000, Some(5))), 3_005);
        let now = 1_795_231_714_867_958;
        assert_eq!(
            time(now + 1, properties(now, None)),
            (now.cast_signed() + 1) * 1_000
        );
        assert_eq!(time(u64::MAX, properties(0, None)), i64::MAX / 4);
    }

    #[test]
    fn ids_without_an_entry_are_those_of_the_run() {
        let mut map = IdMap::default();
        for (local, global) in [(3, 30), (1, 10), (900_000, 5)] {
            map.insert(local, global);
        }
        let ids = [0, 1, 2, 3, 4, 900_000].map(|local| map.global(local));
        assert_eq!(ids, [0, 10, 2, 30, 4, 5]);
    }
}
