//! The list of the patterns of a run, which is always available.

use callgrove_model::{DurationNs, TimeNs};
use callgrove_patterns::PatternId;
use serde::{Deserialize, Serialize};

/// The list of the repeated patterns of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PatternList {
    /// The patterns that repeat on some lane, by descending total time.
    pub patterns: Vec<ListedPattern>,
    /// The program's time step loop, if it has one.
    pub iterations: Option<ListedIterations>,
}

/// The facts about a pattern that do not depend on the reference.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ListedPattern {
    /// Number of the pattern.
    pub id: PatternId,
    /// Short name.
    pub name: String,
    /// Number of occurrences.
    pub num_occurrences: usize,
    /// Number of lanes with occurrences.
    pub num_lanes: usize,
    /// Time of all occurrences together.
    pub total: DurationNs,
    /// The shortest duration.
    pub shortest: DurationNs,
    /// The longest duration.
    pub longest: DurationNs,
}

/// The iterations of the program's time step loop.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ListedIterations {
    /// Short name of the loop.
    pub name: String,
    /// Start of each iteration on the first lane to enter it, in order; then the end of the last one on the last lane.
    pub bounds: Vec<TimeNs>,
}

impl PatternList {
    /// Returns the index of a pattern, if it is listed.
    pub fn place_of(&self, id: PatternId) -> Option<usize> {
        self.patterns.iter().position(|pattern| pattern.id == id)
    }

    /// Returns the start of each iteration, then the end of the last one; empty if the program has none.
    pub fn iteration_bounds(&self) -> &[TimeNs] {
        let iterations = self.iterations.as_ref();
        iterations.map_or(&[], |iterations| &iterations.bounds)
    }
}

impl ListedIterations {
    /// Returns the number of iterations.
    pub fn num(&self) -> usize {
        self.bounds.len().saturating_sub(1)
    }
}
