//! Detection on one rank: its call stacks across steps, the verdicts on the executions that ended in a step, and the
//! resulting records and report.

mod calls;
mod facts;
mod known_steps;
mod learning;
mod left_out;
mod rank_counters;
mod records;
mod step_learner;
mod step_report;
mod trees;
mod writes;

use std::cell::Cell;
use std::collections::BTreeMap;

use callgrove_detect::CallerKey;
use callgrove_model::{ProgramId, RankId, StepId, Warnings};
use callgrove_provdb::{Document, ProvDbError};
use callgrove_pserver::{AnomalySummary, FinalAnomalies, StepReport, TreePValues};
use callgrove_records::{NamedFunction, RecordSelection, StepTimes};

use crate::by_function::{ExecutionsByFunction, JudgedFunctions};
use crate::compiled_model::RoundModels;
use crate::options::AdOptions;
use crate::rank_trees::{RankTrees, TreeOutcome};
use crate::stall_summary::StallTracker;
use crate::stream_reader::StepInput;

use calls::RankCalls;
use facts::RankFacts;
use known_steps::KnownSteps;
use step_learner::StepLearner;

thread_local! {
    /// The executions of a step, reused by a worker for all ranks.
    static EXECUTIONS: Cell<ExecutionsByFunction> = Cell::default();
}

/// The detector of one rank.
#[derive(Debug)]
pub(crate) struct RankDetector {
    program: ProgramId,
    rank: RankId,
    /// Indexed by the rank's own ids.
    functions: Vec<NamedFunction>,
    judged: JudgedFunctions,
    learner: StepLearner,
    calls: RankCalls,
    trees: RankTrees,
    facts: RankFacts,
    stalls: StallTracker,
    /// All anomalies so far, for a final report.
    final_anomalies: FinalAnomalies,
    pub(crate) known: KnownSteps,
    selection: RecordSelection,
    /// Number of ranks that share a budget.
    num_ranks: u32,
    /// True if documents of any step were written.
    has_written: bool,
    /// The times of the last step.
    span: StepTimes,
    pub(crate) warnings: Warnings,
}

/// The result of a judged step.
#[derive(Debug)]
pub(crate) struct StepOutcome {
    /// The step, if records of an earlier instance must be removed first, because other models judged them.
    pub(crate) replaced: Option<StepId>,
    pub(crate) documents: Vec<Document>,
    /// `None` if the parameter server already knows the step.
    pub(crate) report: Option<StepReport>,
    pub(crate) num_executions: u64,
    pub(crate) num_anomalies: u64,
    /// Number of documents that the budget left out.
    pub(crate) num_left_out: u64,
    /// The outcome for trees; its documents are in `documents`.
    pub(crate) trees: TreeOutcome,
}

impl RankDetector {
    pub(crate) fn new(program: ProgramId, rank: RankId) -> Self {
        Self {
            program,
            rank,
            functions: Vec::new(),
            judged: JudgedFunctions::default(),
            learner: StepLearner::default(),
            calls: RankCalls::new(program, rank),
            trees: RankTrees::default(),
            facts: RankFacts::default(),
            stalls: StallTracker::default(),
            final_anomalies: FinalAnomalies::default(),
            known: KnownSteps::default(),
            selection: RecordSelection::default(),
            num_ranks: 0,
            has_written: false,
            span: StepTimes::default(),
            warnings: Warnings::default(),
        }
    }

    /// Returns a new detector for the second pass. `is_final`: another instance has judged the rank by complete models.
    pub(crate) fn for_second_pass(&self, is_final: bool) -> Self {
        Self {
            known: KnownSteps {
                rerecords: !is_final,
                ..self.known
            },
            ..Self::new(self.program, self.rank)
        }
    }

    /// Adds a function, which gets the rank's next id. Without a `number` it is not judged.
    pub(crate) fn name_function(&mut self, function: NamedFunction, number: Option<u32>) {
        self.judged.push(CallerKey::of(&function.name), number);
        self.functions.push(function);
    }

    /// Continues after the trees that an earlier instance judged, up to the last reported step.
    pub(crate) fn resume_after(&mut self, tree_p_values: TreePValues) {
        self.trees.resume_after(tree_p_values);
    }

    pub(crate) fn rank(&self) -> RankId {
        self.rank
    }

    /// Returns the last step, unless the models already include it because an earlier instance sent it.
    pub(crate) fn new_step(&self) -> Option<(RankId, StepId)> {
        let step = self.span.step();
        (!self.known.has_learnt(step)).then_some((self.rank, step))
    }

