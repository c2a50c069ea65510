//! Live streams, which are read once: each step is learnt and judged when it arrives.

use std::sync::Arc;

use callgrove_detect::Judge;
use rayon::prelude::*;

use super::Instance;
use super::deltas::ModelDeltas;
use super::turn::{Positioned, at_work};
use crate::compiled_model::{RoundModels, compile_models};
use crate::error::AdError;
use crate::stream_reader::StepInput;

impl Instance {
    /// Reads and judges the steps that have arrived, if there are any.
    pub(super) fn live_round(&mut self) -> Result<(), AdError> {
        let inputs = self.streams.collect(&mut self.detectors);
        if !inputs.is_empty() {
            return self.judge_arrived(inputs);
        }
        // The next step may be far off.
        let reports = self.reporter.take_settled_reports(&self.recorder);
        if !reports.is_empty() {
            self.exchange_models(ModelDeltas::default(), &reports)?;
        }
        Ok(())
    }

    /// Ends the readers, and judges the steps that they have read: a job does not send a step twice.
    pub(super) fn judge_read_ahead(&mut self) -> Result<(), AdError> {
        self.streams.stop();
        loop {
            let inputs = self.streams.collect(&mut self.detectors);
            if inputs.is_empty() {
                return Ok(());
            }
            self.judge_arrived(inputs)?;
        }
    }

    /// Reads and judges the steps that have arrived on live streams, by models that include them.
    fn judge_arrived(&mut self, inputs: Positioned<StepInput>) -> Result<(), AdError> {
        let inputs = self.begin_round(inputs)?;
        // The exchange takes the reports even if it answers with an error.
        let reports = self.reporter.take_settled_reports(&self.recorder);
        let recorded = self.recorder.is_recording();
        let (options, functions) = (&self.options, &self.functions);
        let at_work = at_work(&mut self.detectors, inputs).into_par_iter();
        let learnt = at_work.map(|(position, detector, input)| {
            detector.take_in(input, options, functions.len(), recorded);
            (position, detector.learn(options, functions))
        });
        let (positions, learnt): (Vec<usize>, Vec<_>) = learnt.unzip();
        let new_steps = positions
            .iter()
            .filter_map(|it| self.detectors[*it].new_step());
        let new_steps: Vec<_> = new_steps.collect();
        let is_news = !new_steps.is_empty();
        let mut deltas = ModelDeltas::default();
        deltas.add(new_steps, learnt.into_iter().flatten())?;
        let models = self.exchange_models(deltas, &reports)?;
        let params = &self.options.params;
        let newest = compile_models(models, &self.functions, params, Judge::of_recent);
        self.take_tree_models();
        for (function, compiled) in self.functions.iter_mut().zip(&newest) {
            if let Some(compiled) = compiled {
                function.model = Some(Arc::clone(&compiled.model));
                // Steps that are read again are judged by models of later steps.
                if is_news {
                    function.reached.raise(compiled.judge.threshold());
                }
            }
        }
        let (options, models) = (
            &self.options,
            RoundModels {
                compiled: &newest,
                functions: &self.functions,
                trees: &self.tree_models,
            },
        );
        let with_step = self.detectors.par_iter_mut().enumerate();
        let with_step = with_step.filter(|(position, _)| positions.binary_search(position).is_ok());
        let judged = with_step.map(|(position, detector)| {
            let outcome = detector.judge(&models, options, recorded);
            (position, vec![outcome])
        });
        let judged = judged.collect();
        self.add_outcomes(judged)
    }

    /// Registers the run and the functions of live steps.
    fn begin_round(
        &mut self,
        mut inputs: Positioned<StepInput>,
    ) -> Result<Positioned<StepInput>, AdError> {
        self.status.num_steps += inputs.len() as u64;
        self.register_run(&inputs)?;
        for (position, input) in &mut inputs {
            self.status.num_events += input.num_events();
            let news = std::mem::take(&mut input.announced);
            let rank = self.reporter.hello.ranks[*position];
            self.recorder.announce(*position, rank, news);
        }
        self.name_functions(&inputs)?;
        Ok(inputs)
    }
}
