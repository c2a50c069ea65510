//! Detection on one rank: its call stacks across steps, the verdicts on the executions that ended in a step, and the
//! resulting records and report.

mod judging;
mod rank_counters;
mod step_learner;
mod step_report;
mod trees;
mod writes;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_detect::{CallerKey, FuncModel, same_epoch};
use callgrove_model::{
    ExecIdx, ProgramId, RankBuilder, RankId, StepBatch, StepId, ThreadId, Warnings,
};
use callgrove_provdb::{Collection, Document, MetadataRecord, ProvDbError};
use callgrove_pserver::{AnomalySummary, FinalAnomalies, StepReport, TreePValues};

use crate::AdOptions;
use crate::by_function::{ExecutionsByFunction, JudgedFunctions, TimesByCaller};
use crate::compiled_model::{CompiledModel, RoundModels};
use crate::functions::InstanceFunctions;
use crate::gpu::{GpuThreads, Launches};
use crate::message_numbers::MessageNumbers;
use crate::node_state::NodeWatch;
use crate::outliers::FunctionOutliers;
use crate::rank_trees::{RankTrees, TreeOutcome};
use crate::record_builder::{JudgedLane, KernelLaunch, NamedFunction, RecordBuilder, StepTimes};
use crate::stall_summary::StallTracker;
use crate::stream_reader::StepInput;

use rank_counters::RankCounters;
use step_learner::StepLearner;
use writes::StepGaps;

/// Number of messages and counter samples kept for calls that stay open; the oldest are dropped first.
const MAX_EVENTS_KEPT: usize = 1024;

thread_local! {
    /// The executions of a step, reused by a worker for all ranks.
    static EXECUTIONS: Cell<ExecutionsByFunction> = Cell::default();
    /// The times that models learn, reused by a worker for all ranks.
    static TIMES: Cell<TimesByCaller> = Cell::default();
}

/// The detector of one rank.
#[derive(Debug)]
pub(crate) struct RankDetector {
    program: ProgramId,
    rank: RankId,
    builder: RankBuilder,
    lanes: BTreeMap<ThreadId, LaneState>,
    /// Indexed by the rank's own ids.
    functions: Vec<NamedFunction>,
    judged: JudgedFunctions,
    counters: RankCounters,
    gpu: GpuThreads,
    launches: Launches<KernelLaunch>,
    node: NodeWatch,
    message_numbers: MessageNumbers,
    stalls: StallTracker,
    trees: RankTrees,
    hostname: Arc<str>,
    executions: ExecutionsByFunction,
    learner: StepLearner,
    gaps: StepGaps,
    span: StepTimes,
    /// Functions with anomalies for which no normal execution was stored yet.
    lacks_normal: BTreeSet<u32>,
    /// The last step that the parameter server already knows.
    pub(crate) reported_until: Option<StepId>,
    /// The last step that the models already include.
    pub(crate) learnt_until: Option<StepId>,
    /// The last step of which an earlier instance stored records.
    pub(crate) recorded_until: Option<StepId>,
    /// True if steps that were already reported are recorded again, because other models judged them.
    rerecords: bool,
    /// All anomalies so far, for a final report.
    final_anomalies: FinalAnomalies,
    /// Metadata of the current step.
    metadata: Vec<MetadataRecord>,
    pub(crate) warnings: Warnings,
}

#[derive(Debug, Default)]
struct LaneState {
    /// The outliers among the executions in memory, ascending.
    anomalies: Vec<ExecIdx>,
    /// Open executions in which the tracer may have written, each with the time in µs.
    writes: Vec<(ExecIdx, u64)>,
    /// Number of counter samples already searched for launches.
    num_counters_seen: usize,
}

/// Changes of the models by some steps.
#[derive(Debug, Default)]
pub(crate) struct LearntSteps {
    /// By function number; a function may have several parts.
    pub(crate) models: Vec<(u32, FuncModel)>,
    /// The steps that are new to the parameter server.
    pub(crate) steps: Vec<(RankId, StepId)>,
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
    /// The outcome for trees; its documents are in `documents`.
    pub(crate) trees: TreeOutcome,
}

