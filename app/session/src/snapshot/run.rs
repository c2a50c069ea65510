//! The part of a snapshot that concerns the open run.

use std::sync::Arc;

use callgrove_model::{DurationNs, FuncId};
use callgrove_query::{Calls, PatternList, RunCauses, RunTrends};
use serde::{Deserialize, Serialize};

use crate::comparison::ComparedWith;

/// The open run, and what is computed from its trace alone.
#[derive(Clone, Debug)]
pub struct RunSnapshot {
    /// Query interface to the calls of the trace. If they are remote ([`Calls::is_remote`]), the lanes of
    /// [`Calls::trace`] are empty.
    pub calls: Arc<Calls>,
    /// Root functions that are worth analysing, most promising first.
    pub suggestions: Arc<[Suggestion]>,
    /// Persistent and slow changes; computed some time after the trace was opened.
    pub trends: Option<Arc<RunTrends>>,
    /// Causes of the delays; computed some time after the trace was opened.
    pub causes: Option<Arc<RunCauses>>,
    /// The list of repeated patterns; computed some time after the trace was opened.
    pub patterns: Option<Arc<PatternList>>,
    /// The comparison with an earlier run, until it is ended.
    pub comparison: Option<Arc<ComparedWith>>,
}

impl RunSnapshot {
    /// Returns the snapshot of a run from which nothing has been computed yet.
    pub fn new(calls: Arc<Calls>, suggestions: Arc<[Suggestion]>) -> Self {
        Self {
            calls,
            suggestions,
            trends: None,
            causes: None,
            patterns: None,
            comparison: None,
        }
    }
}

/// A function that could be the root of a forest.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Suggestion {
    /// Function.
    pub func: FuncId,
    /// Name without arguments; works as a pattern.
    pub name: String,
    /// Number of executions.
    pub num_calls: usize,
    /// Median duration.
    pub median: DurationNs,
    /// Longest duration.
    pub longest: DurationNs,
    /// Mean number of calls in one execution, itself included.
    pub mean_calls: f64,
    /// Reason for the suggestion, as text.
    pub reason: String,
}
