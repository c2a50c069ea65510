//! The times that the steps of a rank add to the models.

use std::cell::Cell;

use callgrove_detect::{FuncModel, same_epoch};
use callgrove_model::{RankId, StepId};
use callgrove_records::StepTimes;

use super::RankDetector;
use crate::by_function::TimesByCaller;
use crate::functions::InstanceFunctions;
use crate::options::AdOptions;
use crate::stream_reader::StepInput;

thread_local! {
    /// The times that models learn, reused by a worker for all ranks.
    static TIMES: Cell<TimesByCaller> = Cell::default();
}

/// Changes of the models by some steps.
#[derive(Debug, Default)]
pub(crate) struct LearntSteps {
    /// By function number; a function may have several parts.
    pub(crate) models: Vec<(u32, FuncModel)>,
    /// The steps that are new to the parameter server.
    pub(crate) steps: Vec<(RankId, StepId)>,
}

impl RankDetector {
    /// Processes steps that are not judged. `functions` have the newest known models.
    pub(crate) fn learn_steps(
        &mut self,
        steps: impl Iterator<Item = StepInput>,
        options: &AdOptions,
        functions: &InstanceFunctions,
    ) -> LearntSteps {
        let (mut learnt, mut times) = (LearntSteps::default(), TIMES.take());
        times.begin(functions.len());
        let mut last: Option<(StepId, bool)> = None;
        for StepInput { mut batch, .. } in steps {
            self.span = StepTimes::unknown(batch.step);
            let new_step = self.new_step();
            let (step, is_new) = (batch.step, new_step.is_some());
            // Learning small steps together costs much less than one by one.
            if let Some(last) = last
                && (last.1 != is_new || !same_epoch(last.0, step))
            {
                times.learn(last, options, functions, &mut learnt.models);
                times.begin(functions.len());
            }
            last = Some((step, is_new));
            learnt.steps.extend(new_step);
            let (rank, judged) = (self.rank, &self.judged);
            self.learner.take_in(rank, &mut batch.funcs, |call| {
                times.push(judged, call, options.statistic);
            });
        }
        if let Some(last) = last {
            times.learn(last, options, functions, &mut learnt.models);
        }
        TIMES.set(times);
        learnt
    }

    /// Returns, for each function with executions that ended in the last step, what they add to its model: nothing if
    /// the parameter server already knows the step. `functions` have the newest known models.
    pub(crate) fn learn(
        &self,
        options: &AdOptions,
        functions: &InstanceFunctions,
    ) -> Vec<(u32, FuncModel)> {
        let (mut learnt, mut times) = (Vec::new(), TIMES.take());
        times.begin(functions.len());
        for (number, executions) in self.calls.executions.functions() {
            for execution in executions {
                let time_us = execution.judged_us(options.statistic);
                times.add(&self.judged, (number, execution.caller), time_us);
            }
        }
        let step = (self.span.step(), self.new_step().is_some());
        times.learn(step, options, functions, &mut learnt);
        TIMES.set(times);
        learnt
    }
}
