//! What the view remembers, and what it counted for a stretch of time.

use std::sync::Arc;

use callgrove_model::TimeNs;
use callgrove_session::{RunCauses, Snapshot, TimeRange, WaitCell};

use super::grid::{WaitGrid, ranks_of};
use super::order::{BY_CAUSED, in_order};
use crate::widgets::table::Sort;

/// What was chosen, and what was counted.
pub(crate) struct WaitsState {
    /// Whether the list is shown where there is no room for both.
    pub(super) shows_roots: bool,
    pub(super) sort: Sort,
    counted: Option<Counted>,
    rows: Option<(Sort, Vec<usize>)>,
    grid: Option<(usize, WaitGrid)>,
    /// Row and column that the arrow keys move.
    cursor: Option<(usize, usize)>,
}

/// The waits of a stretch of time.
struct Counted {
    causes: Arc<RunCauses>,
    range: Option<TimeRange>,
    origin: TimeNs,
    waits: Vec<WaitCell>,
}

impl Default for WaitsState {
    fn default() -> Self {
        Self {
            shows_roots: false,
            sort: BY_CAUSED,
            counted: None,
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
            let range = snapshot.range;
            let (from, to) = range.map_or((TimeNs(i64::MIN), TimeNs(i64::MAX)), |range| {
                (range.from, range.to)
            });
            self.counted = Some(Counted {
                waits: causes.waits().matrix(from..to),
                origin: snapshot.time_span().unwrap_or_default().0,
                causes: Arc::clone(causes),
                range,
            });
            (self.rows, self.grid) = (None, None);
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

    /// The matrix with at most `max_groups` rows, and the cursor on it.
    pub(super) fn grid(
        &mut self,
        causes: &RunCauses,
        max_groups: usize,
    ) -> (&WaitGrid, &mut Option<(usize, usize)>) {
        let waits = self.counted.as_ref().map_or(&[][..], |it| &it.waits);
        let known = self.grid.take().filter(|(max, _)| *max == max_groups);
        let (_, grid) = self.grid.insert(known.unwrap_or_else(|| {
            let ranks = ranks_of(causes.trace());
            (max_groups, WaitGrid::new(ranks, waits, max_groups))
        }));
        (grid, &mut self.cursor)
    }
}
