//! The clocks of a trace, and conversion of times between them.
//!
//! A snapshot has the readings of several clocks at one moment. Between two snapshots a clock is interpolated; before
//! the first and after the last it runs as fast as the other.
//!
//! Source: `protos/perfetto/trace/clock_snapshot.proto` of Perfetto.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::proto::{BadField, FieldValue, FieldWalk};

/// The clock that has times since the epoch.
pub(crate) const REALTIME: u64 = 1;
/// The clock of times in events of old writers, which state microseconds.
pub(crate) const MONOTONIC: u64 = 3;
/// The clock of times without a stated clock.
pub(crate) const BOOTTIME: u64 = 6;
/// The first clock that belongs to one sequence.
const FIRST_OF_SEQUENCE: u64 = 64;
/// The last clock that belongs to one sequence.
const LAST_OF_SEQUENCE: u64 = 127;
/// Maximum number of clocks of a trace. The system has ten, and each device one.
const MAX_CLOCKS: usize = 64;
/// Maximum number of snapshots that are kept. The tracer takes one each ten seconds.
const MAX_SNAPSHOTS: usize = 100_000;

/// A time as its packet states it: nanoseconds of a clock of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClockStamp {
    pub(crate) clock: u64,
    pub(crate) time_ns: i64,
}

/// The reading of a clock in a snapshot.
#[derive(Clone, Copy, Debug)]
struct ClockReading {
    clock: u64,
    /// In nanoseconds.
    time_ns: i64,
    /// In units of the clock.
    units: i64,
    unit_ns: i64,
    is_incremental: bool,
}

/// A clock of a sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SequenceClock {
    base: ClockStamp,
    /// The reading at the base, and that of the last packet if times are differences.
    units_at_base: i64,
    last_units: i64,
    unit_ns: i64,
    is_incremental: bool,
}

/// The clocks of a trace.
#[derive(Debug, Default)]
pub(crate) struct TraceClocks {
    /// Readings of each snapshot, of the clocks of the trace: clock and nanoseconds.
    snapshots: Vec<Vec<(u64, i64)>>,
    units_ns: BTreeMap<u64, i64>,
    primary: Option<u64>,
    known: BTreeSet<u64>,
    /// The clock of the last packet.
    last: Option<u64>,
}

/// A path from one clock to another: the readings of both, in order, for each clock on the path.
#[derive(Debug, Default)]
pub(crate) struct ClockPath {
    hops: Vec<Vec<(i64, i64)>>,
}

/// Returns whether a clock belongs to one sequence.
pub(crate) fn is_of_sequence(clock: u64) -> bool {
    (FIRST_OF_SEQUENCE..=LAST_OF_SEQUENCE).contains(&clock)
}

impl SequenceClock {
    /// Returns the time of a packet that states `units`.
    pub(crate) fn at(&mut self, units: i64) -> ClockStamp {
        let units = if self.is_incremental {
            self.last_units = self.last_units.saturating_add(units);
            self.last_units
        } else {
            units
        };
        let since_base = units
            .saturating_sub(self.units_at_base)
            .saturating_mul(self.unit_ns);
        ClockStamp {
            clock: self.base.clock,
            time_ns: self.base.time_ns.saturating_add(since_base),
        }
    }
}

impl TraceClocks {
    /// Processes a snapshot, and gives a sequence its clocks.
    ///
    /// # Errors
    /// [`BadField`].
    pub(crate) fn take_in(
        &mut self,
        snapshot: &[u8],
        of_sequence: &mut BTreeMap<u64, SequenceClock>,
    ) -> Result<(), BadField> {
        let mut readings = Vec::new();
        for field in FieldWalk::of(snapshot) {
            match field? {
                (1, FieldValue::Bytes(reading)) => readings.extend(ClockReading::of(reading)?),
                (2, FieldValue::Varint(clock)) if clock != 0 => self.primary = Some(clock),
                _ => {}
            }
        }
        let (own, mut shared): (Vec<_>, Vec<_>) = readings
            .into_iter()
            .partition(|it| is_of_sequence(it.clock));
        shared.retain(|it| self.is_known(it.clock));
        let primary = self.primary();
        let base = shared.iter().find(|it| it.clock == primary);
        if let Some(base) = base.or(shared.first()) {
            let base = ClockStamp {
                clock: base.clock,
                time_ns: base.time_ns,
            };
            of_sequence.extend(own.iter().map(|it| (it.clock, it.of_sequence(base))));
        }
        for reading in &shared {
            if reading.unit_ns != 1 {
                self.units_ns.insert(reading.clock, reading.unit_ns);
            }
        }
        if shared.len() > 1 && self.snapshots.len() < MAX_SNAPSHOTS {
            let shared = shared.iter().map(|it| (it.clock, it.time_ns));
            self.snapshots.push(shared.collect());
        }
        Ok(())
    }

