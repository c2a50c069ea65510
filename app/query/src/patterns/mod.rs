//! Repeated patterns for the views and for tables: the patterns of a run, their usual durations, and the program's
//! iterations.

mod curve;
mod list;
mod long_occurrences;
mod make_list;
mod outline;
mod reference;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_model::{Cancelled, DurationNs, LaneIdx, Progress, TimeNs, Trace};
use callgrove_patterns::{Iterations, Patterns};

use crate::timeline::Span;
use long_occurrences::LongOccurrences;

pub use callgrove_patterns::{Imbalance, Occurrence, Pattern, PatternId, ReferenceCurve, Standing};
pub use curve::{CurveAxis, PatternCurve};
pub use list::{ListedIterations, ListedPattern, PatternList};
pub use outline::{OutlineLine, OutlinePath, Unfolding};
pub use reference::PatternReference;
pub use rows::{AnomalyRow, IterationsRow, PatternRow};

/// Number of nested patterns that a definition shows.
const DEFINITION_DEPTH: usize = 2;
/// Share of the progress that the search for patterns takes; the rest is for the iterations.
const PATTERNS_SHARE: f32 = 0.9;

/// All repeated patterns of a run. Views have their list ([`PatternList`]) and query the rest ([`crate::Calls`]).
#[derive(Debug)]
pub struct RunPatterns {
    trace: Arc<Trace>,
    patterns: Patterns,
    iterations: Option<Iterations>,
    list: Arc<PatternList>,
    /// Indices of the patterns that repeat.
    indices: BTreeMap<PatternId, PatternIndex>,
    imbalances: Vec<Imbalance>,
}

/// The indices of a pattern that repeats.
#[derive(Debug)]
struct PatternIndex {
    curve: PatternCurve,
    long: LongOccurrences,
}

impl RunPatterns {
    /// Finds the repeated patterns of a trace. Cost: near linear in events.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller cancelled.
    pub fn find(trace: &Arc<Trace>, progress: Progress<'_>) -> Result<Self, Cancelled> {
        let patterns = Patterns::find(trace, progress.part(0.0, PATTERNS_SHARE))?;
        let iterations = Iterations::find(trace, &patterns, progress.part(PATTERNS_SHARE, 1.0))?;
        let all = patterns.all().iter().filter(|pattern| pattern.recurs());
        let indices = all.map(|pattern| {
            let known = PatternIndex {
                curve: PatternCurve::new(pattern),
                long: LongOccurrences::new(pattern),
            };
            (pattern.id, known)
        });
        let mut found = Self {
            indices: indices.collect(),
            imbalances: (iterations.as_ref())
                .map(Iterations::imbalances)
                .unwrap_or_default(),
            trace: Arc::clone(trace),
            patterns,
            iterations,
            list: Arc::default(),
        };
        found.list = Arc::new(PatternList::of(&found));
        Ok(found)
    }

    /// Returns the list of the patterns.
    pub fn list(&self) -> &Arc<PatternList> {
        &self.list
    }

    /// Returns the curve of the durations of a pattern that repeats.
    pub fn curve(&self, id: PatternId) -> Option<&PatternCurve> {
        Some(&self.indices.get(&id)?.curve)
    }

    /// Returns the occurrences of a pattern that repeats, on a lane from one time to another, that last longer than
    /// `limit`; in order of start.
    pub(crate) fn longer_than(
        &self,
        id: PatternId,
        place: (LaneIdx, TimeNs, TimeNs),
        limit: DurationNs,
    ) -> Option<impl Iterator<Item = Span>> {
        let pattern = self.get(id)?;
        let long = &self.indices.get(&id)?.long;
        Some(long.longer_than(pattern, place, limit))
    }

    /// Returns the imbalance of each iteration, in order.
    pub fn imbalances(&self) -> &[Imbalance] {
        &self.imbalances
    }

    /// Returns the patterns that repeat on some lane, by descending total time.
    pub fn listed(&self) -> Vec<&Pattern> {
        let all = self.patterns.all().iter();
        let mut listed: Vec<&Pattern> = all.filter(|pattern| pattern.recurs()).collect();
        listed.sort_by_key(|pattern| (std::cmp::Reverse(pattern.total), pattern.id));
        listed
    }

    /// Returns the pattern with a number, if there is one.
    pub fn get(&self, id: PatternId) -> Option<&Pattern> {
        self.patterns.get(id)
    }

    /// Returns the short name of a pattern, made of its functions.
    pub fn name(&self, id: PatternId) -> String {
        self.patterns.name(id, &self.trace.names)
    }

    /// Returns the definition of a pattern, to a limited depth.
    pub fn define(&self, id: PatternId) -> String {
        self.patterns
            .define(id, &self.trace.names, DEFINITION_DEPTH)
    }

    /// Returns the iterations of the program's time step loop, if it has one.
    pub fn iterations(&self) -> Option<&Iterations> {
        self.iterations.as_ref()
    }

    /// Returns the short name of the time step loop.
    pub fn loop_name(&self) -> Option<String> {
        Some(self.iterations.as_ref()?.name(&self.trace))
    }

    /// Returns the iteration of a lane at a time, from 0.
    pub fn iteration_at(&self, lane: LaneIdx, time: TimeNs) -> Option<usize> {
        self.iterations.as_ref()?.iteration_at(lane, time)
    }

    /// Returns the trace of the patterns.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }
}
