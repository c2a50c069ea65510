//! The executions that ended in a step, grouped by function, and the times that they add to the models.
//!
//! Each execution is added to its function when it ends. So the executions of a function are contiguous for the
//! detectors, thread by thread in the order of their ends.

use callgrove_detect::{CallerKey, FuncModel};
use callgrove_model::{DurationNs, EndedCall, ExecIdx, FuncId, StepId};
use callgrove_records::ExecPosition;

use crate::functions::InstanceFunctions;
use crate::options::{AdOptions, OutlierStatistic};

/// Capacity, in values, that an emptied list keeps for the next step.
const MIN_CAPACITY: usize = 1 << 12;
/// Number of callers of a function that are found without a search. Each caller has one entry, by its id modulo this.
const NUM_RECENT: usize = 8;

/// The judged functions of a rank, indexed by its own ids.
#[derive(Debug, Default)]
pub(crate) struct JudgedFunctions {
    /// The number of the function in this AD instance; `None` if the function is not judged.
    numbers: Vec<Option<u32>>,
    /// The key under which models know the function as a caller.
    keys: Vec<CallerKey>,
}

/// An execution that ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedExecution {
    pub(crate) exclusive_us: u64,
    pub(crate) inclusive_us: u64,
    /// Id in the rank's own numbering.
    pub(crate) caller: Option<FuncId>,
    pub(crate) position: ExecPosition,
}

/// Executions by the number of their function.
#[derive(Debug, Default)]
pub(crate) struct ExecutionsByFunction {
    /// Functions with executions; ascending after `sort_functions`.
    numbers: Vec<u32>,
    by_number: Vec<Vec<EndedExecution>>,
}

/// Times of one rank in µs, by function number and caller.
#[derive(Debug, Default)]
pub(crate) struct TimesByCaller {
    /// Functions with times; ascending after `sort_functions`.
    numbers: Vec<u32>,
    /// By function number: the callers in ascending order, each with the slot of its times. The slots of callers from
    /// earlier steps may be empty.
    callers: Vec<Vec<(CallerKey, usize)>>,
    times_us: Vec<Vec<u64>>,
    /// By function number: the callers added last.
    recent: Vec<[RecentCaller; NUM_RECENT]>,
}

/// The slot with the times of a caller.
#[derive(Clone, Copy, Debug)]
struct RecentCaller {
    /// Id in the rank's own numbering.
    caller: Option<FuncId>,
    slot: usize,
}

/// An empty entry: its slot does not exist.
const NO_CALLER: RecentCaller = RecentCaller {
    caller: None,
    slot: usize::MAX,
};

impl JudgedFunctions {
    /// Adds the next function. Without a `number` it is not judged.
    pub(crate) fn push(&mut self, key: CallerKey, number: Option<u32>) {
        self.keys.push(key);
        self.numbers.push(number);
    }

    /// Returns the number of a function, or `None` if the function is not judged.
    #[inline]
    pub(crate) fn number(&self, func: FuncId) -> Option<u32> {
        self.numbers.get(func.index()).copied().flatten()
    }

    /// Returns the number of the function of a call, or `None` if the function is not judged or the call's exit is
    /// missing.
    #[inline]
    fn number_of<T>(&self, call: &EndedCall<T>) -> Option<u32> {
        self.number(call.func).filter(|_| call.closed)
    }

    /// Returns the key under which models know a caller.
    #[inline]
    pub(crate) fn key(&self, caller: Option<FuncId>) -> CallerKey {
        let key = |caller: FuncId| self.keys.get(caller.index()).copied();
        caller.and_then(key).unwrap_or_default()
    }
}

impl EndedExecution {
    /// Returns the key of the caller.
    pub(crate) fn caller(&self, of: &JudgedFunctions) -> CallerKey {
        of.key(self.caller)
    }

    /// Returns the time that is judged.
    #[inline]
    pub(crate) fn judged_us(&self, statistic: OutlierStatistic) -> u64 {
        match statistic {
            OutlierStatistic::Exclusive => self.exclusive_us,
            OutlierStatistic::Inclusive => self.inclusive_us,
        }
    }
}

impl ExecutionsByFunction {
    /// Removes the executions of the previous step. `num_functions` functions have numbers.
    pub(crate) fn begin(&mut self, num_functions: usize) {
        for &number in &self.numbers {
            empty(&mut self.by_number[index(number)]);
        }
        self.numbers.clear();
        if self.by_number.len() < num_functions {
            self.by_number.resize(num_functions, Vec::new());
        }
    }

