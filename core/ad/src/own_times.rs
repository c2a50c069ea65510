//! Own times of a step for the parameter server: for each function and caller, the number of calls, the usual time and
//! the sum.

use std::cmp::Reverse;

use callgrove_incidents::OwnTimeEntry;
use callgrove_model::{DurationNs, FuncId, StepId, TimeNs};
use callgrove_records::ExecPosition;
use callgrove_trends::TimeWindow;

use crate::by_function::{EndedExecution, ExecutionsByFunction};
use crate::functions::InstanceFunctions;

/// Number of reported functions of a step: the ones with the largest share of its time. Fewer than a tenth of the
/// functions of a program take nearly all of its time.
const MAX_FUNCTIONS: usize = 32;
/// The smallest reported share of a step is 1 in this number, a quarter of the share of the work from which a finding
/// matters.
const MIN_SHARE_OF: u64 = 200;
/// Largest number of windows of a function in the first step. The next step has half as many, and so on: short runs get
/// enough windows to compare, and long runs one per step.
const MAX_WINDOWS: usize = 40;
/// Number of calls in the shortest window, as in the engine for recorded runs.
const MIN_WINDOW: usize = 5;
/// Number of calls of a window, at equal distances, from which the usual time is computed. The engine compares many
/// windows, so a larger sample would cost more than it improves the result.
const MAX_SAMPLED: usize = 16;
/// Number of calls from which a step is reported on its own once a function has as many windows as it may. Of smaller
/// steps, one represents as many as have that many calls together, so that the cost per event stays low.
const CALLS_OF_STEP: usize = 400;
/// The quantile that is the usual time, in percent, as in the engine for recorded runs.
const USUAL_PERCENT: usize = 40;

/// Returns the own times of the executions that ended in `step`. `fid_of` returns the global index of a rank's own id,
/// and `entry` the entry time of an execution.
pub(crate) fn own_times(
    executions: &ExecutionsByFunction,
    (step, functions): (StepId, &InstanceFunctions),
    fid_of: impl Fn(FuncId) -> Option<FuncId>,
    entry: impl Fn(ExecPosition) -> TimeNs,
) -> Vec<OwnTimeEntry> {
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
    by_total.retain(|it| it.0 >= step_us / MIN_SHARE_OF);
    by_total.sort_unstable_by_key(|it| (Reverse(it.0), it.1));
    by_total.truncate(MAX_FUNCTIONS);
    let max_windows = (MAX_WINDOWS / (step.saturating_add(2))).max(1);
    let mut own_times = Vec::with_capacity(by_total.len());
    let (mut sorted, mut times_us) = (Vec::new(), Vec::new());
    for (_, number, all) in by_total {
        let fid = functions.get(number).fid;
        let mut push = |of_caller: &[EndedExecution]| {
            let num_windows = (of_caller.len() / MIN_WINDOW).clamp(1, max_windows);
            for calls in of_caller.chunks(of_caller.len().div_ceil(num_windows)) {
                let stride = calls.len().div_ceil(MAX_SAMPLED);
                times_us.clear();
                times_us.extend(calls.iter().step_by(stride).map(|it| it.exclusive_us));
                own_times.push(OwnTimeEntry {
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

/// Returns the usual time of at least one; reorders the times.
fn usual_us(times_us: &mut [u64]) -> u64 {
    let usual = (times_us.len() - 1) * USUAL_PERCENT / 100;
    *times_us.select_nth_unstable(usual).1
}

fn of_us(time_us: u64) -> DurationNs {
    DurationNs::from_us(i64::try_from(time_us).unwrap_or(i64::MAX))
}
