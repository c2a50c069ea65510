//! Gaps: time ranges without any event on a thread, and which of them are unusually long for the rank.

use std::collections::BTreeMap;

use callgrove_model::{DurationNs, FuncEvent, FuncEvents, GapLengths, ThreadId, TimeNs};

/// Number of gaps among which one counts as long, as in `core/causes`.
const LONG_GAP_RARITY: u64 = 1_000;
/// Number of events that are scanned together.
const BLOCK: usize = 64;

/// Tracks the gaps of one rank, step by step.
#[derive(Debug, Default)]
pub struct GapTracker {
    lanes: BTreeMap<ThreadId, LaneGaps>,
    /// The lengths of all gaps since the start.
    lengths: GapLengths,
}

/// The gaps of one thread in the current step.
#[derive(Debug, Default)]
pub struct LaneGaps {
    /// The time of the last function event before the step.
    pub last_before: Option<TimeNs>,
    last: Option<TimeNs>,
    /// The long gaps that ended in the step, in order of time.
    pub long: Vec<(TimeNs, TimeNs)>,
}

impl GapTracker {
    /// Finds the long gaps of the next step. Linear in the number of events.
    pub fn begin_step(&mut self, funcs: &FuncEvents) {
        for lane in self.lanes.values_mut() {
            lane.long.clear();
            lane.last_before = lane.last;
        }
        // The threshold depends on all gaps, so it takes a second pass; few blocks have a long gap.
        let mut blocks = Vec::with_capacity(funcs.len() / BLOCK + 1);
        for (thread, events) in funcs.segments() {
            let lane = self.lanes.entry(thread).or_default();
            for events in events.chunks(BLOCK) {
                let (before, mut longest) = (lane.last, DurationNs::ZERO);
                let lengths = &mut self.lengths;
                for_each_gap(&mut lane.last, events, |from, to| {
                    // The length is not negative, so this does not wrap.
                    let length = DurationNs(to.0.wrapping_sub(from.0));
                    longest = longest.max(length);
                    lengths.add(length);
                });
                blocks.push((longest, before));
            }
        }
        let threshold = self.lengths.exceeded_by_one_in(LONG_GAP_RARITY);
        let mut blocks = blocks.into_iter();
        for (thread, events) in funcs.segments() {
            let lane = self.lanes.entry(thread).or_default();
            for (events, (longest, mut before)) in events.chunks(BLOCK).zip(&mut blocks) {
                if longest > threshold {
                    for_each_gap(&mut before, events, |from, to| {
                        if to.since(from) > threshold {
                            lane.long.push((from, to));
                        }
                    });
                }
            }
        }
    }

    /// Returns the gaps of a thread that has had any event.
    pub fn of(&self, thread: ThreadId) -> Option<&LaneGaps> {
        self.lanes.get(&thread)
    }
}

/// Calls `each` for every gap before and between events of one thread. `last` is the time of the event before them.
#[inline]
fn for_each_gap(
    last: &mut Option<TimeNs>,
    events: &[FuncEvent],
    mut each: impl FnMut(TimeNs, TimeNs),
) {
    let Some(first) = events.first() else {
        return;
    };
    let mut latest = last.unwrap_or(first.time);
    for event in events {
        let time = event.time;
        if time > latest {
            each(latest, time);
            latest = time;
        }
    }
    *last = Some(latest);
}

#[cfg(test)]
mod tests {
    use callgrove_model::{FuncEventKind, FuncId};

    use super::*;

    #[test]
    fn one_gap_in_a_thousand_is_long_over_steps_and_threads() {
        let mut watch = GapTracker::default();
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
}