    /// Returns whether a clock is one of those that are kept; new ones are until there are too many.
    fn is_known(&mut self, clock: u64) -> bool {
        self.known.contains(&clock) || (self.known.len() < MAX_CLOCKS && self.known.insert(clock))
    }

    /// Returns the time of a packet that states `units` of a clock of the trace, or `None` if there are too many
    /// clocks.
    #[inline]
    pub(crate) fn at(&mut self, clock: u64, units: i64) -> Option<ClockStamp> {
        if self.last != Some(clock) {
            if !self.is_known(clock) {
                return None;
            }
            self.last = Some(clock);
        }
        if self.units_ns.is_empty() {
            let time_ns = units;
            return Some(ClockStamp { clock, time_ns });
        }
        let unit_ns = self.units_ns.get(&clock).copied().unwrap_or(1);
        let time_ns = units.saturating_mul(unit_ns);
        Some(ClockStamp { clock, time_ns })
    }

    /// Returns the clock of times without a stated clock.
    pub(crate) fn primary(&self) -> u64 {
        self.primary.unwrap_or(BOOTTIME)
    }

    /// Returns the path from a clock to times since the epoch if a snapshot has these, else to the primary clock; the
    /// times are unchanged if the snapshots give no path. A path to times since the epoch ends with one constant, so
    /// that durations are those of the primary clock. `first` is a time of the trace: a writer that states times since
    /// the epoch as those of another clock is recognized by it.
    pub(crate) fn path_from(&self, clock: u64, first: Option<ClockStamp>) -> ClockPath {
        if clock == REALTIME {
            return ClockPath::default();
        }
        let primary = self.primary();
        let mut path = self.path(clock, primary).unwrap_or_default();
        let to_epoch = self.pairs(primary, REALTIME).into_iter().next();
        if let Some((own, epoch)) = to_epoch
            && primary != REALTIME
        {
            let is_epoch = |it: ClockStamp| it.time_ns.abs_diff(epoch) < it.time_ns.abs_diff(own);
            if !first.is_some_and(|it| it.clock == primary && is_epoch(it)) {
                path.hops.push(vec![(own, epoch)]);
            }
        }
        path
    }

    /// Returns the shortest path from one clock to another.
    fn path(&self, from: u64, to: u64) -> Option<ClockPath> {
        let mut before = BTreeMap::from([(from, from)]);
        let mut next = VecDeque::from([from]);
        while let Some(clock) = next.pop_front() {
            if clock == to {
                break;
            }
            let with_it = self.snapshots.iter().filter(|it| has(it, clock));
            for &(other, _) in with_it.flatten() {
                before.entry(other).or_insert_with(|| {
                    next.push_back(other);
                    clock
                });
            }
        }
        let mut hops = Vec::new();
        let mut clock = to;
        while clock != from {
            let previous = *before.get(&clock)?;
            hops.push(self.pairs(previous, clock));
            clock = previous;
        }
        hops.reverse();
        Some(ClockPath { hops })
    }

    /// Returns the readings of two clocks in the same snapshots, of which both increase.
    fn pairs(&self, from: u64, to: u64) -> Vec<(i64, i64)> {
        let reading = |snapshot: &[(u64, i64)], clock| {
            let found = snapshot.iter().find(|it| it.0 == clock);
            found.map(|it| it.1)
        };
        let mut pairs: Vec<(i64, i64)> = Vec::new();
        for snapshot in &self.snapshots {
            if let (Some(own), Some(other)) = (reading(snapshot, from), reading(snapshot, to))
                && pairs.last().is_none_or(|it| it.0 < own && it.1 < other)
            {
                pairs.push((own, other));
            }
        }
        pairs
    }
}