impl RankDetector {
    pub(crate) fn new(program: ProgramId, rank: RankId) -> Self {
        Self {
            program,
            rank,
            builder: RankBuilder::new(program, rank),
            lanes: BTreeMap::new(),
            functions: Vec::new(),
            judged: JudgedFunctions::default(),
            counters: RankCounters::default(),
            gpu: GpuThreads::default(),
            launches: Launches::default(),
            node: NodeWatch::default(),
            message_numbers: MessageNumbers::default(),
            stalls: StallTracker::default(),
            trees: RankTrees::default(),
            hostname: Arc::from(""),
            executions: ExecutionsByFunction::default(),
            learner: StepLearner::default(),
            gaps: StepGaps::default(),
            span: StepTimes::default(),
            lacks_normal: BTreeSet::new(),
            reported_until: None,
            learnt_until: None,
            recorded_until: None,
            rerecords: false,
            final_anomalies: FinalAnomalies::default(),
            metadata: Vec::new(),
            warnings: Warnings::default(),
        }
    }

    /// Returns a new detector for the second pass. `is_final`: another instance has judged the rank by complete models.
    pub(crate) fn for_second_pass(&self, is_final: bool) -> Self {
        Self {
            reported_until: self.reported_until,
            learnt_until: self.learnt_until,
            recorded_until: self.recorded_until,
            rerecords: !is_final,
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
        let is_learnt = self.reported_until.max(self.learnt_until) >= Some(step);
        (!is_learnt).then_some((self.rank, step))
    }

    /// Returns whether a step was already reported, and so was recorded.
    fn has_reported(&self, step: StepId) -> bool {
        self.reported_until.is_some_and(|last| step <= last)
    }

    /// Takes in a step. `num_functions` functions have numbers. The step is only timed if the run is `recorded`.
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
            ..
        } = input;
        self.warnings.join(warnings);
        self.counters.add_names(counters, &options.watchlist);
        self.learn_metadata(&batch);
        self.span = if recorded {
            StepTimes::of(&batch)
        } else {
            StepTimes::unknown(batch.step)
        };
        self.message_numbers.take_in(batch.step, &batch.comms);
        self.stalls.begin_step(&batch.funcs);
        self.record_write(&batch.funcs, options.statistic);
        self.counters.take_in(&mut batch.counters, &mut self.node);
        let (executions, judged) = (&mut self.executions, &self.judged);
        executions.begin(num_functions);
        self.builder.follow(*batch, |lane, call| {
            executions.push(judged, lane, &call);
        });
        self.executions.settle();
        for (thread, _) in self.builder.lanes() {
            self.lanes.entry(thread).or_default();
        }
        self.remember_launches();
    }

    /// Takes in a step and judges it by models that need nothing from it.
    pub(crate) fn take_in_and_judge(
        &mut self,
        input: StepInput,
        models: &RoundModels<'_>,
        options: &AdOptions,
        recorded: bool,
    ) -> Result<StepOutcome, ProvDbError> {
        self.executions = EXECUTIONS.take();
        self.take_in(input, options, models.functions.len(), recorded);
        let outcome = self.judge(models, options, recorded);
        EXECUTIONS.set(std::mem::take(&mut self.executions));
        outcome
    }

    /// Takes in steps that are not judged. `functions` have the newest known models.
    pub(crate) fn learn_steps(
        &mut self,
        steps: impl Iterator<Item = StepInput>,
        options: &AdOptions,
        functions: &InstanceFunctions,
    ) -> LearntSteps {
        let (mut learnt, mut times) = (LearntSteps::default(), TIMES.take());
        times.begin(functions.len());
        let mut last: Option<(StepId, bool)> = None;
        for StepInput { batch, .. } in steps {
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
            self.learner.take_in(rank, &batch.funcs, |call| {
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
        for (number, executions) in self.executions.functions() {
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
        let (functions, found) = self.judge_executions(compiled, options);
        let num_executions = functions.iter().map(|it| it.num_executions).sum();
        let num_anomalies = found
            .iter()
            .map(|of_function| of_function.anomalies.len() as u64)
            .sum();
        let summary = self.stall_summary(&found, compiled, all, options);
        let lanes = self.judged_lanes();
        let anomalies = found.iter().map(|it| (it.number, it.summary(&lanes)));
        let anomalies: BTreeMap<u32, AnomalySummary> = anomalies.collect();
        drop(lanes);
        self.add_final_anomalies(&anomalies, all);
        let mut report = self.report(functions, &anomalies, all, summary);
        let metadata = std::mem::take(&mut self.metadata);
        let mut documents = Vec::new();
        let step = self.span.step();
        let writes = recorded && (self.rerecords || !self.has_reported(step));
        if writes {
            for record in &metadata {
                documents.push(Document::metadata(record)?);
            }
            self.write_records(&found, compiled, options, &mut documents)?;
        }
        let is_known = self.has_reported(step);
        let mut trees = self.judge_trees(models.trees)?;
        if let Some(report) = &mut report {
            report.tree_p_values = std::mem::take(&mut trees.p_values);
        }
        let of_trees = std::mem::take(&mut trees.documents);
        if writes {
            documents.extend(of_trees);
        }
        if is_known {
            (trees.num_judged, trees.num_abnormal) = (0, 0);
        }
        self.retire(options.window);
        Ok(StepOutcome {
            replaced: Some(step).filter(|_| writes && Some(step) <= self.recorded_until),
            documents,
            report,
            num_executions,
            num_anomalies,
            trees,
        })
    }

    /// Ends the stream. Open executions are not judged.
    pub(crate) fn finish(&mut self) -> Warnings {
        let builder =
            std::mem::replace(&mut self.builder, RankBuilder::new(self.program, self.rank));
        let trace = builder.finish(
            callgrove_model::NameTable::default(),
            callgrove_model::NameTable::default(),
        );
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.join(trace.warnings);
        warnings.join(std::mem::take(&mut self.learner.warnings));
        warnings
    }

    fn learn_metadata(&mut self, batch: &StepBatch) {
        for entry in &batch.metadata {
            self.gpu.learn(entry);
            if entry.key == "Hostname" {
                self.hostname = entry.value.as_str().into();
            }
            self.metadata.push(MetadataRecord {
                descr: entry.key.clone(),
                pid: self.program.0,
                rid: entry.rank.0,
                tid: entry.thread.0,
                value: entry.value.clone(),
            });
        }
    }

    fn remember_launches(&mut self) {
        let Some(correlation) = self.counters.correlation() else {
            return;
        };
        for ((thread, stack), state) in self.builder.lanes().zip(self.lanes.values_mut()) {
            let first = state.num_counters_seen;
            state.num_counters_seen = stack.counters().len();
            if self.gpu.location(thread).is_none() {
                let lane = JudgedLane {
                    thread,
                    stack,
                    anomalies: &state.anomalies,
                };
                for (id, launch) in lane.launches(self.rank, correlation, first) {
                    self.launches.remember(id, Arc::new(launch));
                }
            }
        }
    }

    fn judged_lanes(&self) -> Vec<JudgedLane<'_>> {
        let lanes = self.builder.lanes().zip(self.lanes.values());
        let judged = lanes.map(|((thread, stack), state)| JudgedLane {
            thread,
            stack,
            anomalies: &state.anomalies,
        });
        judged.collect()
    }

    /// Writes a record of each anomaly, and of one normal execution of each function with anomalies.
    fn write_records(
        &mut self,
        found: &[FunctionOutliers],
        compiled: &[Option<CompiledModel>],
        options: &AdOptions,
        documents: &mut Vec<Document>,
    ) -> Result<(), ProvDbError> {
        let mut lacks_normal = std::mem::take(&mut self.lacks_normal);
        let records = self.record_builder(options.window);
        for of_function in found {
            let Some(Some(compiled)) = compiled.get(of_function.number as usize) else {
                continue;
            };
            let mut write = |collection, position, score| {
                let caller = records.caller(position, &self.judged);
                let record = records.record(position, score, &compiled.json(caller));
                documents.push(Document::execution(collection, &record)?);
                Ok::<_, ProvDbError>(())
            };
            let mut needs_normal = lacks_normal.contains(&of_function.number);
            for &(position, score) in &of_function.anomalies {
                if records.severity_us(position) >= options.min_severity_us {
                    write(Collection::Anomalies, position, score)?;
                    needs_normal = true;
                }
            }
            match of_function.normal {
                Some((position, score)) if needs_normal => {
                    write(Collection::NormalExecs, position, score)?;
                    lacks_normal.remove(&of_function.number);
                }
                None if needs_normal => {
                    lacks_normal.insert(of_function.number);
                }
                _ => {}
            }
        }
        drop(records);
        self.lacks_normal = lacks_normal;
        Ok(())
    }

    fn record_builder(&self, window: usize) -> RecordBuilder<'_> {
        RecordBuilder {
            program: self.program,
            rank: self.rank,
            lanes: self.judged_lanes(),
            message_numbers: &self.message_numbers,
            functions: &self.functions,
            counters: self.counters.names(),
            correlation: self.counters.correlation(),
            gpu: &self.gpu,
            launches: &self.launches,
            hostname: &self.hostname,
            node_state: self.node.record(),
            span: self.span,
            window,
        }
    }
}
