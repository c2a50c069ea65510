//! Decodes rows of numbers to events. Invalid rows are left out and counted.
//!
//! Function events, which are most, are decoded row by row in one pass. Arrays that become columns are scanned once to
//! check whether every row is valid, the usual case, and then once per column. Rows arrive in chunks that are still in
//! a worker's caches.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use callgrove_model::{
    CommKind, FuncEvent, FuncEventKind, FuncEvents, FuncId, Name, ProgramId, RankId, StepBatch,
    ThreadId, TimeNs, WarningKind, Warnings,
};

use super::order::{self, TimeOrder};
use super::other_ranks::{OtherRanks, RowOwner};
use super::run_clock::RunClock;
use super::schema::{AnnouncedNames, Counts, EventType, FUNC_ROW_COUNT, IndexedNames};

/// Columns of a function event: program, rank, thread, event type, timer, time in µs.
pub(super) const FUNC_COLUMNS: usize = 6;
/// Columns of a counter sample: program, rank, thread, counter, value, time in µs.
pub(super) const COUNTER_COLUMNS: usize = 6;
/// Columns of a message: program, rank, thread, event type, tag, partner, bytes, time in µs.
pub(super) const COMM_COLUMNS: usize = 8;

/// The arrays of a step: the variable with the number of their rows, their name, and their number of columns, of which
/// the last is the time.
pub(crate) const ARRAYS: [(&str, &str, usize); 3] = [
    (FUNC_ROW_COUNT, "event_timestamps", FUNC_COLUMNS),
    ("counter_event_count", "counter_values", COUNTER_COLUMNS),
    ("comm_count", "comm_timestamps", COMM_COLUMNS),
];

/// Index of the function events in [`ARRAYS`].
const FUNCS: usize = 0;
/// Index of the counter samples in [`ARRAYS`].
const COUNTERS: usize = 1;
/// Index of the messages in [`ARRAYS`].
const COMMS: usize = 2;

/// Maximum number of names that get a placeholder. No program has that many, but a damaged count may.
const MAX_PLACEHOLDER_INDEX: u32 = 1 << 20;

/// Decodes the rows of one step of one rank: the values that they may have, and the events so far.
pub(super) struct Decoder<'a> {
    pub(super) batch: StepBatch,
    /// The index of the program in the rows.
    pub(super) program: ProgramId,
    /// The rank; while it is `None`, the first function events state it.
    pub(super) rank: Option<RankId>,
    /// The rank in the stream's name, which is used if there are rows of it.
    pub(super) rank_in_name: Option<RankId>,
    /// The other ranks that the stream has rows of.
    pub(super) others: &'a mut OtherRanks,
    pub(super) clock: &'a mut RunClock,
    pub(super) counts: &'a Counts,
    pub(super) names: &'a mut AnnouncedNames,
    pub(super) warnings: &'a mut Warnings,
    /// The order of the function events.
    pub(super) order: TimeOrder,
    /// By array: the number of invalid rows, and the index of the first.
    pub(super) invalid: [(usize, usize); ARRAYS.len()],
}

