//! What is always known of the patterns of a run: what is listed of them.

use callgrove_model::{DurationNs, TimeNs};
use callgrove_patterns::pattern::PatternId;
use serde::{Deserialize, Serialize};

/// What recurs in a run, as it is listed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PatternList {
    /// The patterns that recur on some lane, those first whose occurrences took longest together.
    pub patterns: Vec<ListedPattern>,
    /// The program's time step loop, if it has one.
    pub iterations: Option<ListedIterations>,
}

/// What stays the same of a pattern, whatever is taken as usual.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ListedPattern {
    /// Which one.
    pub id: PatternId,
    /// What people call it.
    pub name: String,
    /// Number of occurrences.
    pub num_occurrences: usize,
    /// Lanes that it occurs on.
    pub num_lanes: usize,
    /// Time of all occurrences together.
    pub total: DurationNs,
    /// The shortest.
    pub shortest: DurationNs,
    /// The longest.
    pub longest: DurationNs,
}

/// The iterations of the program's time step loop.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ListedIterations {
    /// What people call the loop.
    pub name: String,
    /// When each begins on the lane that is there first, in order; then when the last one ends on the last lane.
    pub bounds: Vec<TimeNs>,
}

impl PatternList {
    /// The place of a pattern, if it is listed.
    pub fn place_of(&self, id: PatternId) -> Option<usize> {
        self.patterns.iter().position(|pattern| pattern.id == id)
    }

    /// When each iteration begins, then when the last one ends; empty if the program has none.
    pub fn iteration_bounds(&self) -> &[TimeNs] {
        let iterations = self.iterations.as_ref();
        iterations.map_or(&[], |iterations| &iterations.bounds)
    }
}

impl ListedIterations {
    /// How many there are.
    pub fn num(&self) -> usize {
        self.bounds.len().saturating_sub(1)
    }
}
