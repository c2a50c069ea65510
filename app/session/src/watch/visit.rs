//! Where the person is: what can be gone back to.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{ExecutionDocument, QueryForm, QueryRequest, RecordedIncident, Scope};

/// Visits that can be gone back to.
const MAX_VISITS: usize = 64;

/// What fills the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Page {
    /// Ranks, functions and steps with anomalies, as they come.
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

/// Executions that were looked up, as far as they were fetched.
#[derive(Clone, PartialEq, Debug)]
pub struct Results {
    /// The question.
    pub request: QueryRequest,
    /// The incident whose executions were asked for, if it was that.
    pub incident: Option<Arc<RecordedIncident>>,
    /// In the order asked for.
    pub documents: Vec<Arc<ExecutionDocument>>,
    /// How many there are in all, if the server said so.
    pub total: Option<u64>,
    /// Whether all were fetched.
    pub is_complete: bool,
}

/// A place to go back to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Visit {
    /// What fills the window.
    pub page: Page,
    /// What is chosen.
    pub focus: Scope,
    /// The question as it was filled in.
    pub form: QueryForm,
    /// The answer.
    pub results: Option<Arc<Results>>,
    /// The execution that is open.
    pub document: Option<Arc<ExecutionDocument>>,
}

/// Visits in order of time, and which one is now.
#[derive(Clone, Debug)]
pub(super) struct Visits {
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
    pub(super) fn now(&self) -> &Visit {
        &self.visits[self.now]
    }

    pub(super) fn now_mut(&mut self) -> &mut Visit {
        &mut self.visits[self.now]
    }

    /// Goes to a new place; what was ahead is forgotten. The same place again is none.
    pub(super) fn go(&mut self, visit: Visit) {
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

    pub(super) fn can_go_back(&self) -> bool {
        self.now > 0
    }

    pub(super) fn can_go_forward(&self) -> bool {
        self.now + 1 < self.visits.len()
    }

    pub(super) fn back(&mut self) {
        self.now = self.now.saturating_sub(1);
    }

    pub(super) fn forward(&mut self) {
        self.now = (self.now + 1).min(self.visits.len() - 1);
    }

    /// Gives the answer to all visits that asked the question `id`.
    pub(super) fn answer(&mut self, id: u64, results: &Arc<Results>) {
        for visit in &mut self.visits {
            let asked = visit.results.as_ref().map(|results| results.request.id);
            if asked == Some(id) {
                visit.results = Some(Arc::clone(results));
            }
        }
    }

    /// The newest answer to the question `id`.
    pub(super) fn results_of(&self, id: u64) -> Option<&Arc<Results>> {
        let mut all = self
            .visits
            .iter()
            .filter_map(|visit| visit.results.as_ref());
        all.find(|results| results.request.id == id)
    }
}
