//! Launches: work on a GPU, and the call that launched it.

use callgrove_model::TimeNs;

use super::flows::FlowPoint;
use super::rows::RowNumber;

/// One end of a launch. Times are in nanoseconds since the time that the file states.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LaunchEnd {
    pub(crate) correlation: i64,
    pub(crate) start_ns: i64,
    pub(crate) row: RowNumber,
}

/// A launch: the work and the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaunchPair {
    pub(crate) work: LaunchEnd,
    pub(crate) by: LaunchEnd,
}

/// The ends of launches.
#[derive(Debug, Default)]
pub(crate) struct LaunchEnds {
    pub(crate) calls: Vec<LaunchEnd>,
    pub(crate) work: Vec<LaunchEnd>,
}

impl LaunchEnds {
    /// Returns whether some work states the number of its launch, so that flows add nothing.
    pub(crate) fn are_stated(&self) -> bool {
        !self.work.is_empty()
    }

    /// Takes the ends from flows, where the calls state no numbers. `row_of` returns the row of a flow's end, if it has
    /// one there.
    pub(crate) fn add_flows(
        &mut self,
        points: &[FlowPoint],
        row_of: impl Fn(&FlowPoint) -> Option<RowNumber>,
    ) {
        for point in points {
            if let Some(row) = row_of(point) {
                let end = LaunchEnd {
                    correlation: point.id.cast_signed(),
                    start_ns: point.time_ns,
                    row,
                };
                if point.is_start() {
                    self.calls.push(end);
                } else {
                    self.work.push(end);
                }
            }
        }
    }

    /// Returns each piece of work with the call that launched it: the last one of its number that began before it. Work
    /// without a call, and calls without work, are normal. Cost: O(n log n).
    pub(crate) fn pairs(mut self) -> Vec<LaunchPair> {
        self.calls.sort_unstable();
        let calls = &self.calls;
        let pair = |work: &LaunchEnd| {
            let key = |it: &LaunchEnd| (it.correlation, it.start_ns);
            let after = calls.partition_point(|it| key(it) <= key(work));
            let is_same = |it: &&LaunchEnd| it.correlation == work.correlation;
            let before = after.checked_sub(1).and_then(|it| calls.get(it));
            // Clocks of GPUs differ a little, so that work may seem to begin before its launch.
            let by = before
                .filter(is_same)
                .or_else(|| calls.get(after).filter(is_same))?;
            Some(LaunchPair {
                work: *work,
                by: *by,
            })
        };
        self.work.iter().filter_map(pair).collect()
    }
}

/// Returns a time on the axis of the run, bounded so that times and their differences fit in an exported trace.
pub(crate) fn on_axis(time_ns: i64, base_ns: i64) -> TimeNs {
    TimeNs(time_ns.saturating_add(base_ns)).bounded()
}
