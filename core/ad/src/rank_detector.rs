//! Detection on one rank: its call stacks across steps, the verdicts on the executions that ended in a step, and
//! the records and the report made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use callgrove_detect::{FuncModel, Moments};
use callgrove_model::{
    FuncId, ProgramId, RankBuilder, RankId, StepBatch, StepId, ThreadId, Warnings,
};
use callgrove_provdb::{Collection, Document, MetadataRecord, ProvDbError};
use callgrove_pserver::{FunctionReport, StepBrief, StepReport};

use crate::brief::{BriefState, BriefedStep};
use crate::by_function::{ExecutionsByFunction, LaneExecutions, VerdictState};
use crate::compiled_model::CompiledModel;
use crate::found::{FoundOutliers, longer_than_usual};
use crate::gpu::{GpuThreads, Launches};
use crate::message_numbers::MessageNumbers;
use crate::node_state::NodeWatch;
use crate::rank_counters::RankCounters;
use crate::record_builder::{JudgedLane, KernelLaunch, NamedFunction, RecordBuilder, StepTimes};
use crate::stream_reader::StepInput;
use crate::{AdOptions, OutlierStatistic};

/// Messages and counter samples kept for calls that stay open; the oldest go first.
const MAX_EVENTS_KEPT: usize = 1024;

/// The detector of one rank.
#[derive(Debug)]
pub(crate) struct RankDetector {
    program: ProgramId,
    rank: RankId,
    builder: RankBuilder,
    lanes: BTreeMap<ThreadId, LaneState>,
    /// By the rank's own ids: name, and number in this AD instance; no number where it is not judged.
    functions: Vec<NamedFunction>,
    numbers: Vec<Option<u32>>,
    counters: RankCounters,
    gpu: GpuThreads,
    launches: Launches<KernelLaunch>,
    node: NodeWatch,
    message_numbers: MessageNumbers,
    briefs: BriefState,
    hostname: Arc<str>,
    grouped: ExecutionsByFunction,
    span: StepTimes,
    /// Functions with anomalies that no normal execution was stored beside yet.
    wanted: BTreeSet<u32>,
    /// The last step that the parameter server knows already.
    pub(crate) reported_until: Option<StepId>,
    /// The last step that the models hold already.
    pub(crate) learnt_until: Option<StepId>,
    /// The last step that the database has records of, from an instance that had the rank before.
    pub(crate) recorded_until: Option<StepId>,
    /// Metadata of the present step.
    metadata: Vec<MetadataRecord>,
    pub(crate) warnings: Warnings,
}

#[derive(Debug, Default)]
struct LaneState {
    verdicts: Vec<VerdictState>,
    /// Counter samples that were looked at for launches.
    num_counters_seen: usize,
}

/// The result of a judged step.
#[derive(Debug)]
pub(crate) struct StepOutcome {
    /// The step, if records of an earlier instance have to go first: the models were others then.
    pub(crate) replaced: Option<StepId>,
    pub(crate) documents: Vec<Document>,
    /// None if the parameter server knows the step already.
    pub(crate) report: Option<StepReport>,
    pub(crate) num_executions: u64,
    pub(crate) num_anomalies: u64,
}

impl RankDetector {
    pub(crate) fn new(program: ProgramId, rank: RankId) -> Self {
        Self {
            program,
            rank,
            builder: RankBuilder::new(program, rank),
            lanes: BTreeMap::new(),
            functions: Vec::new(),
            numbers: Vec::new(),
            counters: RankCounters::default(),
            gpu: GpuThreads::default(),
            launches: Launches::default(),
            node: NodeWatch::default(),
            message_numbers: MessageNumbers::default(),
            briefs: BriefState::default(),
            hostname: Arc::from(""),
            grouped: ExecutionsByFunction::default(),
            span: StepTimes::default(),
            wanted: BTreeSet::new(),
            reported_until: None,
            learnt_until: None,
            recorded_until: None,
            metadata: Vec::new(),
            warnings: Warnings::default(),
        }
    }

    /// Takes note of a function: the next of the rank's own ids. Without a `number` it is not judged.
    pub(crate) fn name_function(&mut self, function: NamedFunction, number: Option<u32>) {
        self.functions.push(function);
        self.numbers.push(number);
    }

    pub(crate) fn rank(&self) -> RankId {
        self.rank
    }

    /// Whether the models hold a step already: an instance that had the rank before told it.
    pub(crate) fn has_learnt(&self, step: StepId) -> bool {
        self.reported_until
            .max(self.learnt_until)
            .is_some_and(|last| step <= last)
    }

    /// Whether a step was reported already, and so was recorded.
    fn has_reported(&self, step: StepId) -> bool {
        self.reported_until.is_some_and(|last| step <= last)
    }

