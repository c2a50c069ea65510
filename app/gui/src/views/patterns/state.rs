//! What the view remembers, and what it made of the patterns of a run.

use std::sync::Arc;

use callgrove_model::TimeNs;
use callgrove_session::{
    LaneNames, OutlineLine, PatternId, PatternReference, RunPatterns, Snapshot, Unfolding,
};

use super::listing::{BY_TOTAL, Listed};
use super::order::{LONGEST_FIRST, Order};
use crate::widgets::table::Sort;

/// Levels of a definition that are unfolded at first.
const FIRST_DEPTH: usize = 1;

/// What is shown where there is no room for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum ShownPart {
    /// The table of patterns.
    #[default]
    Patterns,
    /// The curve of the selected one.
    Curve,
    /// What it is made of.
    Definition,
    /// Its anomalous occurrences.
    Anomalous,
}

/// What was chosen, and the tables made of that.
pub(crate) struct PatternsState {
    pub(super) part: ShownPart,
    /// Whether the definition stands beside the curve, else the anomalous occurrences.
    pub(super) shows_definition: bool,
    pub(super) sort: Sort,
    pub(super) listed_sort: Sort,
    pub(super) unfolding: Unfolding,
    run: Option<Run>,
    outline: Option<(PatternId, Unfolding, Vec<OutlineLine>)>,
    pub(super) order: Option<Order>,
    /// The pattern that the table has scrolled to.
    pub(super) revealed: Option<PatternId>,
}

/// What is made once for the patterns of a run.
struct Run {
    patterns: Arc<RunPatterns>,
    names: LaneNames,
    origin: TimeNs,
    listed: Listed,
}

/// The patterns, and the one that is looked at.
pub(super) struct ShownPatterns<'a> {
    pub(super) patterns: &'a RunPatterns,
    pub(super) names: &'a LaneNames,
    /// The start of the run.
    pub(super) origin: TimeNs,
    pub(super) reference: PatternReference,
}

impl Default for PatternsState {
    fn default() -> Self {
        Self {
            part: ShownPart::default(),
            shows_definition: false,
            sort: BY_TOTAL,
            listed_sort: LONGEST_FIRST,
            unfolding: Unfolding::to_depth(FIRST_DEPTH),
            run: None,
            outline: None,
            order: None,
            revealed: None,
        }
    }
}

impl PatternsState {
    /// Makes again what depends on what has changed.
    pub(super) fn refresh(&mut self, snapshot: &Snapshot) {
        let Some(patterns) = &snapshot.patterns else {
            (self.run, self.outline, self.order) = (None, None, None);
            return;
        };
        let is_same = |run: &Run| Arc::ptr_eq(&run.patterns, patterns);
        let run = self.run.take().filter(is_same);
        if run.is_none() {
            (self.outline, self.order, self.revealed) = (None, None, None);
        }
        let run = self.run.insert(run.unwrap_or_else(|| Run {
            names: LaneNames::new(patterns.trace()),
            origin: snapshot.time_span().unwrap_or_default().0,
            listed: Listed::new(patterns),
            patterns: Arc::clone(patterns),
        }));
        run.listed.refresh(patterns, snapshot.reference, self.sort);
        let chosen = snapshot.pattern;
        let is_known = |(id, unfolding, _): &(PatternId, Unfolding, Vec<OutlineLine>)| {
            Some(*id) == chosen && *unfolding == self.unfolding
        };
        if !self.outline.as_ref().is_some_and(is_known) {
            let is_other = self.outline.as_ref().is_none_or(|it| Some(it.0) != chosen);
            if is_other {
                self.unfolding.exceptions.clear();
            }
            self.outline = chosen.map(|id| {
                let lines = patterns.outline(id, &self.unfolding);
                (id, self.unfolding.clone(), lines)
            });
        }
    }

    /// The patterns of the run as they are listed.
    pub(super) fn listed(&self) -> Option<&Listed> {
        self.run.as_ref().map(|run| &run.listed)
    }

    /// The lines of the definition of the pattern that is looked at.
    pub(super) fn outline(&self) -> &[OutlineLine] {
        self.outline.as_ref().map_or(&[], |(_, _, lines)| lines)
    }

    /// What is shown.
    pub(super) fn shown<'a>(
        &'a self,
        patterns: &'a RunPatterns,
        snapshot: &Snapshot,
    ) -> Option<ShownPatterns<'a>> {
        let run = self.run.as_ref()?;
        Some(ShownPatterns {
            patterns,
            names: &run.names,
            origin: run.origin,
            reference: snapshot.reference,
        })
    }

    /// The pattern `by` places from the selected one in the table; the first if none is.
    pub(super) fn step(&self, snapshot: &Snapshot, by: isize) -> Option<PatternId> {
        let listed = self.listed()?;
        let at = snapshot.pattern.and_then(|id| listed.place_of(id));
        let next = match at {
            Some(at) => at.checked_add_signed(by)?,
            None => 0,
        };
        listed.at(next)
    }
}
