//! From rows of numbers to events; invalid rows are left out and counted.
//!
//! Function events, which are most, are made row by row in one pass. Arrays that become columns are gone through once to
//! see whether every row can be, which is the usual case, then once per column.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use callgrove_model::{
    CommEvents, CommKind, CounterEvents, FuncEvent, FuncEventKind, FuncEvents, FuncId, Name,
    RankId, ThreadId, TimeNs, WarningKind, Warnings,
};

use super::order;
use super::schema::{AnnouncedNames, Counts, EventType, IndexedNames};

/// Columns of a function event: program, rank, thread, event type, timer, time in µs.
pub(super) const FUNC_COLUMNS: usize = 6;
/// Columns of a counter sample: program, rank, thread, counter, value, time in µs.
pub(super) const COUNTER_COLUMNS: usize = 6;
/// Columns of a message: program, rank, thread, event type, tag, partner, bytes, time in µs.
pub(super) const COMM_COLUMNS: usize = 8;

/// No program has as many names; a damaged count may say so.
const MAX_PLACEHOLDER_INDEX: u32 = 1 << 20;

/// Stands where a row is none until it is left out.
const NO_EVENT: FuncEvent = FuncEvent {
    time: TimeNs(0),
    func: FuncId(0),
    row: 0,
    thread: ThreadId(0),
    kind: FuncEventKind::Exit,
};

/// What the rows of one step of one rank may hold.
pub(super) struct Decoder<'a> {
    pub(super) rank: RankId,
    pub(super) step: u32,
    pub(super) counts: &'a Counts,
    pub(super) names: &'a mut AnnouncedNames,
    pub(super) warnings: &'a mut Warnings,
}

impl Decoder<'_> {
    pub(super) fn funcs(&mut self, rows: &[[u64; FUNC_COLUMNS]]) -> FuncEvents {
        if let Some(unnamed) = self.names.timers.unnamed(self.counts.timers) {
            self.add_placeholders("timer", used(rows, 4, &unnamed), |names| &mut names.timers);
        }
        let (ids, bounds) = (&self.names.timers.ids, self.bounds());
        let kinds = self.names.event_types.iter();
        let kinds: Vec<Option<FuncEventKind>> = kinds.map(|it| it.and_then(func_kind)).collect();
        let event = |(place, row): (u32, &[u64; FUNC_COLUMNS])| {
            bounds.has(row).then_some(FuncEvent {
                time: TimeNs::from_us(row[5])?,
                func: known(ids, row[4])?,
                row: place,
                thread: thread(row),
                kind: known(&kinds, row[3])?,
            })
        };
        // Nearly always every row is an event: then nothing is asked of each but that.
        let mut are_valid = true;
        let all = (0..).zip(rows).map(|row| {
            event(row).unwrap_or_else(|| {
                are_valid = false;
                NO_EVENT
            })
        });
        let mut events: FuncEvents = all.collect();
        if !are_valid {
            events = (0..).zip(rows).filter_map(event).collect();
        }
        let num_invalid = rows.len() - events.len();
        let in_place = (0..)
            .zip(events.iter())
            .take_while(|(at, event)| *at == event.row);
        let first_invalid = if num_invalid > 0 { in_place.count() } else { 0 };
        self.count_invalid("event_timestamps", num_invalid, first_invalid);
        let displaced = order::mend(&mut events);
        if let Some(first) = displaced.first() {
            let place = || format!("row {} of step {}", events[*first].row, self.step);
            self.warnings.count_many(
                WarningKind::TimeWentBack,
                Some(self.rank),
                displaced.len() as u64,
                place,
            );
        }
        events
    }

    pub(super) fn counters(&mut self, rows: &[[u64; COUNTER_COLUMNS]]) -> CounterEvents {
        if let Some(unnamed) = self.names.counters.unnamed(self.counts.counters) {
            self.add_placeholders("counter", used(rows, 3, &unnamed), |names| {
                &mut names.counters
            });
        }
        let (ids, bounds) = (&self.names.counters.ids, self.bounds());
        let is_valid = |row: &[u64; COUNTER_COLUMNS]| {
            bounds.has(row) && known(ids, row[3]).is_some() && is_time(row[5])
        };
        let (rows, num_invalid, first_invalid) = valid_rows(rows, is_valid);
        let events = CounterEvents {
            thread: rows.iter().map(thread).collect(),
            counter: rows
                .iter()
                .map(|row| known(ids, row[3]).unwrap_or_default())
                .collect(),
            value: rows.iter().map(|row| row[4]).collect(),
            time: rows.iter().map(|row| time(row[5])).collect(),
        };
        self.count_invalid("counter_values", num_invalid, first_invalid);
        events
    }

    pub(super) fn comms(&mut self, rows: &[[u64; COMM_COLUMNS]]) -> CommEvents {
        let bounds = self.bounds();
        let kind = |row: &[u64; COMM_COLUMNS]| match known(&self.names.event_types, row[3])? {
            EventType::Send => Some(CommKind::Send),
            EventType::Recv => Some(CommKind::Recv),
            _ => None,
        };
        let num_partners = self.counts.ranks.map_or(1 << 32, u64::from);
        let is_valid = |row: &[u64; COMM_COLUMNS]| {
            bounds.has(row) && kind(row).is_some() && row[5] < num_partners && is_time(row[7])
        };
        let (rows, num_invalid, first_invalid) = valid_rows(rows, is_valid);
        let events = CommEvents {
            thread: rows.iter().map(thread).collect(),
            kind: rows
                .iter()
                .map(|row| kind(row).unwrap_or(CommKind::Recv))
                .collect(),
            tag: rows.iter().map(|row| row[4]).collect(),
            partner: rows.iter().map(|row| RankId(row[5] as u32)).collect(),
            size_bytes: rows.iter().map(|row| row[6]).collect(),
            time: rows.iter().map(|row| time(row[7])).collect(),
        };
        self.count_invalid("comm_timestamps", num_invalid, first_invalid);
        events
    }

    fn bounds(&self) -> LaneBounds {
        let num_threads = self.counts.threads.map_or(1 << 32, u64::from);
        LaneBounds {
            rank: u64::from(self.rank.0),
            num_threads,
        }
    }

    /// Gives placeholder names to indices that were announced by number but not by name, so that their rows count.
    fn add_placeholders<Id: Name>(
        &mut self,
        what: &str,
        indices: BTreeSet<usize>,
        names: impl Fn(&mut AnnouncedNames) -> &mut IndexedNames<Id>,
    ) {
        for index in indices {
            if names(self.names).name_if_unnamed(index, &format!("{what} {index}")) {
                let step = self.step;
                let place = || format!("{what} {index} in step {step}");
                self.warnings
                    .count(WarningKind::UnknownName, Some(self.rank), place);
            }
        }
    }

    fn count_invalid(&mut self, array: &str, num_invalid: usize, first_invalid: usize) {
        if num_invalid > 0 {
            let place = || format!("row {first_invalid} of {array} in step {}", self.step);
            let (kind, rank) = (WarningKind::BadRow, Some(self.rank));
            self.warnings
                .count_many(kind, rank, num_invalid as u64, place);
        }
    }
}

