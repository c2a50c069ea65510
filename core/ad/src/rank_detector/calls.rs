//! The calls of a rank, and the verdicts on those that ended in a step.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_detect::Moments;
use callgrove_model::{
    ExecIdx, FuncEvents, NameTable, ProgramId, RankBuilder, RankId, StepBatch, ThreadId, Warnings,
};
use callgrove_records::JudgedLane;

use super::writes::StepGaps;
use crate::by_function::{ExecutionsByFunction, JudgedFunctions};
use crate::compiled_model::CompiledModel;
use crate::options::OutlierStatistic;
use crate::outliers::{FunctionOutliers, JudgedCalls, StepCalls};

/// Number of messages and counter samples kept for calls that stay open; the oldest are dropped first.
const MAX_EVENTS_KEPT: usize = 1024;

/// The calls of a rank: its call stacks across steps, and what ended in the last one.
#[derive(Debug)]
pub(super) struct RankCalls {
    builder: RankBuilder,
    lanes: BTreeMap<ThreadId, LaneState>,
    gaps: StepGaps,
    /// The executions that ended in the last step.
    pub(super) executions: ExecutionsByFunction,
}

/// The state of a lane besides its call stack.
#[derive(Debug, Default)]
struct LaneState {
    /// The outliers among the executions in memory, ascending.
    anomalies: Vec<ExecIdx>,
    /// Open executions in which the tracer may have written, each with the time in µs.
    writes: Vec<(ExecIdx, u64)>,
    /// Number of counter samples already searched for launches.
    num_counters_seen: usize,
}

/// The statistics of a function whose executions were judged.
pub(super) struct JudgedFunction {
    pub(super) number: u32,
    pub(super) num_executions: u64,
    /// Moments of the times in µs.
    pub(super) exclusive: Moments,
    pub(super) inclusive: Moments,
}

impl RankCalls {
    pub(super) fn new(program: ProgramId, rank: RankId) -> Self {
        Self {
            builder: RankBuilder::new(program, rank),
            lanes: BTreeMap::new(),
            gaps: StepGaps::default(),
            executions: ExecutionsByFunction::default(),
        }
    }

    /// Moves the exits of the next step to the lanes of their calls.
    pub(super) fn move_exits(&mut self, funcs: &mut FuncEvents) {
        self.builder.move_exits(funcs);
    }

    /// Processes the events of a step. `num_functions` functions have numbers.
    pub(super) fn take_in(
        &mut self,
        batch: StepBatch,
        functions: &JudgedFunctions,
        num_functions: usize,
        statistic: OutlierStatistic,
    ) {
        self.record_write(&batch.funcs, statistic);
        let executions = &mut self.executions;
        executions.begin(num_functions);
        self.builder.follow(batch, |lane, call| {
            executions.push(functions, lane, &call);
        });
        executions.sort_functions();
        for (thread, _) in self.builder.lanes() {
            self.lanes.entry(thread).or_default();
        }
    }

    /// Records in which open calls the tracer may have written before the step with these events.
    fn record_write(&mut self, funcs: &FuncEvents, statistic: OutlierStatistic) {
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
    pub(super) fn judge(
        &mut self,
        functions: &JudgedFunctions,
        compiled: &[Option<CompiledModel>],
        statistic: OutlierStatistic,
        lacks_normal: &BTreeSet<u32>,
    ) -> (Vec<JudgedFunction>, Vec<FunctionOutliers>) {
        let mut judged = Vec::new();
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
            functions,
            statistic,
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
                lacks_normal.contains(&number),
            );
            found.extend(of_function);
            exclusive_us.clear();
            exclusive_us.extend(executions.iter().map(|it| it.exclusive_us));
            inclusive_us.clear();
            inclusive_us.extend(executions.iter().map(|it| it.inclusive_us));
            let exclusive = Moments::of(&exclusive_us);
            // Exclusive and inclusive times are equal for functions without callees.
            let is_leaf = exclusive_us == inclusive_us;
            judged.push(JudgedFunction {
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
        (judged, found)
    }

    /// Returns the lanes with their outliers, in order of thread.
    pub(super) fn lanes(&self) -> Vec<JudgedLane<'_>> {
        let lanes = self.builder.lanes().zip(self.lanes.values());
        let judged = lanes.map(|((thread, stack), state)| JudgedLane {
            thread,
            stack,
            anomalies: &state.anomalies,
        });
        judged.collect()
    }

    /// Returns each lane with the row of the first counter sample that was not searched for launches.
    pub(super) fn unsearched(&mut self) -> impl Iterator<Item = (JudgedLane<'_>, usize)> {
        let lanes = self.builder.lanes().zip(self.lanes.values_mut());
        lanes.map(|((thread, stack), state)| {
            let first = std::mem::replace(&mut state.num_counters_seen, stack.counters().len());
            let lane = JudgedLane {
                thread,
                stack,
                anomalies: &state.anomalies,
            };
            (lane, first)
        })
    }

    /// Drops ended executions, except for the newest `window` and those from the first kept row of a thread.
    pub(super) fn retire(&mut self, window: usize, first_kept_row: &BTreeMap<ThreadId, ExecIdx>) {
        let lanes = &mut self.lanes;
        self.builder.retire(
            window,
            |thread| first_kept_row.get(&thread).copied(),
            MAX_EVENTS_KEPT,
            |thread, kept| {
                if let Some(state) = lanes.get_mut(&thread) {
                    state.anomalies.retain_mut(|exec| {
                        let row = kept.binary_search(exec);
                        *exec = row.map_or(*exec, ExecIdx::from_index);
                        row.is_ok()
                    });
                    state.writes.retain_mut(|(exec, _)| {
                        let row = kept.binary_search(exec);
                        *exec = row.map_or(*exec, ExecIdx::from_index);
                        row.is_ok()
                    });
                }
            },
        );
        for ((_, stack), state) in self.builder.lanes().zip(self.lanes.values_mut()) {
            state.num_counters_seen = stack.counters().len();
        }
    }

    /// Ends the stream. Open executions are not judged.
    pub(super) fn finish(self) -> Warnings {
        self.builder
            .finish(NameTable::default(), NameTable::default())
            .warnings
    }
}
