//! Mends times that cannot belong to the run. TAU stamps events before `MPI_Init` with uninitialised memory, as its
//! clock is not set yet.

use std::collections::BTreeMap;

use callgrove_model::{CommEvents, CounterEvents, FuncEvents, StepBatch, ThreadId, TimeNs};

/// Longest plausible duration of a run: a year, in ns. Times with a larger difference belong to different runs.
const MAX_RUN_NS: i64 = 366 * 24 * 3_600 * 1_000_000_000;

/// A time of the run, taken from its rows, against which the others are judged.
#[derive(Default, Debug)]
pub(super) struct RunClock {
    reference: Option<Reference>,
    /// The replaced reference with most rows. The first steps of a run may have few rows, most of them from before the
    /// clock was set.
    replaced: Option<Reference>,
    is_known: bool,
}

/// A time, and the number of rows close to it.
#[derive(Clone, Copy, Debug)]
struct Reference {
    time: TimeNs,
    num_rows: usize,
}

impl RunClock {
    /// Returns a clock with a time that another reader of the stream found.
    pub(super) fn known(time: TimeNs) -> Self {
        Self {
            reference: Some(Reference { time, num_rows: 0 }),
            replaced: None,
            is_known: true,
        }
    }

    /// Returns the time with which the stream has to be read again, if the times of the run became known only after its
    /// first steps.
    pub(super) fn found_late(&self) -> Option<TimeNs> {
        let (replaced, reference) = (self.replaced?, self.reference?);
        let is_more = replaced.num_rows > reference.num_rows;
        Some(if is_more { replaced } else { reference }.time)
    }

    /// Replaces times that cannot belong to the run by that of the row before on the same thread, or of the next one.
    /// Returns their number, and the index of the first function event among them, if there is one.
    pub(super) fn mend(
        &mut self,
        batch: &mut StepBatch,
        went_back: bool,
    ) -> (usize, Option<usize>) {
        if batch.funcs.is_empty() {
            return (0, None);
        }
        if !self.may_have_invalid_times(batch, went_back) {
            if let Some(reference) = &mut self.reference {
                reference.num_rows += batch.funcs.len();
            }
            return (0, None);
        }
        let times: Vec<TimeNs> = batch.funcs.iter().map(|event| event.time).collect();
        let is_possible = self.possible(&times);
        let first = times.iter().position(|time| !is_possible(*time));
        let possible = || times.iter().copied().filter(|time| is_possible(*time));
        let (Some(start), Some(end)) = (possible().min(), possible().max()) else {
            return (0, None);
        };
        let num_funcs = mend_funcs(&mut batch.funcs, &is_possible, start);
        let StepBatch {
            comms, counters, ..
        } = batch;
        let (
            CommEvents { time: of_comms, .. },
            CounterEvents {
                time: of_counters, ..
            },
        ) = (comms, counters);
        let others = of_comms.iter_mut().chain(of_counters);
        let others = others.filter(|time| !is_possible(**time));
        let num_others = others.map(|time| *time = (*time).clamp(start, end)).count();
        (num_funcs + num_others, first)
    }

    /// Returns whether the first or last times of ordered rows, or any times of messages and samples, are implausible.
    fn may_have_invalid_times(&self, batch: &StepBatch, went_back: bool) -> bool {
        let Some(reference) = self.reference else {
            return true;
        };
        let is_near = |time: &TimeNs| is_near(*time, reference.time);
        let edges = batch
            .funcs
            .segments()
            .flat_map(|(_, events)| [events.first(), events.last()]);
        let mut edges = edges.flatten().map(|event| &event.time);
        let mut others = batch.comms.time.iter().chain(&batch.counters.time);
        went_back || !edges.all(is_near) || !others.all(is_near)
    }

    /// Returns the test for possible times: those close to the times of earlier steps, or if most are not, to their own
    /// median.
    fn possible(&mut self, times: &[TimeNs]) -> impl Fn(TimeNs) -> bool + use<> {
        let num_near = |time| times.iter().filter(|it| is_near(**it, time)).count();
        let before = self.reference.take();
        let near = before.map_or(0, |it| num_near(it.time));
        let is_kept = self.is_known || 2 * near > times.len();
        let reference = if let Some(before) = before.filter(|_| is_kept) {
            let num_rows = before.num_rows + near;
            Reference { num_rows, ..before }
        } else {
            let more = self.replaced.into_iter().chain(before);
            self.replaced = more.max_by_key(|it| it.num_rows);
            let time = median(times);
            let num_rows = num_near(time);
            Reference { time, num_rows }
        };
        self.reference = Some(reference);
        move |time| is_near(time, reference.time)
    }
}

