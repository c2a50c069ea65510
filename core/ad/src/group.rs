//! The executions that ended in a step, gathered by function.
//!
//! A counting sort: one pass counts, one pass places, so that each function's times lie side by side for
//! the detectors, in order of thread and entry.

use std::ops::Range;

use callgrove_model::{DurationNs, ExecIdx, Executions, FuncId};

/// What became of an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Fate {
    /// It has not ended.
    #[default]
    Pending,
    /// It ended and is not an outlier.
    Normal,
    /// It is an outlier.
    Anomaly,
    /// Its end is not known (an EXIT is missing), or nobody wants to know: nothing was judged.
    Unjudged,
}

/// An execution of a rank: the place of its lane, in order of thread, and its row there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) lane: u32,
    pub(crate) exec: ExecIdx,
}

/// Executions by function; all columns have one length.
#[derive(Debug, Default)]
pub(crate) struct Grouped {
    /// Functions with executions in ascending order, and where theirs are.
    pub(crate) functions: Vec<(u32, Range<usize>)>,
    /// Exclusive times in µs.
    pub(crate) exclusive_us: Vec<u64>,
    /// Inclusive times in µs.
    pub(crate) inclusive_us: Vec<u64>,
    /// Where they are.
    pub(crate) places: Vec<Place>,
    /// Next free row of each function while sorting.
    cursors: Vec<usize>,
}

/// A lane as the sort takes it.
pub(crate) struct LaneRows<'a> {
    pub(crate) executions: &'a Executions,
    /// By execution; those that have ended are no longer pending afterwards.
    pub(crate) fates: &'a mut [Fate],
}

impl LaneRows<'_> {
    /// What has ended and is pending: row, fate, function, and whether the end was seen.
    fn ended(&mut self) -> impl Iterator<Item = (usize, &mut Fate, FuncId, bool)> {
        let executions = self.executions;
        let ends = executions.subtree_end.iter();
        let columns = self.fates.iter_mut().zip(ends).zip(&executions.func);
        let rows = columns.zip(&executions.closed).enumerate();
        rows.filter_map(|(row, (((fate, &end), &func), &is_whole))| {
            // As `Executions::is_open` tells, but by columns side by side, since this is the hottest loop.
            let is_open = end == ExecIdx::from_index(row);
            (*fate == Fate::Pending && !is_open).then_some((row, fate, func, is_whole))
        })
    }
}

impl Grouped {
    /// Gathers what has ended since the last time. `function` gives the function's number for an id of
    /// the rank, below `num_functions`, or none where it shall not be judged.
    pub(crate) fn gather(
        &mut self,
        lanes: &mut [LaneRows<'_>],
        num_functions: usize,
        function: impl Fn(FuncId) -> Option<u32>,
    ) {
        self.cursors.clear();
        self.cursors.resize(num_functions, 0);
        for lane in lanes.iter_mut() {
            for (_, fate, func, is_whole) in lane.ended() {
                match function(func) {
                    Some(number) if is_whole => self.cursors[number as usize] += 1,
                    _ => *fate = Fate::Unjudged,
                }
            }
        }
        let total = self.lay_out();
        self.exclusive_us.resize(total, 0);
        self.inclusive_us.resize(total, 0);
        let nowhere = Place {
            lane: 0,
            exec: ExecIdx(0),
        };
        self.places.resize(total, nowhere);
        for (lane_idx, lane) in lanes.iter_mut().enumerate() {
            let executions = lane.executions;
            for (row, fate, func, _) in lane.ended() {
                let Some(number) = function(func) else {
                    continue;
                };
                *fate = Fate::Normal;
                let cursor = &mut self.cursors[number as usize];
                self.exclusive_us[*cursor] = as_us(executions.exclusive[row]);
                self.inclusive_us[*cursor] = as_us(executions.inclusive[row]);
                self.places[*cursor] = Place {
                    lane: lane_idx as u32,
                    exec: ExecIdx::from_index(row),
                };
                *cursor += 1;
            }
        }
    }

    /// Turns counts into the first row of each function.
    fn lay_out(&mut self) -> usize {
        self.functions.clear();
        let mut start = 0;
        for (number, cursor) in self.cursors.iter_mut().enumerate() {
            let count = std::mem::replace(cursor, start);
            if count > 0 {
                self.functions.push((number as u32, start..start + count));
            }
            start += count;
        }
        start
    }
}

/// Whole microseconds; a clock that went back was mended, so no time is negative.
fn as_us(duration: DurationNs) -> u64 {
    u64::try_from(duration.as_us()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use callgrove_model::{CallStackBuilder, RankId, StepId, TimeNs, Warnings};

    use super::Fate::{Normal, Pending, Unjudged};
    use super::*;

    #[test]
    fn times_lie_by_function_in_order_of_thread_and_entry() {
        let mut warnings = Warnings::default();
        let mut lane = CallStackBuilder::new(RankId(0));
        let mut at = |lane: &mut CallStackBuilder, func: i32, time_us: i64| {
            let (id, time) = (FuncId(func.unsigned_abs()), TimeNs(time_us * 1000));
            if func > 0 {
                lane.enter(id, time, StepId(0), 0, &mut warnings);
            } else {
                lane.exit(id, time, &mut warnings);
            }
        };
        for (func, time_us) in [(1, 0), (2, 1), (-2, 4), (2, 5), (-2, 10), (3, 11), (-3, 12)] {
            at(&mut lane, func, time_us);
        }
        let mut other = lane.clone();
        at(&mut other, -1, 20);
        let mut fates = [vec![Fate::Pending; 4], vec![Fate::Pending; 4]];
        let mut gather = |grouped: &mut Grouped, judged: &[u32]| {
            let [first, second] = &mut fates;
            let mut lanes = [(&lane, first), (&other, second)].map(|(lane, fates)| LaneRows {
                executions: lane.executions(),
                fates,
            });
            grouped.gather(&mut lanes, 4, |id| judged.contains(&id.0).then_some(id.0));
            fates.clone()
        };
        let mut grouped = Grouped::default();
        let fates = gather(&mut grouped, &[1, 2]);
        assert_eq!(grouped.functions, [(1, 0..1), (2, 1..5)]);
        assert_eq!(grouped.inclusive_us, [20, 3, 5, 3, 5]);
        assert_eq!(grouped.exclusive_us, [11, 3, 5, 3, 5]);
        assert_eq!(
            grouped.places[0],
            Place {
                lane: 1,
                exec: ExecIdx(0)
            }
        );
        assert_eq!(
            fates,
            [
                [Pending, Normal, Normal, Unjudged],
                [Normal, Normal, Normal, Unjudged]
            ]
        );
        gather(&mut grouped, &[1, 2, 3]);
        assert!(
            grouped.functions.is_empty() && grouped.places.is_empty(),
            "each is judged once"
        );
    }
}
