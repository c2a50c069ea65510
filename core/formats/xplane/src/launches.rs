//! Launches: work on a device, and the call that launched it.

use callgrove_model::TimeNs;
use callgrove_source::{LaneNumber, RankEvents};

/// The number that a call and the work that it launched have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum LaunchKey {
    /// Of one operation, on GPUs.
    Correlation(i64),
    /// Of one execution of a program, on TPUs.
    Run(i64),
}

/// One end of a launch. The time is that of its line until the line is complete.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LineLaunchEnd {
    pub(crate) key: LaunchKey,
    pub(crate) time: TimeNs,
    pub(crate) lane: LaneNumber,
}

/// The ends of launches.
#[derive(Debug, Default)]
pub(crate) struct LineLaunchEnds {
    pub(crate) calls: Vec<LineLaunchEnd>,
    pub(crate) work: Vec<LineLaunchEnd>,
}

impl LineLaunchEnds {
    /// Adds the launches to their rank. Work was launched by the last call of its number that began before it. Work
    /// without a call, and calls without work, are normal. Cost: O(n log n).
    pub(crate) fn add_to(mut self, events: &mut RankEvents) {
        self.calls.sort_unstable();
        for work in &self.work {
            let same = |it: &&LineLaunchEnd| it.key == work.key;
            let after = self
                .calls
                .partition_point(|it| (it.key, it.time) <= (work.key, work.time));
            let before = after.checked_sub(1).and_then(|it| self.calls.get(it));
            // Clocks of devices differ a little, so that work may seem to begin before its launch.
            let by = before
                .filter(same)
                .or_else(|| self.calls.get(after).filter(same));
            if let Some(by) = by {
                events.launch(work.lane, work.time, by.lane, by.time);
            }
        }
    }
}
