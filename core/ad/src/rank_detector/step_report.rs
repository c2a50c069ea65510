//! The report of a judged step.

use std::collections::BTreeMap;

use callgrove_detect::Moments;
use callgrove_incidents::{OwnTimeEntry, StallSummary};
use callgrove_model::FuncId;
use callgrove_pserver::{
    AnomalySummary, FinalAnomalies, FunctionReport, Metrics, StepReport, TreePValues,
};
use callgrove_records::{ExecPosition, JudgedLane};

use super::RankDetector;
use super::calls::JudgedFunction;
use crate::compiled_model::CompiledModel;
use crate::functions::InstanceFunctions;
use crate::options::AdOptions;
use crate::outliers::{FunctionOutliers, longer_than_usual};
use crate::own_times::own_times;
use crate::stall_summary::JudgedStep;

impl RankDetector {
    pub(super) fn report(
        &mut self,
        functions: Vec<JudgedFunction>,
        anomalies: &BTreeMap<u32, AnomalySummary>,
        all: &InstanceFunctions,
        stall_summary: StallSummary,
    ) -> Option<StepReport> {
        let step = self.span.step();
        if self.known.has_reported(step) {
            return None;
        }
        let functions = functions.into_iter().map(|function| FunctionReport {
            fid: all.get(function.number).fid,
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
            counters: self.facts.counters.take_reports(),
            stall_summary,
            tree_p_values: TreePValues::new(),
        })
    }

    pub(super) fn add_final_anomalies(
        &mut self,
        anomalies: &BTreeMap<u32, AnomalySummary>,
        all: &InstanceFunctions,
    ) {
        let mut count = 0;
        for (number, of_function) in anomalies.iter().filter(|(_, it)| it.count() > 0) {
            let metrics = Metrics::of_step(self.span.step(), of_function);
            let fid = all.get(*number).fid;
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

    /// Returns all anomalies as judged by models of this state.
    pub(crate) fn take_final_anomalies(&mut self, learnt_in: u64) -> FinalAnomalies {
        FinalAnomalies {
            learnt_in,
            ..std::mem::take(&mut self.final_anomalies)
        }
    }

    /// Returns the stalls of the step, for incidents, and its own times, for trends.
    pub(super) fn stall_summary(
        &mut self,
        found: &[FunctionOutliers],
        compiled: &[Option<CompiledModel>],
        all: &InstanceFunctions,
        options: &AdOptions,
    ) -> StallSummary {
        let lanes = self.calls.lanes();
        let longer = longer_than_usual(found, &lanes, compiled, options.statistic);
        let step = JudgedStep {
            rank: self.rank,
            step: self.span.step(),
            lanes: &lanes,
            functions: &self.functions,
            numbers: &self.facts.message_numbers,
        };
        let summary = self.stalls.summary(&step, &longer);
        let own_times = if self.known.has_reported(self.span.step()) {
            Vec::new()
        } else {
            self.own_times(&lanes, all)
        };
        StallSummary {
            host: if own_times.is_empty() {
                String::new()
            } else {
                self.facts.hostname.to_string()
            },
            own_times,
            ..summary
        }
    }

    /// Returns the own times of executions that ended in the step, for trends.
    fn own_times(&self, lanes: &[JudgedLane<'_>], all: &InstanceFunctions) -> Vec<OwnTimeEntry> {
        let fid_of = |func: FuncId| self.functions.get(func.index()).map(|it| FuncId(it.fid));
        let entry = |position: ExecPosition| {
            let lane = usize::try_from(position.lane).ok();
            let lane = lane.and_then(|lane| lanes.get(lane));
            let entries = lane.map(|lane| &lane.stack.executions().entry);
            let entry = entries.and_then(|entries| entries.get(position.exec.index()));
            entry.copied().unwrap_or_default()
        };
        own_times(
            &self.calls.executions,
            (self.span.step(), all),
            fid_of,
            entry,
        )
    }
}