/// The rank and threads that rows must name. TAU's plugin knows one program only.
#[derive(Clone, Copy)]
struct LaneBounds {
    rank: u64,
    num_threads: u64,
}

impl LaneBounds {
    fn has<const N: usize>(self, row: &[u64; N]) -> bool {
        row[0] == 0 && row[1] == self.rank && row[2] < self.num_threads
    }
}

/// The valid rows, how many are not, and where the first of those stands.
fn valid_rows<const N: usize>(
    rows: &[[u64; N]],
    is_valid: impl Fn(&[u64; N]) -> bool,
) -> (Cow<'_, [[u64; N]]>, usize, usize) {
    let Some(first_invalid) = rows.iter().position(|row| !is_valid(row)) else {
        return (Cow::Borrowed(rows), 0, 0);
    };
    let valid: Vec<_> = rows.iter().filter(|row| is_valid(row)).copied().collect();
    let num_invalid = rows.len() - valid.len();
    (Cow::Owned(valid), num_invalid, first_invalid)
}

/// The indices in a column that fall into a range.
fn used<const N: usize>(rows: &[[u64; N]], column: usize, range: &Range<u64>) -> BTreeSet<usize> {
    rows.iter()
        .map(|row| row[column])
        .filter(|index| range.contains(index))
        .map(|index| index as usize)
        .collect()
}

fn func_kind(event_type: EventType) -> Option<FuncEventKind> {
    match event_type {
        EventType::Entry => Some(FuncEventKind::Entry),
        EventType::Exit => Some(FuncEventKind::Exit),
        _ => None,
    }
}

fn thread<const N: usize>(row: &[u64; N]) -> ThreadId {
    ThreadId(row[2] as u32)
}

fn is_time(time_us: u64) -> bool {
    TimeNs::from_us(time_us).is_some()
}

fn time(time_us: u64) -> TimeNs {
    TimeNs::from_us(time_us).unwrap_or_default()
}

fn known<T: Copy>(slots: &[Option<T>], index: u64) -> Option<T> {
    *slots.get(usize::try_from(index).ok()?)?
}

impl<Id: Name> IndexedNames<Id> {
    /// The indices that were announced but may have no name; `None` if all have one.
    fn unnamed(&self, announced: u32) -> Option<Range<u64>> {
        let end = u64::from(announced.min(MAX_PLACEHOLDER_INDEX));
        let start = self
            .ids
            .iter()
            .position(Option::is_none)
            .unwrap_or(self.ids.len()) as u64;
        (start < end).then_some(start..end)
    }

