//! Own times of a step for the parameter server: of each function under its caller the number, the usual time and the sum.

use std::cmp::Reverse;

use callgrove_model::{DurationNs, FuncId, StepId, TimeNs};
use callgrove_pserver::{OwnTimeBrief, TimeWindow};

use crate::by_function::{EndedExecution, ExecPosition, ExecutionsByFunction};

/// Functions of a step that are reported: those that took most of it. Fewer than a tenth of the functions of a program take
/// nearly all of its time.
const MAX_FUNCTIONS: usize = 32;
/// And of these the ones that take this share of the step at least: 1 in 200, a quarter of the share of the work from which on a
/// finding matters.
const LEAST_SHARE: u64 = 200;
/// Windows of a function that the first step is split into at most; the one after it has half as many, and so on: of short runs there
/// are enough to compare, and of long ones no more than one a step.
const MAX_WINDOWS: usize = 40;
/// Calls in the shortest window, as the engine for recorded runs has it.
const LEAST_WINDOW: usize = 5;
/// Calls of a window of which the usual time is taken, at equal distances: the engine looks at many windows, so that more would cost
/// more than they tell.
const MAX_SAMPLED: usize = 16;
/// Calls from which on a step is reported for itself, once there are as many windows as a function has. Of smaller steps one stands
/// for as many as have that many calls together, so that an event costs little more in them.
const CALLS_OF_STEP: usize = 400;
/// The quantile that is the usual time, in percent, as the engine for recorded runs has it.
const USUAL_PERCENT: usize = 40;

/// Own times of the executions that ended in `step`. `fids` are the global indices by the number of the function, `fid_of`
/// is that of a rank's own id, and `entry` is when an execution was entered.
pub(crate) fn own_times(
    executions: &ExecutionsByFunction,
    (step, fids): (StepId, &[FuncId]),
    fid_of: impl Fn(FuncId) -> Option<FuncId>,
    entry: impl Fn(ExecPosition) -> TimeNs,
) -> Vec<OwnTimeBrief> {
    let num_calls: usize = executions.functions().map(|(_, all)| all.len()).sum();
    let step = usize::try_from(step.0).unwrap_or(usize::MAX);
    let num_steps = match CALLS_OF_STEP.div_ceil(num_calls.max(1)) {
        num_steps if step >= MAX_WINDOWS => num_steps,
        _ => 1,
    };
    if num_calls == 0 || step % num_steps != 0 {
        return Vec::new();
    }
    let num_steps = u64::try_from(num_steps).unwrap_or(u64::MAX);
    let total_us = |all: &[EndedExecution]| all.iter().map(|it| it.exclusive_us).sum::<u64>();
    let mut by_total: Vec<(u64, u32, &[EndedExecution])> = (executions.functions())
        .map(|(number, all)| (total_us(all), number, all))
        .filter(|it| it.0 > 0)
        .collect();
    let step_us: u64 = by_total.iter().map(|it| it.0).sum();
    by_total.retain(|it| it.0 >= step_us / LEAST_SHARE);
    by_total.sort_unstable_by_key(|it| (Reverse(it.0), it.1));
    by_total.truncate(MAX_FUNCTIONS);
    let most_windows = (MAX_WINDOWS / (step.saturating_add(2))).max(1);
    let mut own_times = Vec::with_capacity(by_total.len());
    let (mut sorted, mut times_us) = (Vec::new(), Vec::new());
    for (_, number, all) in by_total {
        let number = usize::try_from(number).ok();
        let Some(&fid) = number.and_then(|number| fids.get(number)) else {
            continue;
        };
        let mut push = |of_caller: &[EndedExecution]| {
            let num_windows = (of_caller.len() / LEAST_WINDOW).clamp(1, most_windows);
            for calls in of_caller.chunks(of_caller.len().div_ceil(num_windows)) {
                let stride = calls.len().div_ceil(MAX_SAMPLED);
                times_us.clear();
                times_us.extend(calls.iter().step_by(stride).map(|it| it.exclusive_us));
                own_times.push(OwnTimeBrief {
                    fid,
                    caller: calls[0].caller.and_then(&fid_of),
                    window: TimeWindow {
                        start: entry(calls[0].position),
                        num_calls: num_steps
                            .saturating_mul(u64::try_from(calls.len()).unwrap_or(u64::MAX)),
                        usual: of_us(usual_us(&mut times_us)),
                        total: of_us(num_steps.saturating_mul(total_us(calls))),
                    },
                });
            }
        };
        if all.iter().all(|it| it.caller == all[0].caller) {
            push(all);
            continue;
        }
        sorted.clear();
        sorted.extend_from_slice(all);
        sorted.sort_by_key(|it: &EndedExecution| it.caller);
        for of_caller in sorted.chunk_by(|one, next| one.caller == next.caller) {
            push(of_caller);
        }
    }
    own_times
}

/// The usual one of some times, of which there is at least one; their order changes.
fn usual_us(times_us: &mut [u64]) -> u64 {
    let usual = (times_us.len() - 1) * USUAL_PERCENT / 100;
    *times_us.select_nth_unstable(usual).1
}

fn of_us(time_us: u64) -> DurationNs {
    DurationNs::from_us(i64::try_from(time_us).unwrap_or(i64::MAX))
}
