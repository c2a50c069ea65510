//! What the view remembers, and what it counted for a stretch of time.

use std::sync::Arc;

use callgrove_model::TimeNs;
use callgrove_session::{RunCauses, Snapshot, TimeRange, WaitCell, WaitsIn};

use super::grid::{WaitGrid, ranks_of};
use super::order::{BY_CAUSED, in_order};
use crate::asked::Asked;
use crate::widgets::table::Sort;

/// What was chosen, and what was counted.
pub(crate) struct WaitsState {
    /// Whether the list is shown where there is no room for both.
    pub(super) shows_roots: bool,
    pub(super) sort: Sort,
    counted: Option<Counted>,
    waits: Asked<WaitsIn>,
    rows: Option<(Sort, Vec<usize>)>,
    grid: Option<(usize, Arc<Vec<WaitCell>>, WaitGrid)>,
    /// Row and column that the arrow keys move.
    cursor: Option<(usize, usize)>,
}

/// What the rest was made of.
struct Counted {
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
            waits: Asked::default(),
            rows: None,
            grid: None,
            cursor: None,
        }
    }
}

impl WaitsState {
    /// Counts again if run or stretch of time are others.
    pub(super) fn refresh(&mut self, snapshot: &Snapshot) {
        let Some(causes) = &snapshot.causes else {
            (self.counted, self.rows, self.grid, self.cursor) = (None, None, None, None);
            return;
        };
        let is_known =
            |known: &Counted| Arc::ptr_eq(&known.causes, causes) && known.range == snapshot.range;
        if !self.counted.as_ref().is_some_and(is_known) {
            self.counted = Some(Counted {
                origin: snapshot.time_span().unwrap_or_default().0,
                causes: Arc::clone(causes),
                range: snapshot.range,
            });
            self.rows = None;
        }
        if self
            .rows
            .as_ref()
            .is_none_or(|(sort, _)| *sort != self.sort)
        {
            let rows = in_order(causes, snapshot.range, self.sort);
            self.rows = Some((self.sort, rows));
        }
    }

    /// The roots that are listed, as places in [`RunCauses::roots`].
    pub(super) fn roots(&self) -> &[usize] {
        self.rows.as_ref().map_or(&[], |(_, rows)| rows)
    }

    /// The start of the run.
    pub(super) fn origin(&self) -> TimeNs {
        self.counted.as_ref().map_or(TimeNs(0), |it| it.origin)
    }

    /// The matrix of a stretch of time with at most `max_groups` rows, and the cursor on it; none while nobody knows.
    pub(super) fn grid(
        &mut self,
        snapshot: &Snapshot,
        max_groups: usize,
    ) -> Option<(&WaitGrid, &mut Option<(usize, usize)>)> {
        let calls = snapshot.calls.as_ref()?;
        let (_, waits) = self.waits.ask(calls, &WaitsIn(snapshot.range))?;
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