fn has(snapshot: &[(u64, i64)], clock: u64) -> bool {
    snapshot.iter().any(|it| it.0 == clock)
}

impl ClockPath {
    /// Returns the time at the end of the path, in nanoseconds.
    pub(crate) fn apply(&self, time_ns: i64) -> i64 {
        self.hops
            .iter()
            .fold(time_ns, |time, pairs| hop(pairs, time))
    }
}

fn hop(pairs: &[(i64, i64)], time_ns: i64) -> i64 {
    let next = pairs.partition_point(|it| it.0 <= time_ns);
    let (before, after) = (
        next.checked_sub(1).and_then(|it| pairs.get(it)),
        pairs.get(next),
    );
    match (before, after) {
        (Some(&(own, other)), Some(&(own_after, other_after))) => {
            let [own, other, own_after, other_after, time] =
                [own, other, own_after, other_after, time_ns].map(i128::from);
            let since = (time - own) * (other_after - other) / (own_after - own);
            i64::try_from(other + since).unwrap_or(i64::MAX)
        }
        (Some(&(own, other)), None) | (None, Some(&(own, other))) => {
            time_ns.saturating_sub(own).saturating_add(other)
        }
        (None, None) => time_ns,
    }
}

impl ClockReading {
    /// Returns `None` if a number is out of range.
    fn of(bytes: &[u8]) -> Result<Option<Self>, BadField> {
        let (mut clock, mut units, mut unit, mut is_incremental) = (0, 0, 1, false);
        for field in FieldWalk::of(bytes) {
            match field? {
                (1, FieldValue::Varint(value)) => clock = value,
                (2, FieldValue::Varint(value)) => units = value,
                (3, FieldValue::Varint(value)) => is_incremental = value != 0,
                (4, FieldValue::Varint(value)) if value != 0 => unit = value,
                _ => {}
            }
        }
        let (Ok(units), Ok(unit_ns)) = (i64::try_from(units), i64::try_from(unit)) else {
            return Ok(None);
        };
        let reading = units.checked_mul(unit_ns).map(|time_ns| Self {
            clock,
            time_ns,
            units,
            unit_ns,
            is_incremental,
        });
        Ok(reading)
    }

    fn of_sequence(&self, base: ClockStamp) -> SequenceClock {
        SequenceClock {
            base,
            units_at_base: self.units,
            last_units: self.units,
            unit_ns: self.unit_ns,
            is_incremental: self.is_incremental,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(snapshots: &[&[(u64, i64)]]) -> TraceClocks {
        TraceClocks {
            snapshots: snapshots.iter().map(|it| it.to_vec()).collect(),
            ..TraceClocks::default()
        }
    }

    #[test]
    fn a_clock_is_interpolated_between_snapshots() {
        let clocks = clocks(&[&[(6, 1000), (128, 10)], &[(6, 3000), (128, 20)]]);
        let path = clocks.path_from(128, None);
        let times = [0, 10, 15, 20, 21].map(|it| path.apply(it));
        assert_eq!(times, [990, 1000, 2000, 3000, 3001]);
    }

    #[test]
    fn a_way_may_lead_over_other_clocks() {
        let clocks = clocks(&[&[(128, 5), (3, 100)], &[(3, 200), (6, 1200), (1, 9_000)]]);
        assert_eq!(clocks.path_from(128, None).apply(6), 9_000 - 99);
        assert_eq!(clocks.path_from(6, None).apply(1201), 9_001);
        assert_eq!(clocks.path_from(1, None).apply(7), 7);
        assert_eq!(clocks.path_from(99, None).apply(7), 7 + 7_800);
    }

    #[test]
    fn times_since_the_epoch_that_are_stated_as_another_clock_stay() {
        let clocks = clocks(&[&[(6, 1_000), (1, 1_700_000)]]);
        let first = |time_ns| Some(ClockStamp { clock: 6, time_ns });
        let time = |first| clocks.path_from(6, first).apply(1_700_100);
        assert_eq!(time(first(1_700_050)), 1_700_100);
        assert_eq!(time(first(1_050)), 1_700_100 + 1_699_000);
    }
}
