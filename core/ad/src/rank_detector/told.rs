//! What is told of a judged step.

use std::collections::BTreeMap;

use callgrove_detect::Moments;
use callgrove_model::FuncId;
use callgrove_pserver::{
    AnomalySummary, FinalAnomalies, FunctionReport, Metrics, OwnTimeBrief, StepBrief, StepReport,
    TreePValues,
};

use super::RankDetector;
use super::judging::JudgedFunction;
use crate::AdOptions;
use crate::brief::BriefedStep;
use crate::by_function::ExecPosition;
use crate::compiled_model::CompiledModel;
use crate::found::{FoundOutliers, longer_than_usual};
use crate::own_times::own_times;
use crate::record_builder::JudgedLane;

impl RankDetector {
    pub(super) fn report(
        &mut self,
        functions: Vec<JudgedFunction>,
        anomalies: &BTreeMap<u32, AnomalySummary>,
        fids: &[FuncId],
        brief: StepBrief,
    ) -> Option<StepReport> {
        let step = self.span.step();
        if self.has_reported(step) {
            return None;
        }
        let functions = functions.into_iter().map(|function| FunctionReport {
            fid: fids[function.number as usize],
            exclusive: function.exclusive,
            inclusive: function.inclusive,
            anomalies: anomalies.get(&function.number).cloned().unwrap_or_default(),
        });
        let functions = functions.collect();
        Some(StepReport {
            program: self.program,
            rank: self.rank,
            step,
            functions,
            counters: self.counters.take_reports(),
            brief,
            tree_p_values: TreePValues::new(),
        })
    }

    pub(super) fn sum_up(&mut self, anomalies: &BTreeMap<u32, AnomalySummary>, fids: &[FuncId]) {
        let mut count = 0;
        for (number, of_function) in anomalies.iter().filter(|(_, it)| it.count() > 0) {
            let metrics = Metrics::of_step(self.span.step(), of_function);
            let fid = fids[*number as usize];
            self.final_anomalies
                .metrics
                .entry(fid)
                .or_default()
                .merge(&metrics);
            count += of_function.count();
        }
        if count > 0 {
            self.final_anomalies
                .count
                .merge(&Moments::of_equal(count, 1));
        }
    }

    /// All anomalies, by models of this state.
    pub(crate) fn take_final_anomalies(&mut self, learnt_in: u64) -> FinalAnomalies {
        FinalAnomalies {
            learnt_in,
            ..std::mem::take(&mut self.final_anomalies)
        }
    }

    /// The stalls of the step, for incidents, and its own times, for trends.
    pub(super) fn brief(
        &mut self,
        found: &[FoundOutliers],
        compiled: &[Option<CompiledModel>],
        fids: &[FuncId],
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
        let own_times = if self.has_reported(self.span.step()) {
            Vec::new()
        } else {
            self.own_times(&lanes, fids)
        };
        drop(lanes);
        self.briefs = briefs;
        StepBrief {
            host: if own_times.is_empty() {
                String::new()
            } else {
                self.hostname.to_string()
            },
            own_times,
            ..brief
        }
    }

    /// Own times of what ended in the step, for trends.
    fn own_times(&self, lanes: &[JudgedLane<'_>], fids: &[FuncId]) -> Vec<OwnTimeBrief> {
        let fid_of = |func: FuncId| self.functions.get(func.index()).map(|it| FuncId(it.fid));
        let entry = |position: ExecPosition| {
            let lane = usize::try_from(position.lane).ok();
            let lane = lane.and_then(|lane| lanes.get(lane));
            let entries = lane.map(|lane| &lane.stack.executions().entry);
            let entry = entries.and_then(|entries| entries.get(position.exec.index()));
            entry.copied().unwrap_or_default()
        };
        own_times(&self.executions, (self.span.step(), fids), fid_of, entry)
    }
}
