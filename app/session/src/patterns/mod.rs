//! What recurs, for the views and for tables: the patterns of a run, how long they usually take, and the program's
//! iterations.

mod beyond;
mod curve;
mod outline;
mod reference;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_model::{Cancelled, LaneIdx, Progress, TimeNs, Trace};
use callgrove_patterns::pattern::{Iterations, Patterns};

pub use beyond::LongOccurrences;
pub use callgrove_patterns::pattern::{
    Imbalance, Occurrence, Pattern, PatternId, ReferenceCurve, Standing,
};
pub use curve::PatternCurve;
pub use outline::{OutlineLine, OutlinePath, Unfolding};
pub use reference::PatternReference;
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
    /// The curves of the patterns that recur.
    curves: BTreeMap<PatternId, PatternCurve>,
    /// When each iteration begins on the first rank, then when the last one ends on the last.
    iteration_bounds: Vec<TimeNs>,
    imbalances: Vec<Imbalance>,
}

impl RunPatterns {
    /// Finds what recurs in a trace. Cost: near linear in events.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find(trace: &Arc<Trace>, progress: Progress<'_>) -> Result<Self, Cancelled> {
        let patterns = Patterns::find(trace, progress.part(0.0, PATTERNS_SHARE))?;
        let iterations = Iterations::find(trace, &patterns, progress.part(PATTERNS_SHARE, 1.0))?;
        Ok(Self::of_found(Arc::clone(trace), patterns, iterations))
    }

    /// What was found in the trace before.
    pub(crate) fn of_found(
        trace: Arc<Trace>,
        patterns: Patterns,
        iterations: Option<Iterations>,
    ) -> Self {
        let recurring = patterns.all().iter().filter(|pattern| pattern.recurs());
        let curves = recurring.map(|pattern| (pattern.id, PatternCurve::new(pattern)));
        Self {
            curves: curves.collect(),
            iteration_bounds: iterations.as_ref().map(bounds_of).unwrap_or_default(),
            imbalances: iterations
                .as_ref()
                .map(Iterations::imbalances)
                .unwrap_or_default(),
            trace,
            patterns,
            iterations,
        }
    }

    /// What was found, without the trace.
    pub(crate) fn found(&self) -> (&Patterns, Option<&Iterations>) {
        (&self.patterns, self.iterations.as_ref())
    }

    /// The curve of the durations of a pattern that recurs.
    pub fn curve(&self, id: PatternId) -> Option<&PatternCurve> {
        self.curves.get(&id)
    }

    /// When each iteration begins on the rank that is there first, in order; then the end of the last one. Empty if
    /// the program has no iterations.
    pub fn iteration_bounds(&self) -> &[TimeNs] {
        &self.iteration_bounds
    }

    /// How uneven each iteration was, in order.
    pub fn imbalances(&self) -> &[Imbalance] {
        &self.imbalances
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
}

fn bounds_of(iterations: &Iterations) -> Vec<TimeNs> {
    let spans = (0..iterations.len()).filter_map(|iteration| iterations.span(iteration));
    let (starts, ends): (Vec<TimeNs>, Vec<TimeNs>) = spans.unzip();
    starts.into_iter().chain(ends.last().copied()).collect()
}
