//! A round: takes in and judges the next step or steps of each stream that has any.

use std::sync::Arc;
use std::time::Duration;

use callgrove_detect::{FuncModel, Judge};
use callgrove_model::FuncId;
use callgrove_provdb::ProvDbError;
use callgrove_pserver::StepReport;
use rayon::prelude::*;

use super::Instance;
use super::deltas::ModelDeltas;
use super::turn::{ExchangePace, Turn, TurnLimit, TurnSteps, take_turns};
use crate::compiled_model::{RoundModels, compile_models};
use crate::rank_detector::{RankDetector, StepOutcome};
use crate::stream_reader::{StepInput, StepPoll, StreamReader};
use crate::{AdError, Pacing};

/// How long a live round without a step waits before it checks all streams again.
const LIVE_WAIT: Duration = Duration::from_millis(100);

/// Values by stream index.
type Positioned<T> = Vec<(usize, T)>;

/// Returns the detectors that have a step, each with its index and step.
pub(super) fn at_work(
    detectors: &mut [RankDetector],
    inputs: Positioned<StepInput>,
) -> Vec<(usize, &mut RankDetector, StepInput)> {
    let mut inputs = inputs.into_iter().peekable();
    let with_step = detectors.iter_mut().enumerate();
    let with_step = with_step.filter_map(|(position, detector)| {
        let (_, input) = inputs.next_if(|(of, _)| *of == position)?;
        Some((position, detector, input))
    });
    with_step.collect()
}

impl Instance {
    /// Splits turns into completed work and waiting steps, and registers the new names of the waiting steps.
    pub(super) fn settle_turns<T>(
        &mut self,
        turns: Vec<(T, Turn)>,
    ) -> Result<(Positioned<T>, Positioned<StepInput>), AdError> {
        let (mut all_done, mut waiting) = (Vec::new(), Vec::new());
        for (position, (done, turn)) in turns.into_iter().enumerate() {
            self.num_ranks = self.num_ranks.max(turn.num_ranks);
            self.pace.add(&turn);
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

    /// Judges the next steps of each recorded stream by the complete models, which must exist.
    pub(super) fn second_pass_round(&mut self) -> Result<(), AdError> {
        if self.pace.is_due() {
            let reports = self.settled_reports();
            self.exchange_models(ModelDeltas::default(), &reports)?;
        }
        self.take_tree_models();
        let (options, recorded) = (&self.options, self.writer.is_some());
        let models =
            RoundModels::complete(self.complete.as_ref(), &self.functions, &self.tree_models);
        let judge = |detector: &mut RankDetector, steps: &mut TurnSteps<'_>| {
            let judged = steps.map(|it| detector.take_in_and_judge(it, &models, options, recorded));
            judged.collect::<Vec<_>>()
        };
        let limit = TurnLimit::judging(self.readers.len());
        let turns = take_turns(&mut self.readers, &mut self.detectors, limit, judge);
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

    /// Returns the steps of a round, in order of rank.
    pub(super) fn collect(&mut self) -> Positioned<StepInput> {
        let next = |reader: &mut StreamReader| (!reader.has_ended()).then(|| reader.next());
        let polls: Vec<Option<StepPoll>> = self.readers.par_iter_mut().map(next).collect();
        let mut inputs = Vec::new();
        for (position, poll) in polls.into_iter().enumerate() {
            match poll {
                Some(StepPoll::Step(input)) => {
                    self.num_ranks = self.num_ranks.max(input.num_ranks);
                    inputs.push((position, *input));
                }
                Some(StepPoll::NotReady) | None => {}
                Some(StepPoll::End(warnings)) => self.detectors[position].warnings.join(warnings),
            }
        }
        if inputs.is_empty() && self.options.pacing == Pacing::Live {
            self.signal.wait(LIVE_WAIT);
        }
        inputs
    }

    /// Takes in and judges the steps that have arrived on live streams, by models that include them.
    pub(super) fn round(&mut self, inputs: Positioned<StepInput>) -> Result<(), AdError> {
        let inputs = self.begin_round(inputs)?;
        // The exchange takes the reports even if it answers with an error.
        let reports = self.settled_reports();
        let recorded = self.writer.is_some();
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

    /// Sends changes and reports to the exchange, and updates the status of the connection. Returns the newest models
    /// of the changed functions.
    pub(super) fn exchange_models(
        &mut self,
        mut deltas: ModelDeltas,
        reports: &[StepReport],
    ) -> Result<Vec<(FuncId, Arc<FuncModel>)>, AdError> {
        self.pace = ExchangePace::default();
        self.exchange
            .learn_steps(&std::mem::take(&mut deltas.steps));
        let deltas = deltas.by_fid(&self.functions);
        let synced = self.exchange.sync_and_report(deltas, reports)?;
        self.status.set_link(synced.link);
        Ok(synced.models)
    }

    /// Sends the reports whose documents were stored since the last round, as the next round may be far off.
    pub(super) fn send_settled_reports(&mut self) -> Result<(), AdError> {
        let reports = self.settled_reports();
        if !reports.is_empty() {
            self.exchange_models(ModelDeltas::default(), &reports)?;
        }
        Ok(())
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
            let (news, rank) = (
                std::mem::take(&mut input.announced),
                self.hello.ranks[*position],
            );
            let writer = self.writer.as_ref();
            self.announced[*position].save(news, writer, self.options.program, rank);
        }
        self.name_functions(&inputs)?;
        Ok(inputs)
    }

    /// Takes over tree models that have been put in force.
    fn take_tree_models(&mut self) {
        let updates = self.exchange.take_tree_models();
        if !updates.is_empty() {
            let (trees, functions) = (&self.options.trees, self.functions.names());
            self.status.tree_trouble = self.tree_models.take(updates, trees, functions);
        }
    }

    /// Passes on the results of a round, in order of rank.
    fn add_outcomes(
        &mut self,
        judged: Positioned<Vec<Result<StepOutcome, ProvDbError>>>,
    ) -> Result<(), AdError> {
        let steps = judged.into_iter();
        for (position, step) in
            steps.flat_map(|(at, steps)| steps.into_iter().map(move |it| (at, it)))
        {
            let step = step?;
            self.status.num_executions += step.num_executions;
            let fits = self.status.count_trees(step.trees).into_iter();
            let (trees, functions) = (&self.options.trees, self.functions.names());
            let unfit = self.tree_models.add_fits(fits, trees, functions);
            self.status.count_unfit(unfit);
            match &step.report {
                Some(_) => self.status.num_anomalies += step.num_anomalies,
                None => self.status.num_known_steps += 1,
            }
            let num_sent = self.writer.as_mut().map(|writer| {
                if let Some(replaced) = step.replaced {
                    let rank = self.hello.ranks[position];
                    writer.remove_step(self.options.program, rank, replaced);
                }
                writer.send(step.documents)
            });
            let num_sent = num_sent.unwrap_or_default();
            self.reports
                .extend(step.report.map(|report| (num_sent, report)));
        }
        Ok(())
    }
}
