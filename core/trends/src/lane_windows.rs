//! Own times in windows: a summary of a series of calls, for runs whose calls are not kept.

use std::ops::Range;

use callgrove_model::{DurationNs, FuncId, LaneIdx, ProgramId, RankId, ThreadId, TimeNs};

use serde::{Deserialize, Serialize};

/// Number of windows of a series with enough calls.
pub(super) const NUM_WINDOWS: usize = 20;

/// A lane of a run, as named in findings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrendLane {
    /// Program.
    pub program: ProgramId,
    /// Rank.
    pub rank: RankId,
    /// Thread.
    pub thread: ThreadId,
    /// Host; empty if it is unknown.
    pub host: String,
}

/// A function under its caller in one program, with the own times of its calls on some lanes.
#[derive(Clone, PartialEq, Debug)]
pub struct OwnTimeWindows {
    /// Program.
    pub program: ProgramId,
    /// Function.
    pub func: FuncId,
    /// Its caller; `None` at the bottom of the stack.
    pub caller: Option<FuncId>,
    /// The lanes, each once, ascending.
    pub lanes: Vec<LaneWindows>,
}

/// The own times of one lane.
#[derive(Clone, PartialEq, Debug)]
pub struct LaneWindows {
    /// Lane, an index into the lanes of the run.
    pub lane: LaneIdx,
    /// Windows in order of time.
    pub windows: Vec<TimeWindow>,
}

/// The calls of a time range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeWindow {
    /// Entry of the first call.
    pub start: TimeNs,
    /// Number of calls.
    pub num_calls: u64,
    /// Their usual own time: the quantile .40.
    pub usual: DurationNs,
    /// Their total own time.
    pub total: DurationNs,
}

impl TimeWindow {
    /// Joins this window and the next one. The usual own time is the mean, weighted by the calls.
    #[must_use]
    pub fn joined(self, next: Self) -> Self {
        let num_calls = self.num_calls.saturating_add(next.num_calls);
        let weighted = |it: Self| i128::from(it.usual.0) * i128::from(it.num_calls);
        let usual = (weighted(self) + weighted(next)) / i128::from(num_calls.max(1));
        Self {
            start: self.start.min(next.start),
            num_calls,
            usual: DurationNs(i64::try_from(usual).unwrap_or(i64::MAX)),
            total: DurationNs(self.total.0.saturating_add(next.total.0)),
        }
    }
}

impl LaneWindows {
    /// Returns the number of calls of all windows.
    pub(super) fn num_calls(&self) -> usize {
        let all = self.windows.iter().map(|window| window.num_calls);
        usize::try_from(all.fold(0, u64::saturating_add)).unwrap_or(usize::MAX)
    }

    /// Returns the total own time of all windows, in nanoseconds.
    pub(super) fn total_ns(&self) -> i64 {
        let all = self.windows.iter().map(|window| window.total.0.max(0));
        all.fold(0, i64::saturating_add)
    }

    /// Returns groups of about equally many windows; at most as many groups as a series of calls has windows.
    pub(super) fn groups(&self) -> Vec<Range<usize>> {
        let num = self.windows.len();
        let num_groups = num.min(NUM_WINDOWS);
        let bound = |at: usize| at * num / num_groups;
        (0..num_groups).map(|at| bound(at)..bound(at + 1)).collect()
    }

    /// Returns the start of the group at an index, and the number of calls from there on.
    pub(super) fn beginning(&self, at: usize) -> Option<(TimeNs, usize)> {
        let first = self.groups().get(at)?.start;
        let rest = Self {
            lane: self.lane,
            windows: self.windows.get(first..)?.to_vec(),
        };
        Some((rest.windows.first()?.start, rest.num_calls()))
    }
}