    /// Adds an execution that ended on the lane at an index, if its function is judged.
    #[inline]
    pub(crate) fn push(&mut self, of: &JudgedFunctions, lane: u32, call: &EndedCall<ExecIdx>) {
        let Some(number) = of.number_of(call) else {
            return;
        };
        let executions = &mut self.by_number[index(number)];
        if executions.is_empty() {
            self.numbers.push(number);
        }
        executions.push(EndedExecution {
            exclusive_us: as_us(call.exclusive),
            inclusive_us: as_us(call.inclusive),
            caller: call.caller,
            position: ExecPosition {
                lane,
                exec: call.value,
            },
        });
    }

    /// Sorts the functions; to be called after the last execution of the step.
    pub(crate) fn sort_functions(&mut self) {
        self.numbers.sort_unstable();
    }

    /// Returns the functions with executions in ascending order, each with its executions.
    pub(crate) fn functions(&self) -> impl Iterator<Item = (u32, &[EndedExecution])> {
        let numbers = self.numbers.iter();
        numbers.map(|&number| (number, &self.by_number[index(number)][..]))
    }
}

impl TimesByCaller {
    /// Removes all times. `num_functions` functions have numbers.
    pub(crate) fn begin(&mut self, num_functions: usize) {
        for &number in &self.numbers {
            for &(_, slot) in &self.callers[index(number)] {
                empty(&mut self.times_us[slot]);
            }
            // Ids of callers differ between ranks.
            self.recent[index(number)] = [NO_CALLER; NUM_RECENT];
        }
        self.numbers.clear();
        if self.callers.len() < num_functions {
            self.callers.resize(num_functions, Vec::new());
            self.recent.resize(num_functions, [NO_CALLER; NUM_RECENT]);
        }
    }

    /// Adds the time of a call that ended, if its function is judged.
    #[expect(clippy::inline_always, reason = "once for every call of a run")]
    #[inline(always)]
    pub(crate) fn push<T>(
        &mut self,
        of: &JudgedFunctions,
        call: &EndedCall<T>,
        statistic: OutlierStatistic,
    ) {
        let Some(number) = of.number_of(call) else {
            return;
        };
        let time = match statistic {
            OutlierStatistic::Exclusive => call.exclusive,
            OutlierStatistic::Inclusive => call.inclusive,
        };
        self.add(of, (number, call.caller), as_us(time));
    }

    /// Adds the time of an execution, by function and caller.
    #[expect(clippy::inline_always, reason = "once for every call of a run")]
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        of: &JudgedFunctions,
        (number, caller): (u32, Option<FuncId>),
        time_us: u64,
    ) {
        let entry = caller.map_or(0, FuncId::index) % NUM_RECENT;
        let recent = self.recent[index(number)][entry];
        if recent.caller == caller
            && let Some(times_us) = self.times_us.get_mut(recent.slot)
        {
            times_us.push(time_us);
            return;
        }
        let slot = self.slot(number, of.key(caller));
        self.recent[index(number)][entry] = RecentCaller { caller, slot };
        self.times_us[slot].push(time_us);
    }

    /// Returns the slot with the times of a caller.
    #[inline(never)]
    fn slot(&mut self, number: u32, caller: CallerKey) -> usize {
        let callers = &mut self.callers[index(number)];
        let slot = match callers.binary_search_by_key(&caller, |it| it.0) {
            Ok(at) => callers[at].1,
            Err(at) => {
                let slot = self.times_us.len();
                callers.insert(at, (caller, slot));
                self.times_us.push(Vec::new());
                slot
            }
        };
        // Until `sort_functions`, a function is listed once for each of its callers.
        if self.times_us[slot].is_empty() {
            self.numbers.push(number);
        }
        slot
    }

    /// Appends the part of a model that holds its times to `learnt`, for each function with times. The part is empty if
    /// the step, the last one with these times, has been learnt before. `functions` hold the newest known models.
    pub(crate) fn learn(
        &mut self,
        (step, is_new): (StepId, bool),
        options: &AdOptions,
        functions: &InstanceFunctions,
        learnt: &mut Vec<(u32, FuncModel)>,
    ) {
        self.sort_functions();
        for (number, callers) in self.functions() {
            let mut model = functions.get(number).new_part(&options.params);
            for (caller, times_us) in callers.filter(|_| is_new) {
                model.extend_in(step, caller, times_us);
            }
            learnt.push((number, model));
        }
    }

    /// Sorts the functions; to be called after the last time.
    fn sort_functions(&mut self) {
        self.numbers.sort_unstable();
        self.numbers.dedup();
    }

    /// Returns the functions with times in ascending order, each with its callers and their times.
    fn functions(&self) -> impl Iterator<Item = (u32, impl Iterator<Item = (CallerKey, &[u64])>)> {
        self.numbers.iter().map(|&number| {
            let callers = self.callers[index(number)].iter();
            let times = callers.map(|&(caller, slot)| (caller, &self.times_us[slot][..]));
            (number, times.filter(|(_, times_us)| !times_us.is_empty()))
        })
    }
}

