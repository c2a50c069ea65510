//! Mends function events whose times go back: displaced rows and damaged times.

use std::collections::BTreeMap;

use callgrove_model::{FuncEvent, FuncEventKind, FuncEvents, FuncId, ThreadId, TimeNs};

/// Number of rows of a thread for each row that may be displaced. More displaced rows suggest a clock that was set
/// back.
const ROWS_PER_DISPLACED: usize = 50;
/// Number of displaced rows that is always allowed.
const MIN_DISPLACED: usize = 2;
/// Maximum depth below the innermost call at which an exit is compared with the open calls.
const MAX_SEARCHED: usize = 64;

/// The order of the times on each thread of a step.
#[derive(Default)]
pub(super) struct TimeOrder {
    newest: BTreeMap<ThreadId, TimeNs>,
    pub(super) went_back: bool,
}

impl TimeOrder {
    /// Returns the newest time of a thread; before its first event, the smallest time.
    pub(super) fn newest(&self, thread: ThreadId) -> TimeNs {
        let newest = self.newest.get(&thread).copied();
        newest.unwrap_or(TimeNs(i64::MIN))
    }

    /// Records the events of a thread up to `newest`, and whether any of them was earlier than the one before.
    pub(super) fn note(&mut self, thread: ThreadId, newest: TimeNs, went_back: bool) {
        self.newest.insert(thread, newest);
        self.went_back |= went_back;
    }
}

/// Sorts the rows of each thread by time, if few of them are displaced or if calls nest only in that order. An
/// impossible time becomes that of the row before. Returns the indices in `events` of the rows that were out of order.
pub(super) fn mend(events: &mut FuncEvents) -> Vec<usize> {
    let mut threads: BTreeMap<ThreadId, Vec<usize>> = BTreeMap::new();
    let mut start = 0;
    for (thread, segment) in events.segments() {
        let places = start..start + segment.len();
        start = places.end;
        threads.entry(thread).or_default().extend(places);
    }
    let mut displaced = Vec::new();
    for places in threads.into_values() {
        if !places.is_sorted_by_key(|place| events[*place].time) {
            displaced.extend(mend_thread(events, &places));
        }
    }
    displaced.sort_unstable();
    displaced
}

fn mend_thread(events: &mut FuncEvents, places: &[usize]) -> Vec<usize> {
    let times: Vec<TimeNs> = places.iter().map(|place| events[*place].time).collect();
    let is_kept = longest_in_order(&times);
    let displaced: Vec<usize> = (0..places.len()).filter(|row| !is_kept[*row]).collect();
    let is_few = displaced.len() <= MIN_DISPLACED.max(places.len() / ROWS_PER_DISPLACED);
    if !is_few && !nest_by_time(events, places) {
        return Vec::new();
    }
    let mut in_order = (0..places.len()).filter(|row| is_kept[*row]);
    let (Some(first), last) = (in_order.next(), in_order.next_back()) else {
        return Vec::new();
    };
    let (start, end) = (times[first], times[last.unwrap_or(first)]);
    // The first or last row may be displaced, so times may exceed the range by its own length.
    let span = end.since(start);
    let possible = TimeNs(start.0.saturating_sub(span.0))..=TimeNs(end.0.saturating_add(span.0));
    let mut mended = times.clone();
    for row in 0..mended.len() {
        if !is_kept[row] && !possible.contains(&mended[row]) {
            mended[row] = row.checked_sub(1).map_or(start, |before| mended[before]);
        }
    }
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|row| mended[*row]);
    let stored: Vec<_> = places.iter().map(|place| events[*place]).collect();
    for (place, row) in places.iter().zip(order) {
        let mut event: FuncEvent = stored[row];
        event.time = mended[row];
        events[*place] = event;
    }
    displaced.into_iter().map(|row| places[row]).collect()
}

/// Returns whether the rows at these indices nest better in the order of their times than in the stored order, or as
/// well and no deeper. Rows of a clock that was set back nest in the stored order. In the order of their times, earlier
/// and later calls interleave.
fn nest_by_time(events: &FuncEvents, places: &[usize]) -> bool {
    let stored = || places.iter().map(|place| events[*place]);
    let mut by_time: Vec<FuncEvent> = stored().collect();
    by_time.sort_by_key(|event| event.time);
    let [by_time, stored] = [Nesting::of(by_time.into_iter()), Nesting::of(stored())];
    let is_whole = (by_time.num_broken, stored.num_broken) == (0, 0);
    by_time.num_broken < stored.num_broken || is_whole && by_time.deepest <= stored.deepest
}

/// The nesting of events. Calls that were open before them are unknown.
#[derive(Default)]
struct Nesting {
    /// Number of exits that do not belong to the innermost open call.
    num_broken: usize,
    /// Maximum number of calls that are open at once.
    deepest: usize,
}

impl Nesting {
    fn of(events: impl Iterator<Item = FuncEvent>) -> Self {
        let mut open: Vec<FuncId> = Vec::new();
        let mut nesting = Self::default();
        for event in events {
            if event.kind() == FuncEventKind::Entry {
                open.push(event.func);
                nesting.deepest = nesting.deepest.max(open.len());
                continue;
            }
            let mut from_innermost = open.iter().rev().take(MAX_SEARCHED);
            let above = from_innermost.position(|func| *func == event.func);
            nesting.num_broken += usize::from(above != Some(0) && !open.is_empty());
            if let Some(above) = above {
                open.truncate(open.len() - above - 1);
            }
        }
        nesting
    }
}

