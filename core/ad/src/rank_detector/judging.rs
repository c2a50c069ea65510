//! The verdicts on the executions of a step.

use callgrove_detect::Moments;
use callgrove_model::FuncEvents;

use super::{LaneState, RankDetector};
use crate::compiled_model::CompiledModel;
use crate::outliers::{FunctionOutliers, JudgedCalls, StepCalls};
use crate::{AdOptions, OutlierStatistic};

/// The statistics of a function whose executions were judged.
pub(super) struct JudgedFunction {
    pub(super) number: u32,
    pub(super) num_executions: u64,
    /// Moments of the times in µs.
    pub(super) exclusive: Moments,
    pub(super) inclusive: Moments,
}

impl RankDetector {
    /// Records in which open calls the tracer may have written before the step with these events.
    pub(super) fn record_write(&mut self, funcs: &FuncEvents, statistic: OutlierStatistic) {
        let Some((thread, write_us)) = self.gaps.take_in(funcs) else {
            return;
        };
        let stack = self.builder.lanes().find(|it| it.0 == thread);
        let (Some((_, stack)), Some(state)) = (stack, self.lanes.get_mut(&thread)) else {
            return;
        };
        match statistic {
            OutlierStatistic::Exclusive => {
                let top = stack.open().next_back();
                state.writes.extend(top.map(|exec| (exec, write_us)));
            }
            OutlierStatistic::Inclusive => {
                state
                    .writes
                    .extend(stack.open().map(|exec| (exec, write_us)));
            }
        }
    }

    /// Judges the executions that ended in the last step. Returns the judged functions, and the outliers of functions
    /// that have some or still need a normal execution for comparison.
    pub(super) fn judge_executions(
        &mut self,
        compiled: &[Option<CompiledModel>],
        options: &AdOptions,
    ) -> (Vec<JudgedFunction>, Vec<FunctionOutliers>) {
        let mut functions = Vec::new();
        let mut found: Vec<FunctionOutliers> = Vec::new();
        let num_executions = self.executions.functions().map(|it| it.1.len());
        let max_len = num_executions.max().unwrap_or(0);
        let (mut exclusive_us, mut inclusive_us) =
            (Vec::with_capacity(max_len), Vec::with_capacity(max_len));
        let stacks = self.builder.lanes().zip(self.lanes.values());
        let lanes = stacks.map(|((_, stack), state)| JudgedCalls {
            executions: stack.executions(),
            writes: &state.writes,
        });
        let calls = StepCalls {
            functions: &self.judged,
            statistic: options.statistic,
            lanes: lanes.collect(),
        };
        for (number, executions) in self.executions.functions() {
            let Some(compiled) = compiled.get(number as usize).and_then(Option::as_ref) else {
                // A frozen server has no model for functions that it never saw.
                continue;
            };
            let of_function = FunctionOutliers::find(
                executions,
                (number, &compiled.judge),
                &calls,
                self.lacks_normal.contains(&number),
            );
            found.extend(of_function);
            exclusive_us.clear();
            exclusive_us.extend(executions.iter().map(|it| it.exclusive_us));
            inclusive_us.clear();
            inclusive_us.extend(executions.iter().map(|it| it.inclusive_us));
            let exclusive = Moments::of(&exclusive_us);
            // Exclusive and inclusive times are equal for functions without callees.
            let is_leaf = exclusive_us == inclusive_us;
            functions.push(JudgedFunction {
                number,
                num_executions: executions.len() as u64,
                exclusive,
                inclusive: if is_leaf {
                    exclusive
                } else {
                    Moments::of(&inclusive_us)
                },
            });
        }
        for ((_, stack), state) in self.builder.lanes().zip(self.lanes.values_mut()) {
            let executions = stack.executions();
            state.writes.retain(|write| executions.is_open(write.0));
        }
        let mut lanes: Vec<&mut LaneState> = self.lanes.values_mut().collect();
        for (position, _) in found.iter().flat_map(|of_function| &of_function.anomalies) {
            lanes[position.lane as usize].anomalies.push(position.exec);
        }
        for lane in lanes {
            lane.anomalies.sort_unstable();
        }
        (functions, found)
    }
}