impl Decoder<'_> {
    /// Reserves memory for the given number of rows of an array.
    pub(super) fn reserve(&mut self, array: usize, num_rows: usize) {
        if array == FUNCS {
            self.batch.funcs.reserve_exact(num_rows);
        }
    }

    /// Decodes rows of an array, the first of which has the index `first` in it.
    pub(super) fn take(&mut self, array: usize, first: usize, rows: &[u64]) {
        match array {
            FUNCS => self.take_funcs(first, rows.as_chunks().0),
            COUNTERS => self.take_counters(first, rows.as_chunks().0),
            _ => self.take_comms(first, rows.as_chunks().0),
        }
    }

    /// Returns the rank, if it is known, and its events in the step.
    pub(super) fn finish(mut self, are_others_lost: bool) -> (Option<RankId>, StepBatch) {
        let (step, rank) = (self.batch.step, self.rank);
        for ((_, array, _), (num_invalid, first_invalid)) in ARRAYS.iter().zip(self.invalid) {
            if num_invalid > 0 {
                let place = || format!("row {first_invalid} of {array} in step {step}");
                let count = num_invalid as u64;
                self.warnings
                    .count_many(WarningKind::BadRow, rank, count, place);
            }
        }
        let num_others = self.others.take_num_rows();
        if are_others_lost {
            self.count_others(num_others);
        }
        let (num_off, first) = self.clock.mend(&mut self.batch, self.order.went_back);
        let place = || match first {
            Some(first) => format!("row {} of step {step}", self.batch.funcs[first].row()),
            None => format!("step {step}"),
        };
        let (kind, count) = (WarningKind::ImpossibleTime, num_off as u64);
        self.warnings.count_many(kind, rank, count, place);
        if self.order.went_back {
            let funcs = &mut self.batch.funcs;
            let displaced = order::mend(funcs);
            if let Some(first) = displaced.first() {
                let place = || format!("row {} of step {step}", funcs[*first].row());
                let count = displaced.len() as u64;
                self.warnings
                    .count_many(WarningKind::TimeWentBack, rank, count, place);
            }
        }
        self.batch.rank = rank.unwrap_or_default();
        (rank, self.batch)
    }

    fn count_others(&mut self, num_rows: u64) {
        let step = self.batch.step;
        if let Some(RowOwner { program, rank }) = self.others.first() {
            let place = || {
                let which = format!("rank {rank} of program {program} in step {step}");
                format!("{which}; give each rank a stream of its own (TAU_ADIOS2_ONE_FILE=0)")
            };
            let kind = WarningKind::OtherRank;
            self.warnings.count_many(kind, self.rank, num_rows, place);
        }
    }

    fn take_funcs(&mut self, first: usize, rows: &[[u64; FUNC_COLUMNS]]) {
        if self.rank.is_none() {
            let ranks = || rows.iter().filter_map(|row| u32::try_from(row[1]).ok());
            let named = self
                .rank_in_name
                .filter(|rank| ranks().any(|it| it == rank.0));
            self.rank = named.or_else(|| ranks().next().map(RankId));
        }
        if let Some(unnamed) = self.names.timers.unnamed(self.counts.timers) {
            self.add_placeholders("timer", used(rows, 4, &unnamed), |names| &mut names.timers);
        }
        let kinds = self.names.event_types.iter();
        let kinds: Vec<Option<FuncEventKind>> = kinds.map(|it| it.and_then(func_kind)).collect();
        let mut at = 0;
        while let Some(row) = rows.get(at) {
            let num_taken = self.take_thread_rows(first + at, &rows[at..], row[2], &kinds);
            if num_taken > 0 {
                at += num_taken;
                continue;
            }
            let num_others = self
                .others
                .take(&rows[at..], self.owner(), self.counts.ranks);
            if num_others == 0 {
                self.note_invalid(FUNCS, 1, first + at);
            }
            at += num_others.max(1);
        }
    }

    /// Decodes events of one thread up to the first row of another, and returns their number.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "FuncEvent::MAX_ROWS at most"
    )]
    fn take_thread_rows(
        &mut self,
        first: usize,
        rows: &[[u64; FUNC_COLUMNS]],
        thread: u64,
        kinds: &[Option<FuncEventKind>],
    ) -> usize {
        let bounds = self.bounds();
        let Some(of_thread) = bounds.thread(thread) else {
            return 0;
        };
        let decoder = ThreadRowDecoder {
            program: bounds.program,
            rank: bounds.rank,
            thread: of_thread,
            kinds,
            ids: &self.names.timers.ids,
        };
        let before = self.order.newest(of_thread);
        let (num_taken, newest, went_back) =
            decoder.decode(first as u32, rows, before, &mut self.batch.funcs);
        if num_taken > 0 {
            self.order.note(of_thread, newest, went_back);
        }
        num_taken
    }

    fn take_counters(&mut self, first: usize, rows: &[[u64; COUNTER_COLUMNS]]) {
        if let Some(unnamed) = self.names.counters.unnamed(self.counts.counters) {
            self.add_placeholders("counter", used(rows, 3, &unnamed), |names| {
                &mut names.counters
            });
        }
        let (ids, bounds, others) = (&self.names.counters.ids, self.bounds(), &self.others);
        let is_valid = |row: &[u64; COUNTER_COLUMNS]| {
            bounds.has(row) && known(ids, row[3]).is_some() && is_time(row[5])
        };
        let (rows, num_invalid, first_invalid) = valid_rows(rows, is_valid, |row| others.has(row));
        let (rows, events) = (rows.iter(), &mut self.batch.counters);
        let counters = rows.clone().map(|row| known(ids, row[3]));
        events.thread.extend(rows.clone().map(thread));
        events
            .counter
            .extend(counters.map(Option::unwrap_or_default));
        events.value.extend(rows.clone().map(|row| row[4]));
        events.time.extend(rows.map(|row| time(row[5])));
        self.note_invalid(COUNTERS, num_invalid, first + first_invalid);
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "partners are valid below 2³²"
    )]
    fn take_comms(&mut self, first: usize, rows: &[[u64; COMM_COLUMNS]]) {
        let (bounds, others) = (self.bounds(), &self.others);
        let kind = |row: &[u64; COMM_COLUMNS]| match known(&self.names.event_types, row[3])? {
            EventType::Send => Some(CommKind::Send),
            EventType::Recv => Some(CommKind::Recv),
            _ => None,
        };
        let num_partners = self.counts.ranks.map_or(1 << 32, u64::from);
        let is_valid = |row: &[u64; COMM_COLUMNS]| {
            bounds.has(row) && kind(row).is_some() && row[5] < num_partners && is_time(row[7])
        };
        let (rows, num_invalid, first_invalid) = valid_rows(rows, is_valid, |row| others.has(row));
        let (rows, events) = (rows.iter(), &mut self.batch.comms);
        let kinds = rows.clone().map(|row| kind(row).unwrap_or(CommKind::Recv));
        let partners = rows.clone().map(|row| RankId(row[5] as u32));
        events.thread.extend(rows.clone().map(thread));
        events.kind.extend(kinds);
        events.tag.extend(rows.clone().map(|row| row[4]));
        events.partner.extend(partners);
        events.size_bytes.extend(rows.clone().map(|row| row[6]));
        events.time.extend(rows.map(|row| time(row[7])));
        self.note_invalid(COMMS, num_invalid, first + first_invalid);
    }

    fn note_invalid(&mut self, array: usize, num_invalid: usize, first_invalid: usize) {
        let invalid = &mut self.invalid[array];
        if invalid.0 == 0 {
            invalid.1 = first_invalid;
        }
        invalid.0 += num_invalid;
    }

    fn owner(&self) -> RowOwner {
        let (program, rank) = (self.program, self.rank.unwrap_or_default());
        RowOwner { program, rank }
    }

    fn bounds(&self) -> LaneBounds {
        let num_threads = self.counts.threads.map_or(1 << 32, u64::from);
        LaneBounds {
            program: self.program.0.into(),
            rank: u64::from(self.rank.unwrap_or_default().0),
            num_threads,
        }
    }

    /// Gives placeholder names to indices that were announced by number but not by name, so that their rows are kept.
    fn add_placeholders<Id: Name>(
        &mut self,
        what: &str,
        indices: BTreeSet<usize>,
        names: impl Fn(&mut AnnouncedNames) -> &mut IndexedNames<Id>,
    ) {
        for index in indices {
            if names(self.names).name_if_unnamed(index, &format!("{what} {index}")) {
                let step = self.batch.step;
                let place = || format!("{what} {index} in step {step}");
                self.warnings
                    .count(WarningKind::UnknownName, self.rank, place);
            }
        }
    }
}

