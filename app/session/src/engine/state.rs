//! The open run. Decides whether something must be opened first.

use std::sync::Arc;

use callgrove_model::{RunIdentity, Trace};
use callgrove_query::Calls;

use super::embedded_forest::EmbeddedForest;
use super::error::CommandError;
use super::label_store::LabelStore;
use crate::learning;
use crate::root::RootError;
use crate::snapshot::Suggestion;

/// The open run, with as much of it as there is.
pub(super) enum State {
    /// No run.
    Empty,
    /// A run that is known only from its records, which can be labelled.
    Recorded(RunIdentity, LabelStore),
    /// A trace without a root function: none is chosen yet, or none is possible.
    TraceOpen(OpenRun),
    /// A trace and the forest of a root function.
    ForestOpen(OpenRun, Box<EmbeddedForest>),
}

/// A trace and the user's work on its run.
pub(super) struct OpenRun {
    pub(super) label_store: LabelStore,
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
    pub(super) fn label_store(&self) -> Result<&LabelStore, CommandError> {
        match self {
            Self::Empty => Err(CommandError::NoRun),
            Self::Recorded(_, label_store) => Ok(label_store),
            Self::TraceOpen(run) | Self::ForestOpen(run, _) => Ok(&run.label_store),
        }
    }

    /// Returns the user's work on the run, for changes.
    pub(super) fn label_store_mut(&mut self) -> Result<&mut LabelStore, CommandError> {
        match self {
            Self::Empty => Err(CommandError::NoRun),
            Self::Recorded(_, label_store) => Ok(label_store),
            Self::TraceOpen(run) | Self::ForestOpen(run, _) => Ok(&mut run.label_store),
        }
    }

    pub(super) fn run(&self) -> Result<&OpenRun, CommandError> {
        match self {
            Self::Empty | Self::Recorded(..) => Err(CommandError::NothingOpen),
            Self::TraceOpen(run) | Self::ForestOpen(run, _) => Ok(run),
        }
    }

    pub(super) fn run_mut(&mut self) -> Result<&mut OpenRun, CommandError> {
        match self {
            Self::Empty | Self::Recorded(..) => Err(CommandError::NothingOpen),
            Self::TraceOpen(run) | Self::ForestOpen(run, _) => Ok(run),
        }
    }

    pub(super) fn forest(&self) -> Result<(&OpenRun, &EmbeddedForest), CommandError> {
        match self {
            Self::Empty | Self::Recorded(..) => Err(CommandError::NothingOpen),
            Self::TraceOpen(_) => Err(CommandError::NoForest),
            Self::ForestOpen(run, embedded) => Ok((run, embedded)),
        }
    }

    pub(super) fn forest_mut(
        &mut self,
    ) -> Result<(&mut OpenRun, &mut EmbeddedForest), CommandError> {
        match self {
            Self::Empty | Self::Recorded(..) => Err(CommandError::NothingOpen),
            Self::TraceOpen(_) => Err(CommandError::NoForest),
            Self::ForestOpen(run, embedded) => Ok((run, embedded)),
        }
    }

    /// Shows another forest of the trace.
    pub(super) fn set_forest(&mut self, embedded: EmbeddedForest) {
        *self = match std::mem::replace(self, Self::Empty) {
            other @ (Self::Empty | Self::Recorded(..)) => other,
            Self::TraceOpen(run) | Self::ForestOpen(run, _) => {
                Self::ForestOpen(run, Box::new(embedded))
            }
        };
    }
}

impl OpenTrace {
    pub(super) fn new(source: &str, trace: Trace) -> Self {
        let trace = Arc::new(trace);
        Self {
            source: source.to_owned(),
            calls: Arc::new(Calls::local(&trace)),
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