    /// Processes a step. `num_functions` functions have numbers. The step is only timed if the run is `recorded`.
    pub(crate) fn take_in(
        &mut self,
        input: StepInput,
        options: &AdOptions,
        num_functions: usize,
        recorded: bool,
    ) {
        let StepInput {
            mut batch,
            counters,
            warnings,
            num_ranks,
            ..
        } = input;
        self.warnings.join(warnings);
        // A stream that does not state the number of ranks is at least of this many.
        self.num_ranks = num_ranks.max(self.rank.0.saturating_add(1));
        self.calls.move_exits(&mut batch.funcs);
        self.span = if recorded {
            StepTimes::of(&batch)
        } else {
            StepTimes::unknown(batch.step)
        };
        self.stalls.begin_step(&batch.funcs);
        self.facts
            .take_in(&mut batch, self.program, counters, &options.watchlist);
        self.calls
            .take_in(*batch, &self.judged, num_functions, options.statistic);
        self.facts.remember_launches(self.rank, &mut self.calls);
    }

    /// Processes a step and judges it by models that need nothing from it.
    pub(crate) fn take_in_and_judge(
        &mut self,
        input: StepInput,
        models: &RoundModels<'_>,
        options: &AdOptions,
        recorded: bool,
    ) -> Result<StepOutcome, ProvDbError> {
        self.calls.executions = EXECUTIONS.take();
        self.take_in(input, options, models.functions.len(), recorded);
        let outcome = self.judge(models, options, recorded);
        EXECUTIONS.set(std::mem::take(&mut self.calls.executions));
        outcome
    }

    /// Judges the executions that ended in the last step, reports it, and drops ended executions. Documents are only
    /// made if the run is `recorded`.
    pub(crate) fn judge(
        &mut self,
        models: &RoundModels<'_>,
        options: &AdOptions,
        recorded: bool,
    ) -> Result<StepOutcome, ProvDbError> {
        let RoundModels {
            compiled,
            functions: all,
            ..
        } = *models;
        let (functions, found) = self.calls.judge(
            &self.judged,
            compiled,
            options.statistic,
            &self.facts.lacks_normal,
        );
        let num_executions = functions.iter().map(|it| it.num_executions).sum();
        let num_anomalies = found
            .iter()
            .map(|of_function| of_function.anomalies.len() as u64)
            .sum();
        let summary = self.stall_summary(&found, compiled, all, options);
        let lanes = self.calls.lanes();
        let anomalies = found.iter().map(|it| (it.number, it.summary(&lanes)));
        let anomalies: BTreeMap<u32, AnomalySummary> = anomalies.collect();
        drop(lanes);
        self.add_final_anomalies(&anomalies, all);
        let mut report = self.report(functions, &anomalies, all, summary);
        let metadata = std::mem::take(&mut self.facts.metadata);
        let mut documents = Vec::new();
        let step = self.span.step();
        let writes = recorded && self.known.counts(step);
        if writes {
            for record in &metadata {
                documents.push(Document::metadata(record)?);
            }
        }
        let left_out_before = self.num_left_out();
        let budget = options.budget.filter(|_| recorded);
        if let Some(budget) = budget {
            self.selection
                .begin_step(budget, self.span.end_us, self.num_ranks);
        }
        // The budget counts steps that are not written again, so that it continues as it did the first time.
        if writes || budget.is_some() {
            let records = self.plan_records(&found, compiled, options);
            let records = self.within_budget(budget, records, |it| it.candidate);
            if writes {
                self.write_records(records, compiled, options, &mut documents)?;
            }
        }
        let is_known = self.known.has_reported(step);
        let mut trees = self.judge_trees(models.trees)?;
        if let Some(report) = &mut report {
            report.tree_p_values = std::mem::take(&mut trees.p_values);
        }
        let of_trees = std::mem::take(&mut trees.documents);
        let of_trees = self.within_budget(budget, of_trees, |it| it.candidate);
        if writes {
            documents.extend(of_trees.into_iter().map(|it| it.document));
            self.has_written = true;
            documents.extend(self.left_out_news(left_out_before, all)?);
        }
        if is_known {
            (trees.num_judged, trees.num_abnormal) = (0, 0);
        }
        self.retire(options.window);
        Ok(StepOutcome {
            replaced: Some(step).filter(|_| writes && Some(step) <= self.known.recorded_until),
            documents,
            report,
            num_executions,
            num_anomalies,
            num_left_out: self.num_left_out() - left_out_before,
            trees,
        })
    }

    /// Ends the stream. Open executions are not judged.
    pub(crate) fn finish(self) -> Warnings {
        let mut warnings = self.warnings;
        warnings.join(self.calls.finish());
        warnings.join(self.learner.warnings);
        warnings
    }
}