/// A decoder of function events of one thread, with the values that its rows may have.
struct ThreadRowDecoder<'a> {
    program: u64,
    rank: u64,
    thread: ThreadId,
    /// The kinds by event type; the next field has the ids by timer.
    kinds: &'a [Option<FuncEventKind>],
    ids: &'a [Option<FuncId>],
}

impl ThreadRowDecoder<'_> {
    /// Adds the events of the leading rows that belong to the thread; the first row has the index `first`. Returns the
    /// number of events, the time of the last one, and whether time went back, also relative to `newest`. A separate
    /// function, so that its variables fit into the registers.
    #[inline(never)]
    fn decode(
        &self,
        first: u32,
        rows: &[[u64; FUNC_COLUMNS]],
        mut newest: TimeNs,
        events: &mut FuncEvents,
    ) -> (usize, TimeNs, bool) {
        let Self {
            program: of_program,
            rank,
            thread,
            kinds,
            ids,
        } = *self;
        let (id, mut went_back) = (u64::from(thread.0), false);
        let event = |(place, row): (u32, &[u64; FUNC_COLUMNS])| {
            let [program, of_rank, of_thread, event_type, timer, time_us] = *row;
            if (program ^ of_program) | (of_rank ^ rank) | (of_thread ^ id) != 0 {
                return None;
            }
            let (kind, func) = (known(kinds, event_type)?, known(ids, timer)?);
            let time = TimeNs::from_us(time_us)?;
            went_back |= time < newest;
            newest = time;
            Some(FuncEvent::new(kind, func, time, place))
        };
        let num_before = events.len();
        let taken = (first..).zip(rows).map_while(event);
        events.extend(thread, taken);
        (events.len() - num_before, newest, went_back)
    }
}

