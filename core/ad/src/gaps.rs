//! Gaps: times in which nothing at all happened on a thread, and which of them are unusually long for the rank.

use std::collections::BTreeMap;

use callgrove_model::{DurationNs, FuncEvents, ThreadId, TimeNs};

/// One gap in so many is long, as in `core/patterns`.
const ONE_IN: u64 = 1_000;
/// Bins of the histogram of lengths: eight for each doubling.
const NUM_BINS: usize = 64 * 8;

/// The gaps of one rank, step by step.
#[derive(Debug, Default)]
pub(crate) struct GapWatch {
    lanes: BTreeMap<ThreadId, LaneGaps>,
    /// How many gaps there were of each length, since the start.
    counts: Vec<u64>,
}

/// The gaps of one thread in the present step.
#[derive(Debug, Default)]
pub(crate) struct LaneGaps {
    /// The last function event before the step, and the newest one.
    pub(crate) last_before: Option<TimeNs>,
    last: Option<TimeNs>,
    /// The long gaps that ended in the step, in order of time.
    pub(crate) long: Vec<(TimeNs, TimeNs)>,
}

impl GapWatch {
    /// Finds the long gaps of the next step. Cost: linear in events.
    pub(crate) fn begin_step(&mut self, funcs: &FuncEvents) {
        self.counts.resize(NUM_BINS, 0);
        for lane in self.lanes.values_mut() {
            lane.long.clear();
            lane.last_before = lane.last;
        }
        let counts = &mut self.counts;
        for_each_gap(&mut self.lanes, funcs, |_, from, to| {
            if let Some(count) = counts.get_mut(bin_of(to.since(from))) {
                *count += 1;
            }
        });
        let least = self.least();
        for lane in self.lanes.values_mut() {
            lane.last = lane.last_before;
        }
        for_each_gap(&mut self.lanes, funcs, |lane, from, to| {
            if to.since(from) > least {
                lane.push((from, to));
            }
        });
    }

    /// Those of a thread, if it had any event.
    pub(crate) fn of(&self, thread: ThreadId) -> Option<&LaneGaps> {
        self.lanes.get(&thread)
    }

    /// A length that no more than one gap in [`ONE_IN`] is longer than.
    fn least(&self) -> DurationNs {
        let most = self.counts.iter().sum::<u64>() / ONE_IN;
        let mut above = 0;
        for (bin, count) in self.counts.iter().enumerate().rev() {
            above += count;
            if above > most {
                return end_of(bin);
            }
        }
        DurationNs(0)
    }
}

/// Hands `each` every gap with the long gaps of its thread.
fn for_each_gap(
    lanes: &mut BTreeMap<ThreadId, LaneGaps>,
    funcs: &FuncEvents,
    mut each: impl FnMut(&mut Vec<(TimeNs, TimeNs)>, TimeNs, TimeNs),
) {
    let mut start = 0;
    while let Some(&thread) = funcs.thread.get(start) {
        // Rows of one thread stand together, so the lane is looked up once per run of rows.
        let others = funcs.thread[start..].iter();
        let end = start + others.take_while(|&&other| other == thread).count();
        let lane = lanes.entry(thread).or_default();
        for &time in &funcs.time[start..end] {
            let last = lane.last.unwrap_or(time);
            if time > last {
                each(&mut lane.long, last, time);
            }
            lane.last = Some(last.max(time));
        }
        start = end;
    }
}

/// The bin of a length: an eighth of an octave.
fn bin_of(length: DurationNs) -> usize {
    let length_ns = length.0.unsigned_abs().max(1);
    let octave = length_ns.ilog2();
    let eighth = (u128::from(length_ns) << 3 >> octave) & 7;
    usize::try_from(u128::from(octave) * 8 + eighth).unwrap_or(0)
}

/// The length at which a bin ends.
fn end_of(bin: usize) -> DurationNs {
    let (octave, eighth) = (bin / 8, bin % 8);
    let eighths = u128::try_from(eighth + 9).unwrap_or(0);
    let end_ns = (eighths << octave).div_ceil(8);
    DurationNs(i64::try_from(end_ns).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use callgrove_model::{FuncEventKind, FuncId};

    use super::*;

    #[test]
    fn one_gap_in_a_thousand_is_long_over_steps_and_threads() {
        let mut watch = GapWatch::default();
        let mut time = 0;
        let mut step = |long_at: Option<usize>| {
            let mut funcs = FuncEvents::default();
            for row in 0..1500 {
                time += if long_at == Some(row) { 50_000 } else { 100 };
                funcs.push(
                    ThreadId(3),
                    FuncEventKind::Entry,
                    FuncId(0),
                    TimeNs(time),
                    0,
                );
            }
            watch.begin_step(&funcs);
            watch.of(ThreadId(3)).unwrap().long.clone()
        };
        assert_eq!(step(None), []);
        let within = step(Some(700));
        assert_eq!(within.len(), 1);
        assert_eq!(within[0].1.since(within[0].0), DurationNs(50_000));
        assert_eq!(step(Some(0)).len(), 1, "from the step before to this one");
    }

    #[test]
    fn bins_hold_their_lengths() {
        for length in [1, 2, 3, 7, 8, 9, 1_000, 123_456_789, i64::MAX / 2] {
            let bin = bin_of(DurationNs(length));
            assert!(DurationNs(length) < end_of(bin), "{length}");
            assert!(
                bin == 0 || DurationNs(length) >= end_of(bin - 1) || length < 8,
                "{length}"
            );
        }
    }
}
