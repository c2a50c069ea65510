//! What the view remembers, and what it made of the patterns of a run.

use std::sync::Arc;

use callgrove_model::TimeNs;
use callgrove_session::{
    Calls, CurveOf, LaneNames, OutlineLine, OutlineOf, PatternId, PatternList, Snapshot, UnevenOf,
    Unfolding,
};

use super::listing::{BY_TOTAL, Listed};
use super::order::{LONGEST_FIRST, OccurrenceRows};
use crate::asked::Asked;
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
    pub(super) run: Option<Run>,
    outline: Asked<OutlineOf>,
    pub(super) curve: Asked<CurveOf>,
    pub(super) rows: OccurrenceRows,
    pub(super) uneven: Asked<UnevenOf>,
    /// The pattern whose definition was unfolded.
    unfolded: Option<PatternId>,
    /// The pattern that the table has scrolled to.
    pub(super) revealed: Option<PatternId>,
}

/// What is made once for the patterns of a run.
pub(super) struct Run {
    list: Arc<PatternList>,
    pub(super) calls: Arc<Calls>,
    pub(super) names: LaneNames,
    /// Its start.
    pub(super) origin: TimeNs,
    pub(super) listed: Listed,
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
            outline: Asked::default(),
            curve: Asked::default(),
            rows: OccurrenceRows::default(),
            uneven: Asked::default(),
            unfolded: None,
            revealed: None,
        }
    }
}

impl PatternsState {
    /// Makes again what depends on what has changed.
    pub(super) fn refresh(&mut self, snapshot: &Snapshot) {
        let (Some(list), Some(calls)) = (&snapshot.patterns, &snapshot.calls) else {
            self.run = None;
            return;
        };
        let is_same = |run: &Run| Arc::ptr_eq(&run.list, list);
        let run = self.run.take().filter(is_same);
        if run.is_none() {
            (self.revealed, self.unfolded) = (None, None);
            self.rows = OccurrenceRows::default();
        }
        let run = self.run.insert(run.unwrap_or_else(|| Run {
            names: LaneNames::new(calls.trace()),
            origin: snapshot.time_span().unwrap_or_default().0,
            listed: Listed::new(list),
            list: Arc::clone(list),
            calls: Arc::clone(calls),
        }));
        run.listed.refresh(calls, snapshot.reference, self.sort);
        if let Some(pattern) = snapshot.pattern {
            if self.unfolded != Some(pattern) {
                self.unfolding.exceptions.clear();
                self.unfolded = Some(pattern);
            }
            let unfolding = self.unfolding.clone();
            self.outline.ask(calls, &OutlineOf { pattern, unfolding });
        }
    }

    /// The patterns of the run as they are listed.
    pub(super) fn listed(&self) -> Option<&Listed> {
        self.run.as_ref().map(|run| &run.listed)
    }

    /// The lines of the definition of a pattern, as far as they are known.
    pub(super) fn outline(&self, id: PatternId) -> &[OutlineLine] {
        let known = self.outline.known().filter(|(of, _)| of.pattern == id);
        known.map_or(&[], |(_, lines)| lines)
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
