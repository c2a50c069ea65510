//! What recurs, for the views and for tables: the patterns of a run, how long they usually take, and the program's
//! iterations.

mod rows;

use std::sync::Arc;

use callgrove_model::{Cancelled, DurationNs, LaneIdx, Progress, TimeNs, Trace};
use callgrove_patterns::pattern::{
    DEFAULT_ANOMALY_FACTOR, DEFAULT_REFERENCE_SHARE, Iterations, Patterns,
};

pub use callgrove_patterns::pattern::{
    Imbalance, Occurrence, Pattern, PatternId, ReferenceCurve, Standing,
};
pub use rows::{AnomalyRow, IterationsRow, PatternRow};

/// Levels of patterns within patterns that a definition shows.
const DEFINITION_DEPTH: usize = 2;
/// Share of the reading of the trace's patterns that is not for the iterations.
const PATTERNS_SHARE: f32 = 0.9;

/// What recurs in a run.
#[derive(Debug)]
pub struct RunPatterns {
    trace: Arc<Trace>,
    patterns: Patterns,
    iterations: Option<Iterations>,
}

/// How a pattern's usual duration is taken, and what is far from it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PatternReference {
    /// q: the share of the fastest occurrences that are the reference, 0..=1; its end is d.
    pub share: f64,
    /// s: beyond this many times d an occurrence is anomalous, from 1 on; between the two it is undecided.
    pub factor: f64,
}

impl Default for PatternReference {
    fn default() -> Self {
        Self {
            share: DEFAULT_REFERENCE_SHARE,
            factor: DEFAULT_ANOMALY_FACTOR,
        }
    }
}

impl RunPatterns {
    /// Finds what recurs in a trace. Cost: near linear in events.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find(trace: &Arc<Trace>, progress: Progress<'_>) -> Result<Self, Cancelled> {
        let patterns = Patterns::find(trace, progress.part(0.0, PATTERNS_SHARE))?;
        let iterations = Iterations::find(trace, &patterns, progress.part(PATTERNS_SHARE, 1.0))?;
        Ok(Self {
            trace: Arc::clone(trace),
            patterns,
            iterations,
        })
    }

    /// The patterns that recur on some lane, those first whose occurrences took longest together.
    pub fn listed(&self) -> Vec<&Pattern> {
        let all = self.patterns.all().iter();
        let mut listed: Vec<&Pattern> = all.filter(|pattern| pattern.recurs()).collect();
        listed.sort_by_key(|pattern| (std::cmp::Reverse(pattern.total), pattern.id));
        listed
    }

    /// A pattern, if there is one of that number.
    pub fn get(&self, id: PatternId) -> Option<&Pattern> {
        self.patterns.get(id)
    }

    /// What people call a pattern: by the functions that it is made of.
    pub fn name(&self, id: PatternId) -> String {
        self.patterns.name(id, &self.trace.names)
    }

    /// What it is made of, to a depth of some levels.
    pub fn define(&self, id: PatternId) -> String {
        self.patterns
            .define(id, &self.trace.names, DEFINITION_DEPTH)
    }

    /// The iterations of the program's time step loop, if it has one.
    pub fn iterations(&self) -> Option<&Iterations> {
        self.iterations.as_ref()
    }

    /// What people call the loop of the iterations.
    pub fn loop_name(&self) -> Option<String> {
        Some(self.iterations.as_ref()?.name(&self.trace))
    }

    /// The iteration that a lane is in at a time, from 0.
    pub fn iteration_at(&self, lane: LaneIdx, time: TimeNs) -> Option<usize> {
        self.iterations.as_ref()?.iteration_at(lane, time)
    }

    /// The trace they were found in.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Time of the anomalous occurrences beyond the reference duration.
    pub fn excess(&self, pattern: &Pattern, reference: PatternReference) -> DurationNs {
        let curve = pattern.curve();
        let usual = curve.reference(reference.share);
        let places = curve.anomalous(reference.share, reference.factor).len();
        let slowest = &curve.sorted()[curve.len() - places..];
        slowest.iter().map(|&duration| duration - usual).sum()
    }
}
