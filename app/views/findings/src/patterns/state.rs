//! The state of the view, and the tables of the patterns of a run.

use std::sync::Arc;

use callgrove_actions::latest_answer::LatestAnswer;
use callgrove_model::TimeNs;
use callgrove_session::{
    Calls, CurveOf, LaneNames, OutlineLine, OutlineOf, PatternId, PatternList, Snapshot, UnevenOf,
    Unfolding,
};
use callgrove_widgets::table::Sort;

use callgrove_tables::ListedPatternRow;

use super::occurrence_rows::{LONGEST_FIRST, OccurrenceRows};
use super::pattern_rows::{BY_TOTAL, PatternRows};

/// Number of levels of a definition that are unfolded initially.
const FIRST_DEPTH: usize = 1;

/// The part that is shown when not all fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum ShownPart {
    /// The table of patterns.
    #[default]
    Patterns,
    /// The curve of the selected one.
    Curve,
    /// Its definition.
    Definition,
    /// Its anomalous occurrences.
    Anomalous,
}

/// The selection, and the tables made of it.
pub struct PatternsState {
    pub(super) part: ShownPart,
    /// True if the definition is shown next to the curve, instead of the anomalous occurrences.
    pub(super) shows_definition: bool,
    pub(super) sort: Sort,
    pub(super) listed_sort: Sort,
    pub(super) unfolding: Unfolding,
    pub(super) run: Option<Run>,
    outline: LatestAnswer<OutlineOf>,
    pub(super) curve: LatestAnswer<CurveOf>,
    pub(super) rows: OccurrenceRows,
    pub(super) uneven: LatestAnswer<UnevenOf>,
    /// The pattern whose definition was unfolded.
    unfolded: Option<PatternId>,
    /// The pattern that the table has scrolled to.
    pub(super) revealed: Option<PatternId>,
}

/// Data that is made once for the patterns of a run.
pub(super) struct Run {
    list: Arc<PatternList>,
    pub(super) calls: Arc<Calls>,
    pub(super) names: LaneNames,
    /// The start of the run.
    pub(super) origin: TimeNs,
    pub(super) listed: PatternRows,
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
            outline: LatestAnswer::default(),
            curve: LatestAnswer::default(),
            rows: OccurrenceRows::default(),
            uneven: LatestAnswer::default(),
            unfolded: None,
            revealed: None,
        }
    }
}

impl PatternsState {
    /// Returns the patterns in the order of the table, for a file.
    pub fn rows(&mut self, snapshot: &Snapshot) -> Vec<ListedPatternRow> {
        self.refresh(snapshot);
        let run = self.run.as_ref();
        run.map(|run| run.listed.rows()).unwrap_or_default()
    }

    /// Rebuilds what depends on changed inputs.
    pub(super) fn refresh(&mut self, snapshot: &Snapshot) {
        let (Some(list), Some(calls)) = (snapshot.patterns(), snapshot.calls()) else {
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
            listed: PatternRows::new(list),
            list: Arc::clone(list),
            calls: Arc::clone(calls),
        }));
        run.listed
            .refresh(calls, snapshot.inspected.reference, self.sort);
        if let Some(pattern) = snapshot.inspected.pattern {
            if self.unfolded != Some(pattern) {
                self.unfolding.exceptions.clear();
                self.unfolded = Some(pattern);
            }
            let unfolding = self.unfolding.clone();
            self.outline.ask(calls, &OutlineOf { pattern, unfolding });
        }
    }

    /// Returns the patterns of the run as listed.
    pub(super) fn listed(&self) -> Option<&PatternRows> {
        self.run.as_ref().map(|run| &run.listed)
    }

    /// Returns the lines of the definition of a pattern, as far as they are known.
    pub(super) fn outline(&self, id: PatternId) -> &[OutlineLine] {
        let known = self.outline.known().filter(|(of, _)| of.pattern == id);
        known.map_or(&[], |(_, lines)| lines)
    }

    /// Returns the pattern `by` rows from the selected one in the table; the first if there is no selection.
    pub(super) fn step(&self, snapshot: &Snapshot, by: isize) -> Option<PatternId> {
        let listed = self.listed()?;
        let at = snapshot
            .inspected
            .pattern
            .and_then(|id| listed.place_of(id));
        let next = match at {
            Some(at) => at.checked_add_signed(by)?,
            None => 0,
        };
        listed.at(next)
    }
}