/// Removes all values. Frees capacity that is far larger than they needed.
fn empty<T>(values: &mut Vec<T>) {
    let needed = values.len().max(MIN_CAPACITY);
    values.clear();
    if values.capacity() / 4 > needed {
        values.shrink_to(needed);
    }
}

/// Returns the index of a function number. Numbers are ids in the table of the instance's functions.
#[inline]
fn index(number: u32) -> usize {
    FuncId(number).index()
}

/// Returns whole microseconds. No duration is negative, because times that went back were corrected.
#[inline]
fn as_us(duration: DurationNs) -> u64 {
    u64::try_from(duration.0).map_or(0, |duration_ns| duration_ns / 1000)
}

#[cfg(test)]
mod tests {
    use callgrove_model::{
        FuncEventKind, ProgramId, RankBuilder, RankId, StepBatch, StepId, ThreadId, TimeNs,
    };

    use super::*;

    #[test]
    fn times_are_grouped_by_function_in_order_of_thread_and_end() {
        let mut of = JudgedFunctions::default();
        for (key, number) in [(0, None), (1, Some(1)), (2, Some(2)), (3, None)] {
            of.push(CallerKey(key), number);
        }
        let of = &of;
        let mut executions = ExecutionsByFunction::default();
        let mut times = TimesByCaller::default();
        executions.begin(3);
        times.begin(3);
        let mut batch = StepBatch::empty(ProgramId(0), RankId(0), StepId(0));
        let mut at = |thread: u32, func: i32, time_us: i64| {
            let (id, time) = (FuncId(func.unsigned_abs()), TimeNs(time_us * 1000));
            let kind = if func > 0 {
                FuncEventKind::Entry
            } else {
                FuncEventKind::Exit
            };
            batch.funcs.push(ThreadId(thread), kind, id, time, 0);
        };
        for (func, time_us) in [(1, 0), (2, 1), (-2, 4), (2, 5), (-2, 10), (3, 11), (-3, 12)] {
            at(3, func, time_us);
        }
        // The exit of this call is missing.
        at(3, 2, 20);
        at(3, -1, 21);
        for (func, time_us) in [(2, 0), (-2, 3), (1, 3), (-1, 23)] {
            at(7, func, time_us);
        }
        RankBuilder::new(ProgramId(0), RankId(0)).follow(batch, |lane, call| {
            executions.push(of, lane, &call);
            times.push(of, &call, OutlierStatistic::Inclusive);
        });
        executions.sort_functions();
        times.sort_functions();
        let summary = |it: &EndedExecution| {
            let ExecPosition { lane, exec } = it.position;
            (it.inclusive_us, it.caller(of).0, lane, exec.0)
        };
        let functions = executions.functions();
        let functions: Vec<(u32, Vec<_>)> = functions
            .map(|(number, all)| (number, all.iter().map(summary).collect()))
            .collect();
        assert_eq!(
            functions,
            [
                (1, vec![(21, 0, 0, 0), (20, 0, 1, 1)]),
                (2, vec![(3, 1, 0, 1), (5, 1, 0, 2), (3, 0, 1, 0)])
            ]
        );
        let by_caller = times.functions().flat_map(|(number, callers)| {
            callers.map(move |(caller, times_us)| (number, caller.0, times_us))
        });
        let by_caller: Vec<(u32, u64, &[u64])> = by_caller.collect();
        assert_eq!(
            by_caller,
            [(1, 0, &[21, 20][..]), (2, 0, &[3]), (2, 1, &[3, 5])]
        );
        executions.begin(3);
        times.begin(3);
        assert!(
            executions.functions().next().is_none(),
            "each is returned once"
        );
        assert!(times.functions().next().is_none(), "each is returned once");
    }
}
