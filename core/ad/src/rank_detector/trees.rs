//! The trees of a rank, which are judged with its steps and kept until they end.

use std::collections::BTreeMap;

use callgrove_model::{ExecIdx, FuncId, ThreadId};
use callgrove_provdb::ProvDbError;
use callgrove_records::JudgedLane;

use super::RankDetector;
use crate::rank_trees::{TreeOutcome, TreeStep};
use crate::tree_models::TreeModels;

impl RankDetector {
    /// Judges the trees whose roots ended in the last step.
    pub(super) fn judge_trees(&mut self, models: &TreeModels) -> Result<TreeOutcome, ProvDbError> {
        let step = TreeStep {
            counts: self.known.counts(self.span.step()),
            program: self.program,
            rank: self.rank,
            step: self.span.step(),
            lanes: &self.calls.lanes(),
            functions: &self.functions,
            hostname: &self.facts.hostname,
            executions: &self.calls.executions,
        };
        self.trees.judge(&step, models, &mut self.warnings)
    }

    /// Drops ended executions, except for parts of trees that are still open.
    pub(super) fn retire(&mut self, window: usize) {
        self.facts.message_numbers.retire();
        let number = |func: FuncId| self.judged.number(func);
        let first_kept_row = |lane: JudgedLane<'_>| {
            let first = self.trees.first_kept_row(self.rank, &lane, number)?;
            Some((lane.thread, first))
        };
        let lanes = self.calls.lanes().into_iter();
        let first_kept_row: BTreeMap<ThreadId, ExecIdx> =
            lanes.filter_map(first_kept_row).collect();
        self.calls.retire(window, &first_kept_row);
    }
}
