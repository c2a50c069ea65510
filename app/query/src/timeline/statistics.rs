//! Totals of the functions in a time range, summed incrementally so that no frame waits.

use std::sync::Arc;

use callgrove_model::{DurationNs, ExecIdx, ExecRef, Executions, FuncId, LaneIdx, TimeNs, Trace};

use serde::{Deserialize, Serialize};

use crate::time_range::TimeRange;

/// The totals of a function in a time range. Only the part of a call inside the range counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FunctionTotals {
    /// Function.
    pub func: FuncId,
    /// Number of calls that ran.
    pub num_calls: usize,
    /// Inclusive time; calls inside calls of the same function are not counted twice.
    pub inclusive: DurationNs,
    /// Exclusive time.
    pub exclusive: DurationNs,
    /// The call with the longest time inside the range, and that time.
    pub longest: (DurationNs, ExecRef),
}

/// The totals of a time range over some lanes.
#[derive(Clone, Debug)]
pub(crate) struct RangeStatistics {
    trace: Arc<Trace>,
    range: TimeRange,
    lanes: Vec<LaneIdx>,
    /// Position: index in `lanes`, and the calls still to be added.
    lane: usize,
    rows: std::ops::Range<usize>,
    /// The callers of the next call: row after their last callee, and function.
    open: Vec<(usize, FuncId)>,
    num_open: Vec<u32>,
    totals: Vec<Option<FunctionTotals>>,
}

impl RangeStatistics {
    /// Starts the summation.
    pub(crate) fn new(trace: &Arc<Trace>, range: TimeRange, lanes: Vec<LaneIdx>) -> Self {
        let num_names = trace.names.iter().count();
        let mut statistics = Self {
            trace: Arc::clone(trace),
            range,
            lanes,
            lane: 0,
            rows: 0..0,
            open: Vec::new(),
            num_open: vec![0; num_names],
            totals: vec![None; num_names],
        };
        statistics.begin_lane();
        statistics
    }

    /// Adds `num_rows` more calls. Returns true at the end.
    pub(crate) fn advance(&mut self, num_rows: usize) -> bool {
        let trace = Arc::clone(&self.trace);
        let mut left = num_rows;
        while left > 0 && self.lane < self.lanes.len() {
            let lane = self.lanes[self.lane];
            let executions = &trace.lane(lane).executions;
            while left > 0
                && let Some(row) = self.rows.next()
            {
                self.add(executions, lane, row);
                left -= 1;
            }
            if self.rows.is_empty() {
                self.lane += 1;
                self.begin_lane();
            }
        }
        self.lane >= self.lanes.len()
    }

    /// Returns the totals of the functions that ran, most exclusive time first.
    pub(crate) fn totals(&self) -> Vec<FunctionTotals> {
        let mut totals: Vec<_> = self.totals.iter().flatten().copied().collect();
        totals.sort_by_key(|totals| (std::cmp::Reverse(totals.exclusive), totals.func));
        totals
    }

    /// Adds the calls that were running at the start of the range. The calls that begin in it are added next.
    fn begin_lane(&mut self) {
        for (_, func) in self.open.drain(..) {
            self.num_open[func.index()] = 0;
        }
        let Some(&lane) = self.lanes.get(self.lane) else {
            return;
        };
        let trace = Arc::clone(&self.trace);
        let executions = &trace.lane(lane).executions;
        let first = executions.first_entered_from(self.range.from);
        let last = first.checked_sub(1).map(ExecIdx::from_index);
        let mut running: Vec<ExecIdx> =
            std::iter::successors(last, |&exec| executions.parent(exec))
                .filter(|&exec| executions.exit(exec) > self.range.from)
                .collect();
        running.reverse();
        for exec in running {
            self.add(executions, lane, exec.index());
        }
        self.rows = first..executions.first_entered_from(self.range.to).max(first);
    }

    fn add(&mut self, executions: &Executions, lane: LaneIdx, row: usize) {
        while let Some((_, func)) = self.open.pop_if(|(end, _)| *end <= row) {
            self.num_open[func.index()] -= 1;
        }
        let func = executions.func[row];
        let exec = ExecRef {
            lane,
            exec: ExecIdx::from_index(row),
        };
        let inside = |time: TimeNs| time.clamp(self.range.from, self.range.to);
        let time = inside(executions.exit(exec.exec)).since(inside(executions.entry[row]));
        let totals = self.totals[func.index()].get_or_insert(FunctionTotals {
            func,
            num_calls: 0,
            inclusive: DurationNs::ZERO,
            exclusive: DurationNs::ZERO,
            longest: (time, exec),
        });
        totals.num_calls += 1;
        totals.exclusive += time;
        if self.num_open[func.index()] == 0 {
            totals.inclusive += time;
        }
        if time > totals.longest.0 {
            totals.longest = (time, exec);
        }
        if let Some((_, caller)) = self.open.last()
            && let Some(caller) = &mut self.totals[caller.index()]
        {
            caller.exclusive = caller.exclusive - time;
        }
        self.open.push((executions.subtree_end[row].index(), func));
        self.num_open[func.index()] += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixture::{forest, name, rank, walked, walks};
    use super::*;

    fn totals(
        forest: &callgrove_model::Forest,
        from: i64,
        to: i64,
        step: usize,
    ) -> Vec<FunctionTotals> {
        let range = TimeRange {
            from: TimeNs(from),
            to: TimeNs(to),
        };
        let lanes = forest.trace().lanes().map(|(lane, _)| lane).collect();
        let mut statistics = RangeStatistics::new(forest.trace(), range, lanes);
        while !statistics.advance(step) {}
        statistics.totals()
    }

    #[test]
    fn only_the_part_inside_the_range_counts() {
        let calls = "+main@0 +a@10 +b@20 -b@30 +a@32 -a@40 -a@60 +b@70 -b@90 -main@100";
        let forest = forest(vec![rank(0, calls, &[])], "main");
        let found = totals(&forest, 25, 80, 1);
        let shown: Vec<_> = found
            .iter()
            .map(|totals| {
                let times =
                    [totals.inclusive, totals.exclusive, totals.longest.0].map(|time| time.0);
                (name(&forest, totals.func), totals.num_calls, times)
            })
            .collect();
        let expected = [
            // a inside a is not counted again.
            ("a", 2, [35, 30, 35]),
            ("b", 2, [15, 15, 10]),
            ("main", 1, [55, 10, 55]),
        ];
        assert_eq!(shown, expected);
    }

    proptest! {
        #[test]
        fn exclusive_times_fill_the_range(
            walk in walks(), from in -10_i64..2_000, length in 1_i64..2_000, step in 1_usize..50,
        ) {
            let forest = walked(&walk);
            let executions = &forest.trace().lanes[0].executions;
            let end = executions.exit(ExecIdx(0)).0;
            let found = totals(&forest, from, from + length, step);
            let sum: i64 = found.iter().map(|totals| totals.exclusive.0).sum();
            prop_assert_eq!(sum, ((from + length).min(end) - from.max(0)).max(0));
            for totals in found {
                prop_assert!(totals.exclusive >= DurationNs::ZERO);
                prop_assert!(totals.inclusive >= totals.exclusive);
            }
        }
    }
}
