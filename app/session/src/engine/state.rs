//! The open run. Decides whether something must be opened first.

use std::sync::Arc;

use callgrove_model::{RunIdentity, Trace};

use super::grown::Grown;
use super::notebook::Notebook;
use super::stop::Stop;
use crate::root::RootError;
use crate::{Calls, Suggestion, learning};

/// The open run, with as much of it as there is.
pub(super) enum State {
    /// No run.
    Empty,
    /// A run that is known only from its records, which can be labelled.
    Recorded(RunIdentity, Notebook),
    /// A trace without a root function: none is chosen yet, or none is possible.
    TraceOpen(OpenRun),
    /// A trace and the forest of a root function.
    ForestGrown(OpenRun, Box<Grown>),
}

/// A trace and the user's work on its run.
pub(super) struct OpenRun {
    pub(super) notebook: Notebook,
    pub(super) trace: OpenTrace,
}

/// An open trace.
#[derive(Clone)]
pub(super) struct OpenTrace {
    /// As the user named it.
    pub(super) source: String,
    pub(super) trace: Arc<Trace>,
    pub(super) calls: Arc<Calls>,
    pub(super) suggestions: Arc<[Suggestion]>,
}

impl State {
    /// Returns the user's work on the run.
    pub(super) fn notebook(&self) -> Result<&Notebook, Stop> {
        match self {
            Self::Empty => Err(Stop::NoRun),
            Self::Recorded(_, notebook) => Ok(notebook),
            Self::TraceOpen(run) | Self::ForestGrown(run, _) => Ok(&run.notebook),
        }
    }

    /// Returns the user's work on the run, for changes.
    pub(super) fn notebook_mut(&mut self) -> Result<&mut Notebook, Stop> {
        match self {
            Self::Empty => Err(Stop::NoRun),
            Self::Recorded(_, notebook) => Ok(notebook),
            Self::TraceOpen(run) | Self::ForestGrown(run, _) => Ok(&mut run.notebook),
        }
    }

    pub(super) fn run(&self) -> Result<&OpenRun, Stop> {
        match self {
            Self::Empty | Self::Recorded(..) => Err(Stop::NothingOpen),
            Self::TraceOpen(run) | Self::ForestGrown(run, _) => Ok(run),
        }
    }

    pub(super) fn run_mut(&mut self) -> Result<&mut OpenRun, Stop> {
        match self {
            Self::Empty | Self::Recorded(..) => Err(Stop::NothingOpen),
            Self::TraceOpen(run) | Self::ForestGrown(run, _) => Ok(run),
        }
    }

    pub(super) fn forest(&self) -> Result<(&OpenRun, &Grown), Stop> {
        match self {
            Self::Empty | Self::Recorded(..) => Err(Stop::NothingOpen),
            Self::TraceOpen(_) => Err(Stop::NoForest),
            Self::ForestGrown(run, grown) => Ok((run, grown)),
        }
    }

    pub(super) fn forest_mut(&mut self) -> Result<(&mut OpenRun, &mut Grown), Stop> {
        match self {
            Self::Empty | Self::Recorded(..) => Err(Stop::NothingOpen),
            Self::TraceOpen(_) => Err(Stop::NoForest),
            Self::ForestGrown(run, grown) => Ok((run, grown)),
        }
    }

    /// Shows another forest of the trace.
    pub(super) fn set_forest(&mut self, grown: Grown) {
        *self = match std::mem::replace(self, Self::Empty) {
            other @ (Self::Empty | Self::Recorded(..)) => other,
            Self::TraceOpen(run) | Self::ForestGrown(run, _) => {
                Self::ForestGrown(run, Box::new(grown))
            }
        };
    }
}

impl OpenTrace {
    pub(super) fn new(source: &str, trace: Trace) -> Self {
        let trace = Arc::new(trace);
        Self {
            source: source.to_owned(),
            calls: Arc::new(Calls::here(&trace)),
            suggestions: learning::suggest_roots(&trace).into(),
            trace,
        }
    }

    /// Returns the most promising root function.
    pub(super) fn best_root(&self) -> Result<String, RootError> {
        if self.trace.num_executions() == 0 {
            return Err(RootError::EmptyTrace);
        }
        let best = self.suggestions.first();
        best.map(|best| best.name.clone())
            .ok_or(RootError::NothingToSuggest)
    }
}
