//! The executions that ended in a step, sorted by function.
//!
//! A counting sort: one pass counts, one pass places, so that each function's times lie side by side for
//! the detectors, in order of thread and end.

use std::ops::Range;

use callgrove_detect::CallerKey;
use callgrove_model::{DurationNs, EndedCall, ExecIdx, FuncId, ThreadId};

/// An execution of a rank: the position of its lane, in order of thread, and its row there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ExecPosition {
    pub(crate) lane: u32,
    pub(crate) exec: ExecIdx,
}

/// What is judged of the functions of a rank, by its own ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JudgedFunctions<'a> {
    /// The number of the function in this AD instance; none where it is not judged.
    pub(crate) numbers: &'a [Option<u32>],
    /// What models know it by as a caller.
    pub(crate) keys: &'a [CallerKey],
}

/// An execution that ended.
#[derive(Clone, Copy, Debug)]
struct Ended {
    /// Its function's.
    number: u32,
    thread: ThreadId,
    exec: ExecIdx,
    caller: CallerKey,
    exclusive: DurationNs,
    inclusive: DurationNs,
}

/// Executions by function; all columns have one length.
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
    /// What is not sorted yet.
    ended: Vec<Ended>,
    /// Next free row of each function while sorting.
    cursors: Vec<usize>,
}

impl ExecutionsByFunction {
    /// Takes in an execution that ended, if it is judged: its function is, and its exit was seen.
    #[inline]
    pub(crate) fn push<T>(
        &mut self,
        of: JudgedFunctions<'_>,
        thread: ThreadId,
        exec: ExecIdx,
        call: &EndedCall<T>,
    ) {
        let number = of.numbers.get(call.func.index()).copied().flatten();
        let Some(number) = number.filter(|_| call.closed) else {
            return;
        };
        let key = |caller: FuncId| of.keys.get(caller.index()).copied();
        self.ended.push(Ended {
            number,
            thread,
            exec,
            caller: call.caller.and_then(key).unwrap_or_default(),
            exclusive: call.exclusive,
            inclusive: call.inclusive,
        });
    }

    /// Sorts what was taken in since the last time; `threads` are those of the rank's lanes, ascending, and
    /// `num_functions` have numbers.
    pub(crate) fn sort(&mut self, threads: &[ThreadId], num_functions: usize) {
        self.cursors.clear();
        self.cursors.resize(num_functions, 0);
        for call in &self.ended {
            self.cursors[call.number as usize] += 1;
        }
        self.lay_out();
        let (exclusive_us, inclusive_us) = (&mut self.exclusive_us[..], &mut self.inclusive_us[..]);
        let (callers, positions) = (&mut self.callers[..], &mut self.positions[..]);
        let lane_of = |thread| threads.binary_search(&thread).unwrap_or_else(|at| at) as u32;
        let (mut thread, mut lane) = (None, 0);
        for call in &self.ended {
            if thread != Some(call.thread) {
                (thread, lane) = (Some(call.thread), lane_of(call.thread));
            }
            let cursor = &mut self.cursors[call.number as usize];
            let at = *cursor;
            *cursor = at + 1;
            exclusive_us[at] = as_us(call.exclusive);
            inclusive_us[at] = as_us(call.inclusive);
            callers[at] = call.caller;
            positions[at] = ExecPosition {
                lane,
                exec: call.exec,
            };
        }
        self.ended.clear();
    }

    /// Turns counts into the first row of each function, and makes room for all.
    fn lay_out(&mut self) {
        self.functions.clear();
        let mut start = 0;
        for (number, cursor) in self.cursors.iter_mut().enumerate() {
            let count = std::mem::replace(cursor, start);
            if count > 0 {
                self.functions.push((number as u32, start..start + count));
            }
            start += count;
        }
        let nowhere = ExecPosition {
            lane: 0,
            exec: ExecIdx(0),
        };
        self.exclusive_us.resize(start, 0);
        self.inclusive_us.resize(start, 0);
        self.callers.resize(start, CallerKey::NONE);
        self.positions.resize(start, nowhere);
    }
}

/// Whole microseconds; a clock that went back was mended, so no time is negative.
fn as_us(duration: DurationNs) -> u64 {
    u64::try_from(duration.0).map_or(0, |duration_ns| duration_ns / 1000)
}

#[cfg(test)]
mod tests {
    use callgrove_model::{CallStackBuilder, RankId, StepId, TimeNs, Warnings};

    use super::*;

    #[test]
    fn times_lie_by_function_in_order_of_thread_and_end() {
        let numbers = [None, Some(1), Some(2), None];
        let keys = [0, 1, 2, 3].map(CallerKey);
        let of = JudgedFunctions {
            numbers: &numbers,
            keys: &keys,
        };
        let (first, second) = (ThreadId(0), ThreadId(7));
        let mut grouped = ExecutionsByFunction::default();
        let mut warnings = Warnings::default();
        let mut lanes = [first, second].map(|thread| (thread, CallStackBuilder::new(RankId(0))));
        let mut at = |lane: usize, func: i32, time_us: i64| {
            let (thread, lane) = &mut lanes[lane];
            let (id, time) = (FuncId(func.unsigned_abs()), TimeNs(time_us * 1000));
            if func > 0 {
                lane.enter(id, time, StepId(0), 0, &mut warnings);
            } else {
                lane.exit(id, time, &mut warnings, |call| {
                    grouped.push(of, *thread, call.held, &call);
                });
            }
        };
        for (func, time_us) in [(1, 0), (2, 1), (-2, 4), (2, 5), (-2, 10), (3, 11), (-3, 12)] {
            at(0, func, time_us);
            at(1, func, time_us);
        }
        at(1, -1, 20);
        // Its exit is missing.
        at(0, 2, 20);
        at(0, -1, 21);
        grouped.sort(&[first, second], 4);
        assert_eq!(grouped.functions, [(1, 0..2), (2, 2..6)]);
        assert_eq!(grouped.inclusive_us, [20, 21, 3, 3, 5, 5]);
        assert_eq!(grouped.callers, [0, 0, 1, 1, 1, 1].map(CallerKey));
        let places = grouped.positions.iter().map(|it| (it.lane, it.exec.0));
        let places: Vec<(u32, u32)> = places.collect();
        assert_eq!(places, [(1, 0), (0, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
        grouped.sort(&[first, second], 4);
        assert!(
            grouped.functions.is_empty() && grouped.positions.is_empty(),
            "each is told once"
        );
    }
}
