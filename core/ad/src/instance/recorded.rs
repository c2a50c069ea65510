//! Recorded streams, which are read twice: the models learn, then everything is judged by them.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::Instance;
use super::deltas::ModelDeltas;
use super::status::OnStatus;
use super::turn::{Positioned, Turn, TurnLimit, TurnSteps, at_work};
use crate::compiled_model::RoundModels;
use crate::error::AdError;
use crate::rank_detector::RankDetector;
use crate::stream_reader::StepInput;

impl Instance {
    /// Reads recorded streams for the first time: the models learn, and nothing is judged.
    pub(super) fn learn_all(
        &mut self,
        watch: &mut impl OnStatus,
    ) -> Result<ControlFlow<()>, AdError> {
        let (mut unsent, mut is_stopped) = (ModelDeltas::default(), false);
        while !is_stopped && !self.streams.have_ended() {
            let (options, functions) = (&self.options, &self.functions);
            let learn = |detector: &mut RankDetector, steps: &mut TurnSteps<'_>| {
                detector.learn_steps(steps, options, functions)
            };
            let limit = TurnLimit::LEARNING;
            let turns = self.streams.take_turns(&mut self.detectors, limit, learn);
            let (mut learnt, waiting) = self.settle_turns(turns)?;
            let (options, functions) = (&self.options, &self.functions);
            let rest = at_work(&mut self.detectors, waiting).into_par_iter();
            learnt.par_extend(rest.map(|(position, detector, input)| {
                let learnt = detector.learn_steps(std::iter::once(input), options, functions);
                (position, learnt)
            }));
            learnt.sort_by_key(|it| it.0);
            for (_, learnt) in learnt {
                unsent.add(learnt.steps, learnt.models)?;
            }
            if self.reporter.pace.is_due() {
                let models = self.exchange_models(std::mem::take(&mut unsent), &[])?;
                self.functions.take_models(models);
            }
            is_stopped = watch(&self.status).is_break();
        }
        let models = self.exchange_models(unsent, &[])?;
        self.functions.take_models(models);
        if is_stopped {
            return Ok(ControlFlow::Break(()));
        }
        self.register_run(&[])?;
        Ok(ControlFlow::Continue(()))
    }

    /// Reopens the streams for the second pass, which judges them.
    pub(super) fn start_second_pass(&mut self) -> Result<(), AdError> {
        let welcome = self.reporter.register()?;
        let final_ranks = welcome.map_or_else(Vec::new, |welcome| welcome.final_ranks);
        self.streams.reopen(&self.reporter.hello.ranks)?;
        for detector in &mut self.detectors {
            *detector = detector.for_second_pass(final_ranks.contains(&detector.rank()));
        }
        Ok(())
    }

    /// Judges the next steps of each recorded stream by the complete models, which must exist.
    pub(super) fn second_pass_round(&mut self, watch: &mut impl OnStatus) -> Result<(), AdError> {
        if self.reporter.exchange.is_full() {
            self.reporter.settle(&mut self.status, watch)?;
        }
        if self.reporter.pace.is_due() {
            let reports = self.reporter.take_settled_reports(&self.recorder);
            self.exchange_models(ModelDeltas::default(), &reports)?;
        }
        self.take_tree_models();
        let (options, recorded) = (&self.options, self.recorder.is_recording());
        let models =
            RoundModels::complete(self.complete.as_ref(), &self.functions, &self.tree_models);
        let judge = |detector: &mut RankDetector, steps: &mut TurnSteps<'_>| {
            let judged = steps.map(|it| detector.take_in_and_judge(it, &models, options, recorded));
            judged.collect::<Vec<_>>()
        };
        let limit = TurnLimit::judging(self.streams.len());
        let turns = self.streams.take_turns(&mut self.detectors, limit, judge);
        let (mut judged, waiting) = self.settle_turns(turns)?;
        let options = &self.options;
        let models =
            RoundModels::complete(self.complete.as_ref(), &self.functions, &self.tree_models);
        let rest = at_work(&mut self.detectors, waiting).into_par_iter();
        judged.par_extend(rest.map(|(position, detector, input)| {
            let outcome = detector.take_in_and_judge(input, &models, options, recorded);
            (position, vec![outcome])
        }));
        judged.sort_by_key(|it| it.0);
        self.add_outcomes(judged)
    }

    /// Reports the final anomalies, after everything was judged by the complete models.
    pub(super) fn conclude(&mut self) {
        let learnt_in = self.complete.as_ref().map_or(0, |it| it.learnt_in);
        let detectors = self.detectors.iter_mut();
        let found = detectors.map(|it| (it.rank(), it.take_final_anomalies(learnt_in)));
        self.reporter.exchange.conclude(found.collect());
    }

    /// Splits turns into completed work and waiting steps, and registers the new names of the waiting steps.
    fn settle_turns<T>(
        &mut self,
        turns: Vec<(T, Turn)>,
    ) -> Result<(Positioned<T>, Positioned<StepInput>), AdError> {
        let (mut all_done, mut waiting) = (Vec::new(), Vec::new());
        for (position, (done, turn)) in turns.into_iter().enumerate() {
            self.reporter.pace.add(&turn);
            // Both passes read the same steps; only the second one counts.
            if self.complete.is_some() {
                self.status.num_steps += turn.num_steps;
                self.status.num_events += turn.num_events;
            }
            all_done.push((position, done));
            waiting.extend(turn.waiting.map(|input| (position, input)));
        }
        self.register_run(&waiting)?;
        self.name_functions(&waiting)?;
        Ok((all_done, waiting))
    }
}
