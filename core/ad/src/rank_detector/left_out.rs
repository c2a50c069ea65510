//! Documents of a rank that the budget of the run leaves out.

use std::collections::BTreeMap;

use callgrove_model::FuncId;
use callgrove_provdb::{Document, ProvDbError};
use callgrove_records::{DocumentBudget, RecordCandidate, left_out_document};

use super::RankDetector;
use crate::functions::InstanceFunctions;

impl RankDetector {
    /// Returns those of some documents of the step that are within the budget, in their order.
    pub(super) fn within_budget<T>(
        &mut self,
        budget: Option<DocumentBudget>,
        documents: Vec<T>,
        candidate: impl Fn(&T) -> RecordCandidate,
    ) -> Vec<T> {
        if budget.is_none() {
            return documents;
        }
        let candidates: Vec<RecordCandidate> = documents.iter().map(candidate).collect();
        let are_recorded = self.selection.choose(&candidates).into_iter();
        let chosen = documents.into_iter().zip(are_recorded);
        chosen.filter(|it| it.1).map(|it| it.0).collect()
    }

    /// Returns the number of documents that were left out so far.
    pub(super) fn num_left_out(&self) -> u64 {
        self.selection.left_out().values().sum()
    }

    /// Returns the number of documents that were left out so far, by name of the function.
    pub(crate) fn left_out<'a>(&self, all: &'a InstanceFunctions) -> BTreeMap<&'a str, u64> {
        let left_out = self.selection.left_out().iter();
        let named = left_out.map(|(&number, &count)| (all.names().name(FuncId(number)), count));
        named.collect()
    }

    /// Returns the document that states what was left out so far, if this instance has written anything of the rank.
    pub(crate) fn left_out_document(
        &self,
        all: &InstanceFunctions,
    ) -> Result<Option<Document>, ProvDbError> {
        if !self.has_written || self.selection.left_out().is_empty() {
            return Ok(None);
        }
        left_out_document(self.program, self.rank, &self.left_out(all)).map(Some)
    }

    /// Returns that document each time the number has doubled, for an instance that does not reach its end.
    pub(super) fn left_out_news(
        &self,
        before: u64,
        all: &InstanceFunctions,
    ) -> Result<Option<Document>, ProvDbError> {
        if before.checked_ilog2() == self.num_left_out().checked_ilog2() {
            return Ok(None);
        }
        self.left_out_document(all)
    }
}
