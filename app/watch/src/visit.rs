//! The position of the user, and the positions to go back to.

use std::collections::VecDeque;
use std::sync::Arc;

use callgrove_overview::RankRange;

use crate::document::ExecutionDocument;
use crate::form::QueryForm;
use crate::incident::RecordedIncident;
use crate::scope::Scope;
use crate::transport::QueryRequest;

/// Largest number of positions to go back to.
const MAX_VISITS: usize = 64;

/// The content of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Page {
    /// Ranks, functions and steps with anomalies, live.
    #[default]
    Overview,
    /// Profile of all functions.
    Functions,
    /// Counters.
    Counters,
    /// Executions that were looked up.
    Executions,
    /// One execution.
    Document,
}

/// Executions that were looked up, as far as they have been fetched.
#[derive(Clone, PartialEq, Debug)]
pub struct Results {
    /// The query.
    pub request: QueryRequest,
    /// The incident whose executions were queried, if any.
    pub incident: Option<Arc<RecordedIncident>>,
    /// Documents in the requested order.
    pub documents: Vec<Arc<ExecutionDocument>>,
    /// Number of all matching documents, if the server reported it.
    pub total: Option<u64>,
    /// True if all have been fetched.
    pub is_complete: bool,
}

/// A position of the user.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Visit {
    /// Content of the window.
    pub page: Page,
    /// Selection.
    pub focus: Scope,
    /// The block whose ranks are shown one by one, in a job with many ranks.
    pub ranks: Option<RankRange>,
    /// Query form as filled in.
    pub form: QueryForm,
    /// Result of the query.
    pub results: Option<Arc<Results>>,
    /// The open execution.
    pub document: Option<Arc<ExecutionDocument>>,
}

/// Positions in order of time, and the index of the current one.
#[derive(Clone, Debug)]
pub(crate) struct Visits {
    visits: VecDeque<Visit>,
    now: usize,
}

impl Default for Visits {
    fn default() -> Self {
        Self {
            visits: VecDeque::from([Visit::default()]),
            now: 0,
        }
    }
}

impl Visits {
    pub(crate) fn now(&self) -> &Visit {
        &self.visits[self.now]
    }

    pub(crate) fn now_mut(&mut self) -> &mut Visit {
        &mut self.visits[self.now]
    }

    /// Goes to a new position and discards those ahead. Going to the same position has no effect.
    pub(crate) fn go(&mut self, visit: Visit) {
        if visit == *self.now() {
            return;
        }
        self.visits.truncate(self.now + 1);
        if self.visits.len() == MAX_VISITS {
            self.visits.pop_front();
        }
        self.visits.push_back(visit);
        self.now = self.visits.len() - 1;
    }

    pub(crate) fn can_go_back(&self) -> bool {
        self.now > 0
    }

    pub(crate) fn can_go_forward(&self) -> bool {
        self.now + 1 < self.visits.len()
    }

    pub(crate) fn back(&mut self) {
        self.now = self.now.saturating_sub(1);
    }

    pub(crate) fn forward(&mut self) {
        self.now = (self.now + 1).min(self.visits.len() - 1);
    }

    /// Stores the results of query `id` in all positions that have it.
    pub(crate) fn answer(&mut self, id: u64, results: &Arc<Results>) {
        for visit in &mut self.visits {
            let asked = visit.results.as_ref().map(|results| results.request.id);
            if asked == Some(id) {
                visit.results = Some(Arc::clone(results));
            }
        }
    }

    /// Returns the newest results of query `id`.
    pub(crate) fn results_of(&self, id: u64) -> Option<&Arc<Results>> {
        let mut all = self
            .visits
            .iter()
            .filter_map(|visit| visit.results.as_ref());
        all.find(|results| results.request.id == id)
    }
}
