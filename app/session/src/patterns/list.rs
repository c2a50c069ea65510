//! What is always known of the patterns of a run: what is listed of them.

use callgrove_model::{DurationNs, TimeNs};
use callgrove_patterns::pattern::{Iterations, Pattern, PatternId};
use serde::{Deserialize, Serialize};

use super::RunPatterns;

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
    pub(super) fn of(patterns: &RunPatterns) -> Self {
        let listed = patterns.listed().into_iter();
        Self {
            patterns: listed.map(|it| listed_pattern(patterns, it)).collect(),
            iterations: (patterns.iterations.as_ref()).map(|iterations| ListedIterations {
                name: iterations.name(&patterns.trace),
                bounds: bounds_of(iterations),
            }),
        }
    }

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

fn listed_pattern(patterns: &RunPatterns, pattern: &Pattern) -> ListedPattern {
    let sorted = patterns.curve(pattern.id).map_or(&[][..], |it| it.sorted());
    let on_lanes = pattern.occurrences.chunk_by(|a, b| a.lane == b.lane);
    ListedPattern {
        id: pattern.id,
        name: patterns.name(pattern.id),
        num_occurrences: pattern.occurrences.len(),
        num_lanes: on_lanes.count(),
        total: pattern.total,
        shortest: sorted.first().copied().unwrap_or_default(),
        longest: sorted.last().copied().unwrap_or_default(),
    }
}

fn bounds_of(iterations: &Iterations) -> Vec<TimeNs> {
    let spans = (0..iterations.len()).filter_map(|iteration| iterations.span(iteration));
    let (starts, ends): (Vec<TimeNs>, Vec<TimeNs>) = spans.unzip();
    starts.into_iter().chain(ends.last().copied()).collect()
}
