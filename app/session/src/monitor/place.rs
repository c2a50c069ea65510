//! Where the person is: what can be gone back to.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{ExecutionDocument, QueryForm, QueryRequest};

/// Places that can be gone back to.
const MAX_PLACES: usize = 64;

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

/// What is chosen; `None` means all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Focus {
    /// Program and rank.
    pub rank: Option<(u32, u32)>,
    /// Program and function.
    pub func: Option<(u32, u32)>,
    /// First and last step.
    pub steps: Option<(u64, u64)>,
}

/// Executions that were looked up, as far as they were fetched.
#[derive(Clone, PartialEq, Debug)]
pub struct Results {
    /// The question.
    pub request: QueryRequest,
    /// In the order asked for.
    pub documents: Vec<Arc<ExecutionDocument>>,
    /// How many there are in all, if the server said so.
    pub total: Option<u64>,
    /// Whether all were fetched.
    pub is_complete: bool,
}

/// One place.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Place {
    /// What fills the window.
    pub page: Page,
    /// What is chosen.
    pub focus: Focus,
    /// The question as it was filled in.
    pub form: QueryForm,
    /// The answer.
    pub results: Option<Arc<Results>>,
    /// The execution that is open.
    pub document: Option<Arc<ExecutionDocument>>,
}

/// Places in order of time, and which one is now.
#[derive(Clone, Debug)]
pub(super) struct Places {
    places: VecDeque<Place>,
    now: usize,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            places: VecDeque::from([Place::default()]),
            now: 0,
        }
    }
}

impl Places {
    pub(super) fn now(&self) -> &Place {
        &self.places[self.now]
    }

    pub(super) fn now_mut(&mut self) -> &mut Place {
        &mut self.places[self.now]
    }

    /// Goes to a new place; what was ahead is forgotten. The same place again is none.
    pub(super) fn go(&mut self, place: Place) {
        if place == *self.now() {
            return;
        }
        self.places.truncate(self.now + 1);
        if self.places.len() == MAX_PLACES {
            self.places.pop_front();
        }
        self.places.push_back(place);
        self.now = self.places.len() - 1;
    }

    pub(super) fn can_go_back(&self) -> bool {
        self.now > 0
    }

    pub(super) fn can_go_forward(&self) -> bool {
        self.now + 1 < self.places.len()
    }

    pub(super) fn back(&mut self) {
        self.now = self.now.saturating_sub(1);
    }

    pub(super) fn forward(&mut self) {
        self.now = (self.now + 1).min(self.places.len() - 1);
    }

    /// Gives the answer to all places that asked the question `id`.
    pub(super) fn answer(&mut self, id: u64, results: &Arc<Results>) {
        for place in &mut self.places {
            let asked = place.results.as_ref().map(|results| results.request.id);
            if asked == Some(id) {
                place.results = Some(Arc::clone(results));
            }
        }
    }

    /// The newest answer to the question `id`.
    pub(super) fn results_of(&self, id: u64) -> Option<&Arc<Results>> {
        let mut all = self
            .places
            .iter()
            .filter_map(|place| place.results.as_ref());
        all.find(|results| results.request.id == id)
    }
}