/// Marks the times of a longest sequence that never decreases.
fn longest_in_order(times: &[TimeNs]) -> Vec<bool> {
    // The row with the smallest last time of a sequence of each length, and the row before each.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(times.len());
    for (row, time) in times.iter().enumerate() {
        let length = ends.partition_point(|end| times[*end] <= *time);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() {
            ends.push(row);
        } else {
            ends[length] = row;
        }
    }
    let mut is_kept = vec![false; times.len()];
    let mut at = ends.last().copied();
    while let Some(row) = at {
        is_kept[row] = true;
        at = before[row];
    }
    is_kept
}

#[cfg(test)]
mod tests {
    use callgrove_model::{FuncEventKind, FuncId};
    use proptest::prelude::*;

    use super::*;

    /// Returns rows of two threads, each with its own number.
    fn events(times: &[i64], threads: &[u32]) -> FuncEvents {
        let mut events = FuncEvents::default();
        for (row, (time, thread)) in (0..).zip(times.iter().zip(threads)) {
            let kind = if row % 2 == 0 {
                FuncEventKind::Entry
            } else {
                FuncEventKind::Exit
            };
            events.push(ThreadId(*thread), kind, FuncId(row), TimeNs(*time), row);
        }
        events
    }

    proptest! {
        #[test]
        fn rows_that_changed_places_are_put_back(
            steps in prop::collection::vec(1..50_i64, 20..200),
            at in any::<prop::sample::Index>(),
            by in 1..6_usize,
        ) {
            let times: Vec<i64> = steps.iter().scan(0, |sum, step| { *sum += step; Some(*sum) }).collect();
            let threads = vec![0; times.len()];
            let whole = events(&times, &threads);
            let mut mixed = whole.clone();
            let a = at.index(times.len() - by);
            mixed.swap(a, a + by);
            let displaced = mend(&mut mixed);
            prop_assert_eq!(&mixed, &whole);
            prop_assert!(!displaced.is_empty() && displaced.len() <= 2);
        }

        #[test]
        fn one_impossible_time_changes_no_other(
            steps in prop::collection::vec(1..50_i64, 20..200),
            at in any::<prop::sample::Index>(),
            bit in 30..62_u32,
        ) {
            let times: Vec<i64> = steps.iter().scan(1 << 20, |sum, step| { *sum += step; Some(*sum) }).collect();
            let at = at.index(times.len() - 1);
            let mut damaged = times.clone();
            damaged[at] ^= 1 << bit;
            let mut mended = events(&damaged, &vec![0; times.len()]);
            prop_assert_eq!(mend(&mut mended), [at]);
            for row in (0..times.len()).filter(|row| *row != at) {
                prop_assert_eq!(mended[row].time.0, times[row]);
            }
            prop_assert!(mended.is_sorted_by_key(|event| event.time));
        }

        #[test]
        fn ordered_threads_are_unchanged(
            rows in prop::collection::vec((0..3_u32, 0..50_i64), 0..100),
        ) {
            let mut clocks = [1000, 500, 0];
            let (mut times, mut threads) = (Vec::new(), Vec::new());
            for (thread, step) in rows {
                let clock = &mut clocks[thread as usize];
                *clock += step;
                times.push(*clock);
                threads.push(thread);
            }
            let whole = events(&times, &threads);
            let mut same = whole.clone();
            prop_assert!(mend(&mut same).is_empty());
            prop_assert_eq!(same, whole);
        }
    }

    /// Returns consecutive calls of one function within a caller, in order and with rows displaced by `moves`.
    fn displaced_calls(num_calls: i64, moves: &[(usize, usize)]) -> (FuncEvents, FuncEvents) {
        let mut rows = vec![(FuncEventKind::Entry, 0, 0)];
        for call in 0..num_calls {
            rows.push((FuncEventKind::Entry, 1, 10 * call + 5));
            rows.push((FuncEventKind::Exit, 1, 10 * call + 10));
        }
        rows.push((FuncEventKind::Exit, 0, 10 * num_calls + 5));
        let events = |rows: &[(FuncEventKind, u32, i64)]| {
            let mut events = FuncEvents::default();
            for &(kind, func, time) in rows {
                events.push(ThreadId(0), kind, FuncId(func), TimeNs(time), 0);
            }
            events
        };
        let whole = events(&rows);
        for &(from, to) in moves {
            let row = rows.remove(from);
            rows.insert(to, row);
        }
        (whole, events(&rows))
    }

    #[test]
    fn many_displaced_rows_are_sorted_where_calls_nest_by_time() {
        for moves in [
            // The cases are single exits and entries, and two complete calls.
            [(2, 5), (8, 11), (14, 18), (21, 20), (25, 31)],
            [(3, 9), (3, 9), (15, 21), (15, 21), (30, 27)],
            [(3, 9), (3, 9), (15, 21), (15, 21), (1, 1)],
        ] {
            let (whole, mut mixed) = displaced_calls(20, &moves);
            assert!(!mend(&mut mixed).is_empty());
            assert_eq!(mixed, whole, "{moves:?}");
        }
    }

    #[test]
    fn a_clock_that_is_set_back_under_calls_is_not_sorted() {
        let (mut events, later) = (displaced_calls(40, &[]).0, displaced_calls(40, &[]).0);
        let back = |event: &FuncEvent| TimeNs(event.time.0 + 203);
        for event in later.iter() {
            events.push(ThreadId(0), event.kind(), event.func, back(event), 0);
        }
        let stored = events.clone();
        assert!(mend(&mut events).is_empty());
        assert_eq!(events, stored);
    }

    #[test]
    fn a_clock_that_is_set_back_is_not_a_few_rows() {
        let times: Vec<i64> = (0..100).chain(50..150).collect();
        let mut rows = events(&times, &vec![0; times.len()]);
        assert!(mend(&mut rows).is_empty());
        assert_eq!(
            rows[100].time.0, 50,
            "left to the reader, which knows the step before"
        );
    }
}
