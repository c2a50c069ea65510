//! What recurs, for the views and for tables: the patterns of a run, how long they usually take, and the program's
//! iterations.

mod asked;
mod beyond;
mod curve;
mod list;
mod listing;
mod outline;
mod reference;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_model::{Cancelled, LaneIdx, Progress, TimeNs, Trace};
use callgrove_patterns::pattern::{Iterations, Patterns};

use beyond::LongOccurrences;

pub use asked::{
    AnomalousOf, CurveOf, IterationAt, JudgedBy, JudgedPattern, ListedOccurrence, OccurrenceOrder,
    OccurrencesIn, OutlineOf, UnevenIteration, UnevenOf,
};
pub use callgrove_patterns::pattern::{
    Imbalance, Occurrence, Pattern, PatternId, ReferenceCurve, Standing,
};
pub use curve::{CurveAxis, PatternCurve};
pub use list::{ListedIterations, ListedPattern, PatternList};
pub use outline::{OutlineLine, OutlinePath, Unfolding};
pub use reference::PatternReference;
pub use rows::{AnomalyRow, IterationsRow, PatternRow};

/// Levels of patterns within patterns that a definition shows.
const DEFINITION_DEPTH: usize = 2;
/// Share of the reading of the trace's patterns that is not for the iterations.
const PATTERNS_SHARE: f32 = 0.9;

/// What recurs in a run, all of it. Views list it ([`PatternList`]) and ask for the rest ([`crate::Calls`]).
#[derive(Debug)]
pub struct RunPatterns {
    trace: Arc<Trace>,
    patterns: Patterns,
    iterations: Option<Iterations>,
    list: Arc<PatternList>,
    /// What is looked up of the patterns that recur.
    recurring: BTreeMap<PatternId, Recurring>,
    imbalances: Vec<Imbalance>,
}

/// What is looked up of a pattern that recurs.
#[derive(Debug)]
struct Recurring {
    curve: PatternCurve,
    long: LongOccurrences,
}

impl RunPatterns {
    /// Finds what recurs in a trace. Cost: near linear in events.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller asked to stop.
    pub fn find(trace: &Arc<Trace>, progress: Progress<'_>) -> Result<Self, Cancelled> {
        let patterns = Patterns::find(trace, progress.part(0.0, PATTERNS_SHARE))?;
        let iterations = Iterations::find(trace, &patterns, progress.part(PATTERNS_SHARE, 1.0))?;
        let all = patterns.all().iter().filter(|pattern| pattern.recurs());
        let recurring = all.map(|pattern| {
            let known = Recurring {
                curve: PatternCurve::new(pattern),
                long: LongOccurrences::new(pattern),
            };
            (pattern.id, known)
        });
        let mut found = Self {
            recurring: recurring.collect(),
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

    /// What is always known of it.
    pub fn list(&self) -> &Arc<PatternList> {
        &self.list
    }

    /// The curve of the durations of a pattern that recurs.
    pub fn curve(&self, id: PatternId) -> Option<&PatternCurve> {
        Some(&self.recurring.get(&id)?.curve)
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