/// The program, rank and threads that rows may state.
#[derive(Clone, Copy)]
struct LaneBounds {
    program: u64,
    rank: u64,
    num_threads: u64,
}

impl LaneBounds {
    /// Returns the thread with this number, if it is valid.
    fn thread(self, number: u64) -> Option<ThreadId> {
        let number = Some(number).filter(|it| *it < self.num_threads)?;
        u32::try_from(number).ok().map(ThreadId)
    }

    fn has<const N: usize>(self, row: &[u64; N]) -> bool {
        row[0] == self.program && row[1] == self.rank && row[2] < self.num_threads
    }
}

/// Returns the valid rows, the number of rows that are neither valid nor of other ranks, and the index of the first
/// such row.
fn valid_rows<const N: usize>(
    rows: &[[u64; N]],
    is_valid: impl Fn(&[u64; N]) -> bool,
    is_of_others: impl Fn(&[u64; N]) -> bool,
) -> (Cow<'_, [[u64; N]]>, usize, usize) {
    if rows.iter().all(&is_valid) {
        return (Cow::Borrowed(rows), 0, 0);
    }
    let valid: Vec<_> = rows.iter().filter(|row| is_valid(row)).copied().collect();
    let is_invalid = |row: &&[u64; N]| !is_valid(row) && !is_of_others(row);
    let num_invalid = rows.iter().filter(is_invalid).count();
    let first_invalid = rows.iter().position(|row| is_invalid(&row));
    (
        Cow::Owned(valid),
        num_invalid,
        first_invalid.unwrap_or_default(),
    )
}

/// Returns the indices in a column that fall into a range.
fn used<const N: usize>(rows: &[[u64; N]], column: usize, range: &Range<u64>) -> BTreeSet<usize> {
    rows.iter()
        .map(|row| row[column])
        .filter(|index| range.contains(index))
        .filter_map(|index| usize::try_from(index).ok())
        .collect()
}