    /// Names an index if it has no name; says whether it had none.
    fn name_if_unnamed(&mut self, index: usize, name: &str) -> bool {
        if self.ids.len() <= index {
            self.ids.resize(index + 1, None);
        }
        let is_unnamed = self.ids[index].is_none();
        if is_unnamed {
            self.ids[index] = Some(self.table.intern(name));
        }
        is_unnamed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: u64 = 1_795_231_715_233_145;

    /// Rank 3 with two threads, four ranks, the four event types in another order than usual, timers
    /// 0 and 2 named and 1 only announced, counter 0 named.
    fn check(run: impl Fn(&mut Decoder<'_>) -> Vec<String>) -> (Vec<String>, Vec<String>) {
        let counts = Counts {
            threads: Some(2),
            ranks: Some(4),
            timers: 3,
            counters: 1,
            event_types: 4,
        };
        let mut names = AnnouncedNames::default();
        names.event_types = [
            EventType::Recv,
            EventType::Send,
            EventType::Exit,
            EventType::Entry,
        ]
        .map(Some)
        .into();
        names.timers.name_if_unnamed(0, "main");
        names.timers.name_if_unnamed(2, "work");
        names.counters.name_if_unnamed(0, "TIME");
        let mut warnings = Warnings::default();
        let decoder = &mut Decoder {
            rank: RankId(3),
            step: 7,
            counts: &counts,
            names: &mut names,
            warnings: &mut warnings,
        };
        let events = run(decoder);
        let warnings = warnings
            .iter()
            .map(|w| format!("{:?} x{} {}", w.kind, w.count, w.first.place))
            .collect();
        (events, warnings)
    }

    fn funcs(rows: &[[u64; 6]]) -> (Vec<String>, Vec<String>) {
        check(|decoder| {
            let events = decoder.funcs(rows);
            let names = &decoder.names.timers.table;
            let line = |event: &FuncEvent| {
                let FuncEvent {
                    row, thread, kind, ..
                } = event;
                let (func, time_us) = (names.name(event.func), event.time.as_us() as u64 - T0);
                format!("{row} t{thread} {kind:?} {func} +{time_us}")
            };
            events.iter().map(line).collect()
        })
    }

    #[test]
    fn function_rows_become_events_in_stored_order() {
        let (events, warnings) = funcs(&[
            [0, 3, 0, 3, 0, T0],
            [0, 3, 0, 3, 2, T0],
            [0, 3, 0, 2, 2, T0 + 5],
            [0, 3, 1, 3, 0, T0 + 1],
        ]);
        assert_eq!(
            events,
            [
                "0 t0 Entry main +0",
                "1 t0 Entry work +0",
                "2 t0 Exit work +5",
                "3 t1 Entry main +1"
            ]
        );
        assert_eq!(warnings, [""; 0]);
    }

    #[test]
    fn impossible_function_rows_are_left_out_and_the_others_keep_their_row_numbers() {
        let good = [0, 3, 0, 3, 0, T0];
        for (column, bad) in [
            (0, 1),
            (1, 2),
            (2, 2),
            (3, 0),
            (3, 4),
            (4, 3),
            (4, u64::MAX),
            (5, u64::MAX),
        ] {
            let mut row = good;
            row[column] = bad;
            let (events, warnings) = funcs(&[good, row, good]);
            assert_eq!(
                events,
                ["0 t0 Entry main +0", "2 t0 Entry main +0"],
                "column {column} = {bad}"
            );
            assert_eq!(
                warnings,
                ["BadRow x1 row 1 of event_timestamps in step 7"],
                "column {column} = {bad}"
            );
        }
    }

    #[test]
    fn an_announced_timer_without_a_name_gets_one() {
        let (events, warnings) = funcs(&[[0, 3, 0, 3, 1, T0], [0, 3, 0, 2, 1, T0 + 2]]);
        assert_eq!(events, ["0 t0 Entry timer 1 +0", "1 t0 Exit timer 1 +2"]);
        assert_eq!(warnings, ["UnknownName x1 timer 1 in step 7"]);
    }

    #[test]
    fn impossible_message_and_counter_rows_are_left_out() {
        let (comms, warnings) = check(|decoder| {
            let rows = [
                [0, 3, 0, 1, 5, 0, 64, T0],
                [0, 3, 0, 3, 5, 0, 64, T0],
                [0, 3, 0, 0, 5, 4, 64, T0],
                [0, 3, 1, 0, 6, 2, 16, T0 + 1],
            ];
            let comms = decoder.comms(&rows);
            (0..comms.len())
                .map(|row| {
                    format!(
                        "{:?} tag {} with {}",
                        comms.kind[row], comms.tag[row], comms.partner[row]
                    )
                })
                .collect()
        });
        assert_eq!(comms, ["Send tag 5 with 0", "Recv tag 6 with 2"]);
        assert_eq!(warnings, ["BadRow x2 row 1 of comm_timestamps in step 7"]);

        let (counters, warnings) = check(|decoder| {
            let counters = decoder.counters(&[[0, 3, 0, 0, 8, T0], [0, 3, 0, 1, 8, T0]]);
            counters.value.iter().map(u64::to_string).collect()
        });
        assert_eq!(counters, ["8"]);
        assert_eq!(warnings, ["BadRow x1 row 1 of counter_values in step 7"]);
    }

    #[test]
    fn two_timers_of_one_name_are_one_function() {
        let mut names = IndexedNames::<FuncId>::default();
        names.name_if_unnamed(0, "work");
        names.name_if_unnamed(1, "work");
        assert_eq!(names.ids, [Some(FuncId(0)), Some(FuncId(0))]);
    }
}
