//! The trees of a rank: judged with its step, and kept until they end.

use std::collections::BTreeMap;

use callgrove_model::{ExecIdx, FuncId, ThreadId};
use callgrove_provdb::ProvDbError;

use super::{MAX_EVENTS_KEPT, RankDetector};
use crate::rank_trees::{TreeOutcome, TreeStep};
use crate::record_builder::JudgedLane;
use crate::tree_models::TreeModels;

impl RankDetector {
    /// Judges the trees whose roots ended in the step taken in last.
    pub(super) fn judge_trees(&mut self, models: &TreeModels) -> Result<TreeOutcome, ProvDbError> {
        let mut trees = std::mem::take(&mut self.trees);
        let mut warnings = std::mem::take(&mut self.warnings);
        let step = TreeStep {
            counts: self.records_anew || !self.has_reported(self.span.step()),
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

    /// Drops what is over, but what belongs to a tree that has not ended.
    pub(super) fn retire(&mut self, window: usize) {
        self.message_numbers.retire();
        let mut trees = std::mem::take(&mut self.trees);
        let number = |func: FuncId| self.judged.number(func);
        let whole_from = |lane: JudgedLane<'_>| {
            let first = trees.whole_from(self.rank, &lane, number)?;
            Some((lane.thread, first))
        };
        let lanes = self.judged_lanes().into_iter();
        let whole_from: BTreeMap<ThreadId, ExecIdx> = lanes.filter_map(whole_from).collect();
        self.trees = trees;
        let lanes = &mut self.lanes;
        self.builder.retire(
            window,
            |thread| whole_from.get(&thread).copied(),
            MAX_EVENTS_KEPT,
            |thread, kept| {
                if let Some(state) = lanes.get_mut(&thread) {
                    state.anomalies.retain_mut(|exec| {
                        let place = kept.binary_search(exec);
                        *exec = place.map_or(*exec, ExecIdx::from_index);
                        place.is_ok()
                    });
                    state.writes.retain_mut(|(exec, _)| {
                        let place = kept.binary_search(exec);
                        *exec = place.map_or(*exec, ExecIdx::from_index);
                        place.is_ok()
                    });
                }
            },
        );
        for ((_, stack), state) in self.builder.lanes().zip(self.lanes.values_mut()) {
            state.num_counters_seen = stack.counters().len();
        }
    }
}
