//! The selected trend on the timeline: its ranks first, its function and its time range.

use std::collections::BTreeSet;
use std::sync::Arc;

use callgrove_canvas::time::Window;
use callgrove_model::{FuncId, ProgramId, RankId, TimeNs};
use callgrove_session::{RunTrends, Snapshot, Trend, TrendKind};

/// The trend that was selected last.
#[derive(Default)]
pub(crate) struct ShownTrend {
    known: Option<(Arc<RunTrends>, usize)>,
}

/// The ranks, function and time range of a trend.
pub(crate) struct TrendPlace {
    /// Its ranks.
    pub(crate) ranks: BTreeSet<(ProgramId, RankId)>,
    /// The function with the largest cost.
    pub(crate) func: FuncId,
    /// Its time range.
    pub(crate) window: Window,
}

impl ShownTrend {
    /// Returns the number of the selected trend.
    pub(crate) fn number(&self) -> Option<usize> {
        self.known.as_ref().map(|(_, number)| *number)
    }

    /// Takes over the selected trend. Returns whether the selection changed.
    pub(crate) fn follow(&mut self, snapshot: &Snapshot) -> bool {
        let new = snapshot.trends().zip(snapshot.inspected.trend);
        let new = new.filter(|(trends, number)| *number < trends.all().len());
        let is_same = match (&self.known, new) {
            (Some((of, known)), Some((trends, number))) => {
                Arc::ptr_eq(of, trends) && *known == number
            }
            (known, new) => known.is_none() && new.is_none(),
        };
        if !is_same {
            self.known = new.map(|(trends, number)| (Arc::clone(trends), number));
        }
        !is_same
    }

    /// Returns the location of the trend within a run.
    pub(crate) fn place(&self, run: Window) -> Option<TrendPlace> {
        let (trends, number) = self.known.as_ref()?;
        let trend = trends.all().get(*number)?;
        let ranks = trend.lanes.iter().map(|&lane| {
            let lane = trends.trace().lane(lane);
            (lane.program, lane.rank)
        });
        Some(TrendPlace {
            ranks: ranks.collect(),
            func: trend.func,
            window: window_of(trend, run),
        })
    }
}

/// Returns the whole run, or a window around a change with the change in its middle.
fn window_of(trend: &Trend, run: Window) -> Window {
    let TrendKind::Change { at, .. } = trend.kind else {
        return run;
    };
    let half_ns = at.since(run.from).0.min(run.to.since(at).0).max(0);
    let from = TimeNs(at.0.saturating_sub(half_ns));
    Window::around(from, TimeNs(at.0.saturating_add(half_ns)), 0.0)
}