fn func_kind(event_type: EventType) -> Option<FuncEventKind> {
    match event_type {
        EventType::Entry => Some(FuncEventKind::Entry),
        EventType::Exit => Some(FuncEventKind::Exit),
        _ => None,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "threads are valid below 2³²"
)]
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
    /// Returns the range of the indices that were announced but may have no name; `None` if all have one.
    fn unnamed(&self, announced: u32) -> Option<Range<u64>> {
        let end = u64::from(announced.min(MAX_PLACEHOLDER_INDEX));
        let start = self
            .ids
            .iter()
            .position(Option::is_none)
            .unwrap_or(self.ids.len()) as u64;
        (start < end).then_some(start..end)
    }

    /// Names an index if it has no name, and returns whether it had none.
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
    use callgrove_model::StepId;

    use super::*;

    const T0: u64 = 1_795_231_715_233_145;

    /// Decodes rows of an array, two at a time, and returns the events as `lines` writes them, and the warnings.
    ///
    /// The rank is 3 of 4, with two threads. The four event types have an unusual order. Timers 0 and 2 are named,
    /// timer 1 is only announced, and counter 0 is named.
    fn check<const N: usize>(
        array: usize,
        rows: &[[u64; N]],
        lines: impl Fn(&StepBatch, &AnnouncedNames) -> Vec<String>,
    ) -> (Vec<String>, Vec<String>) {
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
        let (mut others, mut clock) = Default::default();
        let mut decoder = Decoder {
            batch: StepBatch::empty(ProgramId(0), RankId(0), StepId(7)),
            program: ProgramId(0),
            others: &mut others,
            clock: &mut clock,
            rank: Some(RankId(3)),
            rank_in_name: None,
            counts: &counts,
            names: &mut names,
            warnings: &mut warnings,
            order: TimeOrder::default(),
            invalid: Default::default(),
        };
        for (first, rows) in (0..).step_by(2).zip(rows.chunks(2)) {
            decoder.take(array, first, rows.as_flattened());
        }
        let (rank, batch) = decoder.finish(true);
        assert_eq!((rank, batch.rank), (Some(RankId(3)), RankId(3)));
        let warnings = warnings
            .iter()
            .map(|w| format!("{:?} x{} {}", w.kind, w.count, w.first.place))
            .collect();
        (lines(&batch, &names), warnings)
    }

    fn funcs(rows: &[[u64; FUNC_COLUMNS]]) -> (Vec<String>, Vec<String>) {
        check(FUNCS, rows, |batch, names| {
            let names = &names.timers.table;
            let line = |(thread, event): (ThreadId, &FuncEvent)| {
                let (row, kind) = (event.row(), event.kind());
                let (func, time_us) = (
                    names.name(event.func),
                    event.time.as_us().cast_unsigned() - T0,
                );
                format!("{row} t{thread} {kind:?} {func} +{time_us}")
            };
            let segments = batch.funcs.segments();
            let events =
                segments.flat_map(|(thread, events)| events.iter().map(move |it| (thread, it)));
            events.map(line).collect()
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
        let rows = [
            [0, 3, 0, 1, 5, 0, 64, T0],
            [0, 3, 0, 3, 5, 0, 64, T0],
            [0, 3, 0, 0, 5, 4, 64, T0],
            [0, 3, 1, 0, 6, 2, 16, T0 + 1],
        ];
        let (comms, warnings) = check(COMMS, &rows, |batch, _| {
            let comms = &batch.comms;
            let line = |row| {
                let (kind, tag, partner): (CommKind, u64, RankId) =
                    (comms.kind[row], comms.tag[row], comms.partner[row]);
                format!("{kind:?} tag {tag} with {partner}")
            };
            (0..comms.len()).map(line).collect()
        });
        assert_eq!(comms, ["Send tag 5 with 0", "Recv tag 6 with 2"]);
        assert_eq!(warnings, ["BadRow x2 row 1 of comm_timestamps in step 7"]);

        let rows = [
            [0, 3, 0, 0, 8, T0],
            [0, 3, 0, 0, 9, T0],
            [0, 3, 0, 1, 8, T0],
        ];
        let (counters, warnings) = check(COUNTERS, &rows, |batch, _| {
            batch.counters.value.iter().map(u64::to_string).collect()
        });
        assert_eq!(counters, ["8", "9"]);
        assert_eq!(warnings, ["BadRow x1 row 2 of counter_values in step 7"]);
    }

    #[test]
    fn two_timers_of_one_name_are_one_function() {
        let mut names = IndexedNames::<FuncId>::default();
        names.name_if_unnamed(0, "work");
        names.name_if_unnamed(1, "work");
        assert_eq!(names.ids, [Some(FuncId(0)), Some(FuncId(0))]);
    }
}
