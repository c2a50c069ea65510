//! The executions that ended in a step, sorted by function.
//!
//! A counting sort: one pass counts, one pass places, so that each function's times lie side by side for
//! the detectors, in order of thread and entry.

use std::ops::Range;

use callgrove_detect::CallerKey;
use callgrove_model::{DurationNs, ExecIdx, Executions, FuncId};

/// The state of the verdict on an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum VerdictState {
    /// It has not ended.
    #[default]
    Pending,
    /// It ended and is not an outlier.
    Normal,
    /// It is an outlier.
    Anomaly,
    /// Not judged: its EXIT is missing, or its function is ignored.
    Unjudged,
}

/// An execution of a rank: the position of its lane, in order of thread, and its row there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ExecPosition {
    pub(crate) lane: u32,
    pub(crate) exec: ExecIdx,
}

/// How long an execution took that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedTimes {
    /// Its function's.
    pub(crate) number: u32,
    pub(crate) caller: CallerKey,
    pub(crate) exclusive: DurationNs,
    pub(crate) inclusive: DurationNs,
}

/// Executions by function; all columns have one length, but for positions where nobody asks for them.
#[derive(Debug, Default)]
pub(crate) struct ExecutionsByFunction {
    /// Functions with executions in ascending order, and where theirs are.
    pub(crate) functions: Vec<(u32, Range<usize>)>,
    /// Exclusive times in µs.
    pub(crate) exclusive_us: Vec<u64>,
    /// Inclusive times in µs.
    pub(crate) inclusive_us: Vec<u64>,
    /// Who called them.
    pub(crate) callers: Vec<CallerKey>,
    /// Their positions.
    pub(crate) positions: Vec<ExecPosition>,
    /// Next free row of each function while sorting.
    cursors: Vec<usize>,
}

/// The executions of a lane with their verdicts.
pub(crate) struct LaneExecutions<'a> {
    pub(crate) executions: &'a Executions,
    /// By execution; those that have ended are no longer pending afterwards.
    pub(crate) verdicts: &'a mut [VerdictState],
}

impl LaneExecutions<'_> {
    /// The executions that have ended and are pending: row, verdict, function, and whether the end was seen.
    fn ended(&mut self) -> impl Iterator<Item = (usize, &mut VerdictState, FuncId, bool)> {
        let executions = self.executions;
        let ends = executions.subtree_end.iter();
        let columns = self.verdicts.iter_mut().zip(ends).zip(&executions.func);
        let rows = columns.zip(&executions.closed).enumerate();
        rows.filter_map(|(row, (((verdict, &end), &func), &is_whole))| {
            // As `Executions::is_open` tells, but by columns side by side, since this is the hottest loop.
            let is_open = end == ExecIdx::from_index(row);
            (*verdict == VerdictState::Pending && !is_open)
                .then_some((row, verdict, func, is_whole))
        })
    }
}

impl ExecutionsByFunction {
    /// Gathers the executions that ended since the last time. `function` gives the function's number for an id of
    /// the rank, below `num_functions`, or none where it is not judged; `keys` are what models know functions by.
    pub(crate) fn gather(
        &mut self,
        lanes: &mut [LaneExecutions<'_>],
        num_functions: usize,
        function: impl Fn(FuncId) -> Option<u32>,
        keys: &[CallerKey],
    ) {
        self.cursors.clear();
        self.cursors.resize(num_functions, 0);
        for lane in lanes.iter_mut() {
            for (_, verdict, func, is_whole) in lane.ended() {
                match function(func) {
                    Some(number) if is_whole => self.cursors[number as usize] += 1,
                    _ => *verdict = VerdictState::Unjudged,
                }
            }
        }
        let total = self.lay_out();
        let nowhere = ExecPosition {
            lane: 0,
            exec: ExecIdx(0),
        };
        self.positions.resize(total, nowhere);
        for (lane_idx, lane) in lanes.iter_mut().enumerate() {
            let executions = lane.executions;
            for (row, verdict, func, _) in lane.ended() {
                let Some(number) = function(func) else {
                    continue;
                };
                *verdict = VerdictState::Normal;
                let cursor = &mut self.cursors[number as usize];
                self.exclusive_us[*cursor] = as_us(executions.exclusive[row]);
                self.inclusive_us[*cursor] = as_us(executions.inclusive[row]);
                let caller = executions.parent(ExecIdx::from_index(row));
                let key = caller.and_then(|it| keys.get(executions.func[it.index()].index()));
                self.callers[*cursor] = key.copied().unwrap_or_default();
                self.positions[*cursor] = ExecPosition {
                    lane: lane_idx as u32,
                    exec: ExecIdx::from_index(row),
                };
                *cursor += 1;
            }
        }
    }

    /// The same of executions that are not kept: nobody asks for their positions.
    pub(crate) fn sort(&mut self, ended: &[EndedTimes], num_functions: usize) {
        self.cursors.clear();
        self.cursors.resize(num_functions, 0);
        for call in ended {
            self.cursors[call.number as usize] += 1;
        }
        self.lay_out();
        self.positions.clear();
        for call in ended {
            let cursor = &mut self.cursors[call.number as usize];
            self.exclusive_us[*cursor] = as_us(call.exclusive);
            self.inclusive_us[*cursor] = as_us(call.inclusive);
            self.callers[*cursor] = call.caller;
            *cursor += 1;
        }
    }

    /// Turns counts into the first row of each function, and makes room for all.
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
        self.exclusive_us.resize(start, 0);
        self.inclusive_us.resize(start, 0);
        self.callers.resize(start, CallerKey::NONE);
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

    use super::VerdictState::{Normal, Pending, Unjudged};
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
        let mut verdicts = [
            vec![VerdictState::Pending; 4],
            vec![VerdictState::Pending; 4],
        ];
        let mut gather = |grouped: &mut ExecutionsByFunction, judged: &[u32]| {
            let [first, second] = &mut verdicts;
            let mut lanes =
                [(&lane, first), (&other, second)].map(|(lane, verdicts)| LaneExecutions {
                    executions: lane.executions(),
                    verdicts,
                });
            let number = |id: FuncId| judged.contains(&id.0).then_some(id.0);
            let keys = [0, 1, 2, 3].map(CallerKey);
            grouped.gather(&mut lanes, 4, number, &keys);
            verdicts.clone()
        };
        let mut grouped = ExecutionsByFunction::default();
        let verdicts = gather(&mut grouped, &[1, 2]);
        assert_eq!(grouped.functions, [(1, 0..1), (2, 1..5)]);
        assert_eq!(grouped.inclusive_us, [20, 3, 5, 3, 5]);
        assert_eq!(grouped.exclusive_us, [11, 3, 5, 3, 5]);
        assert_eq!(grouped.callers, [0, 1, 1, 1, 1].map(CallerKey));
        assert_eq!(
            grouped.positions[0],
            ExecPosition {
                lane: 1,
                exec: ExecIdx(0)
            }
        );
        assert_eq!(
            verdicts,
            [
                [Pending, Normal, Normal, Unjudged],
                [Normal, Normal, Normal, Unjudged]
            ]
        );
        gather(&mut grouped, &[1, 2, 3]);
        assert!(
            grouped.functions.is_empty() && grouped.positions.is_empty(),
            "each is judged once"
        );
    }
}
