//! Gaps: times in which nothing at all happened on a thread, and which of them are unusually long for the rank.

use std::collections::BTreeMap;

use callgrove_model::{DurationNs, FuncEvent, FuncEvents, GapLengths, ThreadId, TimeNs};

/// One gap in so many is long, as in `core/patterns`.
const ONE_IN: u64 = 1_000;
/// Events that are looked at together.
const BLOCK: usize = 64;

/// The gaps of one rank, step by step.
#[derive(Debug, Default)]
pub(crate) struct GapWatch {
    lanes: BTreeMap<ThreadId, LaneGaps>,
    /// Of all gaps since the start.
    lengths: GapLengths,
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
        for lane in self.lanes.values_mut() {
            lane.long.clear();
            lane.last_before = lane.last;
        }
        // How long is long, all gaps tell; then few blocks have any.
        let mut blocks = Vec::with_capacity(funcs.len() / BLOCK + 1);
        for (thread, events) in funcs.stretches() {
            let lane = self.lanes.entry(thread).or_default();
            for events in events.chunks(BLOCK) {
                let (before, mut longest) = (lane.last, DurationNs::ZERO);
                let lengths = &mut self.lengths;
                for_each_gap(&mut lane.last, events, |from, to| {
                    // It is not negative, so nothing runs over.
                    let length = DurationNs(to.0.wrapping_sub(from.0));
                    longest = longest.max(length);
                    lengths.add(length);
                });
                blocks.push((longest, before));
            }
        }
        let least = self.lengths.exceeded_by_one_in(ONE_IN);
        let mut blocks = blocks.into_iter();
        for (thread, events) in funcs.stretches() {
            let lane = self.lanes.entry(thread).or_default();
            for (events, (longest, mut before)) in events.chunks(BLOCK).zip(&mut blocks) {
                if longest > least {
                    for_each_gap(&mut before, events, |from, to| {
                        if to.since(from) > least {
                            lane.long.push((from, to));
                        }
                    });
                }
            }
        }
    }

    /// Those of a thread, if it had any event.
    pub(crate) fn of(&self, thread: ThreadId) -> Option<&LaneGaps> {
        self.lanes.get(&thread)
    }
}

/// Hands `each` every gap before and between events of one thread, of which the one before them was at `last`.
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
}
