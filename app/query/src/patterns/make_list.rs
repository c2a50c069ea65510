//! Makes the list of the patterns of a run.

use callgrove_model::TimeNs;
use callgrove_patterns::{Iterations, Pattern};

use super::RunPatterns;
use super::list::{ListedIterations, ListedPattern, PatternList};

impl PatternList {
    /// Returns the list of the patterns of a run.
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