    /// Takes a step in. The answer has, for each function with executions that ended, what they add to its
    /// model: nothing if the parameter server knows the step already. `models` are the newest known, by
    /// number of the function.
    pub(crate) fn take_in(
        &mut self,
        input: StepInput,
        options: &AdOptions,
        models: &[Option<Arc<FuncModel>>],
    ) -> Vec<(u32, FuncModel)> {
        let StepInput {
            mut batch,
            counters,
            warnings,
            ..
        } = input;
        self.warnings.join(warnings);
        self.counters.name(counters, &options.watchlist);
        self.learn_metadata(&batch);
        self.span = StepTimes::of(&batch);
        self.message_numbers.take_in(batch.step, &batch.comms);
        self.briefs.begin_step(&batch.funcs);
        self.counters.take_in(&mut batch.counters, &mut self.node);
        let step = batch.step;
        self.builder.push(*batch);
        self.gather(models.len());
        self.remember_launches();
        let is_learnt = self.has_learnt(step);
        let values = match options.statistic {
            OutlierStatistic::Exclusive => &self.grouped.exclusive_us,
            OutlierStatistic::Inclusive => &self.grouped.inclusive_us,
        };
        let learn = |(number, rows): &(u32, Range<usize>)| {
            let known = models[*number as usize].as_ref();
            let mut model =
                known.map_or_else(|| FuncModel::new(&options.params), |known| known.new_part());
            if !is_learnt {
                model.extend(&values[rows.clone()]);
            }
            (*number, model)
        };
        self.grouped.functions.iter().map(learn).collect()
    }

    /// Judges what ended in the step taken in last, reports it, and drops what is over. `compiled` and
    /// `fids`, the global indices, are by number of the function. Documents come only if they are
    /// `recorded`.
    pub(crate) fn judge(
        &mut self,
        compiled: &[Option<CompiledModel>],
        fids: &[FuncId],
        options: &AdOptions,
        recorded: bool,
    ) -> Result<StepOutcome, ProvDbError> {
        let mut functions = Vec::with_capacity(self.grouped.functions.len());
        let mut found: Vec<FoundOutliers> = Vec::new();
        let mut lanes: Vec<&mut LaneState> = self.lanes.values_mut().collect();
        let values = match options.statistic {
            OutlierStatistic::Exclusive => &self.grouped.exclusive_us,
            OutlierStatistic::Inclusive => &self.grouped.inclusive_us,
        };
        for (number, rows) in &self.grouped.functions {
            let positions = &self.grouped.positions[rows.clone()];
            let Some(compiled) = compiled.get(*number as usize).and_then(Option::as_ref) else {
                // A frozen server that never saw the function: there is nothing to judge it by.
                for position in positions {
                    lanes[position.lane as usize].verdicts[position.exec.index()] =
                        VerdictState::Unjudged;
                }
                continue;
            };
            let mut of_function = FoundOutliers::new(*number);
            for (&value, &position) in values[rows.clone()].iter().zip(positions) {
                let verdict = compiled.judge.judge(value);
                if verdict.is_outlier {
                    lanes[position.lane as usize].verdicts[position.exec.index()] =
                        VerdictState::Anomaly;
                    of_function.anomalies.push((position, verdict.score));
                } else if of_function
                    .normal
                    .is_none_or(|(_, lowest)| verdict.score < lowest)
                {
                    of_function.normal = Some((position, verdict.score));
                }
            }
            functions.push((rows.clone(), *number));
            if !of_function.anomalies.is_empty() || self.wanted.contains(number) {
                found.push(of_function);
            }
        }
        drop(lanes);
        let num_executions = functions.iter().map(|(rows, _)| rows.len() as u64).sum();
        let num_anomalies = found
            .iter()
            .map(|of_function| of_function.anomalies.len() as u64)
            .sum();
        let brief = self.brief(&found, compiled, options);
        let report = self.report(&functions, &found, fids, brief);
        let metadata = std::mem::take(&mut self.metadata);
        let mut documents = Vec::new();
        if recorded && !self.has_reported(self.span.step()) {
            for record in &metadata {
                documents.push(Document::metadata(record)?);
            }
            self.write_records(&found, compiled, options, &mut documents)?;
        }
        self.retire(options.window);
        let step = self.span.step();
        let is_replaced = !self.has_reported(step) && Some(step) <= self.recorded_until;
        Ok(StepOutcome {
            replaced: Some(step).filter(|_| recorded && is_replaced),
            documents,
            report,
            num_executions,
            num_anomalies,
        })
    }