fn is_near(time: TimeNs, reference: TimeNs) -> bool {
    time.0.abs_diff(reference.0) <= MAX_RUN_NS.unsigned_abs()
}

fn median(times: &[TimeNs]) -> TimeNs {
    let mut times = times.to_vec();
    let middle = times.len() / 2;
    times.select_nth_unstable(middle).1.to_owned()
}

fn mend_funcs(
    funcs: &mut FuncEvents,
    is_possible: impl Fn(TimeNs) -> bool,
    start: TimeNs,
) -> usize {
    let mut threads: BTreeMap<ThreadId, Vec<usize>> = BTreeMap::new();
    let mut at = 0;
    for (thread, events) in funcs.segments() {
        threads
            .entry(thread)
            .or_default()
            .extend(at..at + events.len());
        at += events.len();
    }
    let mut num_mended = 0;
    for places in threads.into_values() {
        let mut possible = places.iter().map(|place| funcs[*place].time);
        let mut before = possible.find(|time| is_possible(*time)).unwrap_or(start);
        for place in places {
            let time = &mut funcs[place].time;
            if is_possible(*time) {
                before = *time;
            } else {
                *time = before;
                num_mended += 1;
            }
        }
    }
    num_mended
}

#[cfg(test)]
mod tests {
    use callgrove_model::{CommKind, FuncEventKind, FuncId, ProgramId, RankId, StepId};
    use proptest::prelude::*;

    use super::*;

    /// A time in 2023.
    const RUN: i64 = 1_700_000_000_000_000_000;
    /// A time in 1974.
    const BEFORE: i64 = 140_000_000_000_000_000;

    fn step(times: &[(u32, i64)]) -> StepBatch {
        let mut step = StepBatch::empty(ProgramId(0), RankId(0), StepId(0));
        for (row, (thread, time)) in (0..).zip(times) {
            let kind = FuncEventKind::Entry;
            step.funcs
                .push(ThreadId(*thread), kind, FuncId(0), TimeNs(*time), row);
        }
        step
    }

    fn times(step: &StepBatch) -> Vec<i64> {
        step.funcs.iter().map(|event| event.time.0).collect()
    }

    #[test]
    fn times_before_the_clock_was_set_become_adjacent_times() {
        let mut clock = RunClock::default();
        let rows = [
            (0, BEFORE),
            (0, BEFORE),
            (0, RUN),
            (1, RUN + 9),
            (0, RUN + 5),
        ];
        let mut first = step(&rows);
        let sent = TimeNs(BEFORE);
        first
            .comms
            .push(ThreadId(0), CommKind::Send, 0, RankId(1), 8, sent);
        assert_eq!(clock.mend(&mut first, false), (3, Some(0)));
        assert_eq!(times(&first), [RUN, RUN, RUN, RUN + 9, RUN + 5]);
        assert_eq!(first.comms.time, [TimeNs(RUN)]);
        // This covers a thread with only invalid times, and invalid times at the end.
        let mut second = step(&[(2, 0), (0, RUN + 10), (0, RUN + 11), (0, 0), (1, RUN + 12)]);
        assert_eq!(clock.mend(&mut second, true), (2, Some(0)));
        assert_eq!(
            times(&second),
            [RUN + 10, RUN + 10, RUN + 11, RUN + 11, RUN + 12]
        );
    }

    #[test]
    fn the_first_steps_do_not_decide_for_the_run() {
        let mut clock = RunClock::default();
        assert_eq!(clock.mend(&mut step(&[(0, BEFORE)]), false), (0, None));
        assert_eq!(clock.found_late(), None);
        let mut second = step(&[(0, RUN), (0, RUN + 1), (0, BEFORE)]);
        assert_eq!(clock.mend(&mut second, true), (1, Some(2)));
        let found = clock.found_late().unwrap();
        assert_eq!(found, TimeNs(RUN));
        let mut again = step(&[(0, BEFORE), (0, BEFORE), (0, RUN)]);
        assert_eq!(RunClock::known(found).mend(&mut again, false), (2, Some(0)));
    }

    proptest! {
        #[test]
        fn times_within_a_year_are_unchanged(
            times in prop::collection::vec((0..3_u32, 0..MAX_RUN_NS / 2), 0..40),
            start in -RUN..RUN,
        ) {
            let rows: Vec<_> = times.iter().map(|(thread, time)| (*thread, start + time)).collect();
            let mut same = step(&rows);
            prop_assert_eq!(RunClock::default().mend(&mut same, true), (0, None));
            prop_assert_eq!(same.funcs, step(&rows).funcs);
        }
    }
}
