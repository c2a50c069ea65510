//! The state of the view, and the waits of a time range.

use std::sync::Arc;

use callgrove_actions::latest_answer::LatestAnswer;
use callgrove_model::TimeNs;
use callgrove_session::{RunCauses, Snapshot, TimeRange, WaitCell, WaitsIn};
use callgrove_widgets::table::Sort;

use callgrove_tables::{DelayRootRow, RankWaitRow};

use super::grid::{WaitGrid, ranks_of};
use super::order::{BY_CAUSED, in_order};

/// The user's choices, and the waits.
pub struct WaitsState {
    /// True if the list is shown if both do not fit.
    pub(super) shows_roots: bool,
    pub(super) sort: Sort,
    counted: Option<CountInputs>,
    waits: LatestAnswer<WaitsIn>,
    rows: Option<(Sort, Vec<usize>)>,
    grid: Option<(usize, Arc<Vec<WaitCell>>, WaitGrid)>,
    /// Row and column of the keyboard cursor.
    cursor: Option<(usize, usize)>,
}

/// The inputs of the waits.
struct CountInputs {
    causes: Arc<RunCauses>,
    range: Option<TimeRange>,
    origin: TimeNs,
}

impl Default for WaitsState {
    fn default() -> Self {
        Self {
            shows_roots: false,
            sort: BY_CAUSED,
            counted: None,
            waits: LatestAnswer::default(),
            rows: None,
            grid: None,
            cursor: None,
        }
    }
}

impl WaitsState {
    /// Queries the waits again if the run or the time range has changed.
    pub(super) fn refresh(&mut self, snapshot: &Snapshot) {
        let Some(causes) = snapshot.causes() else {
            (self.counted, self.rows, self.grid, self.cursor) = (None, None, None, None);
            return;
        };
        let is_known = |known: &CountInputs| {
            Arc::ptr_eq(&known.causes, causes) && known.range == snapshot.inspected.range
        };
        if !self.counted.as_ref().is_some_and(is_known) {
            self.counted = Some(CountInputs {
                origin: snapshot.time_span().unwrap_or_default().0,
                causes: Arc::clone(causes),
                range: snapshot.inspected.range,
            });
            self.rows = None;
        }
        if self
            .rows
            .as_ref()
            .is_none_or(|(sort, _)| *sort != self.sort)
        {
            let rows = in_order(causes, snapshot.inspected.range, self.sort);
            self.rows = Some((self.sort, rows));
        }
    }

    /// Returns the roots in the order of the list, for a file.
    pub fn root_rows(&mut self, snapshot: &Snapshot) -> Vec<DelayRootRow> {
        self.refresh(snapshot);
        let Some(causes) = snapshot.causes() else {
            return Vec::new();
        };
        let roots = self.roots().iter().map(|&at| &causes.roots()[at]);
        roots.map(|root| DelayRootRow::of(causes, root)).collect()
    }

    /// Returns the waits between ranks within the selected time range, for a file; `None` while they are unknown.
    pub fn wait_rows(&mut self, snapshot: &Snapshot) -> Option<Vec<RankWaitRow>> {
        let wanted = WaitsIn(snapshot.inspected.range);
        let (of, waits) = self.waits.ask(snapshot.calls()?, &wanted)?;
        (*of == wanted).then(|| waits.iter().map(RankWaitRow::of).collect())
    }

    /// Returns the listed roots, as indices into [`RunCauses::roots`].
    pub(super) fn roots(&self) -> &[usize] {
        self.rows.as_ref().map_or(&[], |(_, rows)| rows)
    }

    /// Returns the start of the run.
    pub(super) fn origin(&self) -> TimeNs {
        self.counted.as_ref().map_or(TimeNs(0), |it| it.origin)
    }

    /// Returns the matrix of a time range with at most `max_groups` rows, and its cursor; `None` while it is unknown.
    pub(super) fn grid(
        &mut self,
        snapshot: &Snapshot,
        max_groups: usize,
    ) -> Option<(&WaitGrid, &mut Option<(usize, usize)>)> {
        let calls = snapshot.calls()?;
        let (_, waits) = self.waits.ask(calls, &WaitsIn(snapshot.inspected.range))?;
        let is_made = |(max, of, _): &(usize, Arc<Vec<WaitCell>>, WaitGrid)| {
            *max == max_groups && Arc::ptr_eq(of, waits)
        };
        let known = self.grid.take().filter(is_made);
        let (_, _, grid) = self.grid.insert(known.unwrap_or_else(|| {
            let ranks = ranks_of(calls.trace());
            let grid = WaitGrid::new(ranks, waits, max_groups);
            (max_groups, Arc::clone(waits), grid)
        }));
        Some((grid, &mut self.cursor))
    }
}
