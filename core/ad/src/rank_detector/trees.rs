//! The trees of a rank, which are judged with its steps and kept until they end.

use std::collections::BTreeMap;

use callgrove_model::{ExecIdx, FuncId, ThreadId};
use callgrove_provdb::ProvDbError;

use super::{MAX_EVENTS_KEPT, RankDetector};
use crate::rank_trees::{TreeOutcome, TreeStep};
use crate::record_builder::JudgedLane;
use crate::tree_models::TreeModels;

impl RankDetector {
    /// Judges the trees whose roots ended in the last step.
    pub(super) fn judge_trees(&mut self, models: &TreeModels) -> Result<TreeOutcome, ProvDbError> {
        let mut trees = std::mem::take(&mut self.trees);
        let mut warnings = std::mem::take(&mut self.warnings);
        let step = TreeStep {
            counts: self.rerecords || !self.has_reported(self.span.step()),
            program: self.program,
            rank: self.rank,
            step: self.span.step(),
            lanes: &self.judged_lanes(),
            functions: &self.functions,
            hostname: &self.hostname,
            executions: &self.executions,
        };
        let outcome = trees.judge(&step, models, &mut warnings);
        (self.trees, self.warnings) = (trees, warnings);
        outcome
    }

    /// Drops ended executions, except for parts of trees that are still open.
    pub(super) fn retire(&mut self, window: usize) {
        self.message_numbers.retire();
        let mut trees = std::mem::take(&mut self.trees);
        let number = |func: FuncId| self.judged.number(func);
        let first_kept_row = |lane: JudgedLane<'_>| {
            let first = trees.first_kept_row(self.rank, &lane, number)?;
            Some((lane.thread, first))
        };
        let lanes = self.judged_lanes().into_iter();
        let first_kept_row: BTreeMap<ThreadId, ExecIdx> =
            lanes.filter_map(first_kept_row).collect();
        self.trees = trees;
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
}