    /// Ends the stream; what is still open will never be judged.
    pub(crate) fn finish(&mut self) -> Warnings {
        let builder =
            std::mem::replace(&mut self.builder, RankBuilder::new(self.program, self.rank));
        let trace = builder.finish(
            callgrove_model::NameTable::default(),
            callgrove_model::NameTable::default(),
        );
        let mut warnings = std::mem::take(&mut self.warnings);
        warnings.join(trace.warnings);
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

    fn gather(&mut self, num_functions: usize) {
        for (thread, stack) in self.builder.lanes() {
            let verdicts = &mut self.lanes.entry(thread).or_default().verdicts;
            verdicts.resize(stack.executions().len(), VerdictState::Pending);
        }
        // Both maps have the same threads in the same order.
        let mut lanes: Vec<LaneExecutions<'_>> = self
            .builder
            .lanes()
            .zip(self.lanes.values_mut())
            .map(|((_, stack), state)| LaneExecutions {
                executions: stack.executions(),
                verdicts: &mut state.verdicts,
            })
            .collect();
        let numbers = &self.numbers;
        let number = |func: FuncId| numbers.get(func.index()).copied().flatten();
        self.grouped.gather(&mut lanes, num_functions, number);
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
                    verdicts: &state.verdicts,
                };
                for (id, launch) in lane.launches(self.rank, correlation, first) {
                    self.launches.remember(id, Arc::new(launch));
                }
            }
        }
    }

    fn report(
        &mut self,
        functions: &[(Range<usize>, u32)],
        found: &[FoundOutliers],
        fids: &[FuncId],
        brief: StepBrief,
    ) -> Option<StepReport> {
        let step = self.span.step();
        if self.has_reported(step) {
            return None;
        }
        let lanes = self.judged_lanes();
        let mut found = found.iter().peekable();
        let functions = functions.iter().map(|(rows, number)| {
            let moments = |values: &[u64]| {
                let mut moments = Moments::default();
                moments.extend_from(values);
                moments
            };
            let of_function = found.next_if(|of_function| of_function.number == *number);
            FunctionReport {
                fid: fids[*number as usize],
                exclusive: moments(&self.grouped.exclusive_us[rows.clone()]),
                inclusive: moments(&self.grouped.inclusive_us[rows.clone()]),
                anomalies: of_function.map(|it| it.summary(&lanes)).unwrap_or_default(),
            }
        });
        let functions = functions.collect();
        Some(StepReport {
            program: self.program,
            rank: self.rank,
            step,
            functions,
            counters: self.counters.take_reports(),
            brief,
        })
    }

    /// What stood in the step, for incidents.
    fn brief(
        &mut self,
        found: &[FoundOutliers],
        compiled: &[Option<CompiledModel>],
        options: &AdOptions,
    ) -> StepBrief {
        let mut briefs = std::mem::take(&mut self.briefs);
        let lanes = self.judged_lanes();
        let longer = longer_than_usual(found, &lanes, compiled, options.statistic);
        let step = BriefedStep {
            rank: self.rank,
            step: self.span.step(),
            lanes: &lanes,
            functions: &self.functions,
            numbers: &self.message_numbers,
        };
        let brief = briefs.brief(&step, &longer);
        self.briefs = briefs;
        brief
    }

    fn judged_lanes(&self) -> Vec<JudgedLane<'_>> {
        let lanes = self.builder.lanes().zip(self.lanes.values());
        let judged = lanes.map(|((thread, stack), state)| JudgedLane {
            thread,
            stack,
            verdicts: &state.verdicts,
        });
        judged.collect()
    }

    /// Writes a record of each anomaly, and of one normal execution of each function that has some.
    fn write_records(
        &mut self,
        found: &[FoundOutliers],
        compiled: &[Option<CompiledModel>],
        options: &AdOptions,
        documents: &mut Vec<Document>,
    ) -> Result<(), ProvDbError> {
        let mut wanted = std::mem::take(&mut self.wanted);
        let records = self.record_builder(options.window);
        for of_function in found {
            let Some(Some(compiled)) = compiled.get(of_function.number as usize) else {
                continue;
            };
            let mut write = |collection, position, score| {
                let record = records.record(position, score, &compiled.stated());
                documents.push(Document::execution(collection, &record)?);
                Ok::<_, ProvDbError>(())
            };
            let mut is_wanted = wanted.contains(&of_function.number);
            for &(position, score) in &of_function.anomalies {
                if records.severity_us(position) >= options.min_severity_us {
                    write(Collection::Anomalies, position, score)?;
                    is_wanted = true;
                }
            }
            match of_function.normal {
                Some((position, score)) if is_wanted => {
                    write(Collection::NormalExecs, position, score)?;
                    wanted.remove(&of_function.number);
                }
                None if is_wanted => {
                    wanted.insert(of_function.number);
                }
                _ => {}
            }
        }
        drop(records);
        self.wanted = wanted;
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

    fn retire(&mut self, window: usize) {
        self.message_numbers.retire();
        let lanes = &mut self.lanes;
        self.builder
            .retire(window, MAX_EVENTS_KEPT, |thread, kept| {
                if let Some(state) = lanes.get_mut(&thread) {
                    state.verdicts = kept.iter().map(|old| state.verdicts[old.index()]).collect();
                }
            });
        for ((_, stack), state) in self.builder.lanes().zip(self.lanes.values_mut()) {
            state.num_counters_seen = stack.counters().len();
        }
    }
}
