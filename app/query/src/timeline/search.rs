//! Incremental search for the calls of some functions in a time range, so that no frame waits.

use std::sync::Arc;

use callgrove_model::{
    DurationNs, ExecIdx, ExecRef, FuncId, FunctionName, FunctionPattern, LaneIdx, Trace,
};

use super::Span;
use crate::time_range::TimeRange;

/// Largest number of hits that are stored. Beyond it every second one is dropped, repeatedly, so that the stored ones
/// are spread evenly.
const MAX_HITS: usize = 200_000;

/// A search through a trace.
#[derive(Clone, Debug)]
pub(crate) struct CallSearch {
    trace: Arc<Trace>,
    /// By function: true if its calls are searched for.
    is_wanted: Vec<bool>,
    range: Option<TimeRange>,
    /// Position of the search.
    lane: usize,
    row: usize,
    num_hits: usize,
    /// Every `stride`-th hit is stored.
    stride: usize,
    hits: Vec<Span>,
}

impl CallSearch {
    /// Starts a search for the calls of functions whose names contain `text` in either case, or match it
    /// as a pattern ([`FunctionPattern`]).
    pub(crate) fn by_name(trace: &Arc<Trace>, text: &str) -> Self {
        let pattern = FunctionPattern::new(text);
        let part = text.trim().to_lowercase();
        let is_wanted = |name: &str| {
            name.to_lowercase().contains(&part) || pattern.matches(&FunctionName::parse(name))
        };
        let wanted = trace
            .names
            .iter()
            .map(|(_, name)| is_wanted(name))
            .collect();
        Self::new(trace, wanted, None)
    }

    /// Starts a search for the calls of a function that begin in `range`.
    pub(crate) fn of_function(trace: &Arc<Trace>, func: FuncId, range: TimeRange) -> Self {
        let wanted = trace.names.iter().map(|(other, _)| other == func).collect();
        Self::new(trace, wanted, Some(range))
    }

    fn new(trace: &Arc<Trace>, is_wanted: Vec<bool>, range: Option<TimeRange>) -> Self {
        let mut search = Self {
            trace: Arc::clone(trace),
            is_wanted,
            range,
            lane: 0,
            row: 0,
            num_hits: 0,
            stride: 1,
            hits: Vec::new(),
        };
        search.row = search.rows_of_lane().start;
        search
    }

    /// Searches `num_rows` more calls. Returns true at the end.
    pub(crate) fn advance(&mut self, mut num_rows: usize) -> bool {
        let trace = Arc::clone(&self.trace);
        while num_rows > 0 && self.lane < trace.lanes.len() {
            let executions = &trace.lanes[self.lane].executions;
            let end = self.rows_of_lane().end;
            let stop = end.min(self.row.saturating_add(num_rows));
            num_rows -= stop.saturating_sub(self.row).min(num_rows);
            for row in self.row..stop {
                if self.is_wanted[executions.func[row].index()] {
                    let lane = LaneIdx::from_index(self.lane);
                    let exec = ExecIdx::from_index(row);
                    self.take(&trace, ExecRef { lane, exec });
                }
            }
            self.row = stop;
            if stop >= end {
                self.lane += 1;
                self.row = self.rows_of_lane().start;
            }
        }
        let is_done = self.lane >= trace.lanes.len();
        if is_done {
            self.hits.sort_unstable_by_key(|hit| (hit.from, hit.exec));
        }
        is_done
    }

    /// Returns the number of hits so far.
    pub(crate) fn num_hits(&self) -> usize {
        self.num_hits
    }

    /// Returns the stride: every `stride`-th hit is in [`CallSearch::hits`].
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the stored hits; in order of time once the search has ended.
    pub(crate) fn hits(&self) -> &[Span] {
        &self.hits
    }

    fn take(&mut self, trace: &Trace, exec: ExecRef) {
        if self.num_hits.is_multiple_of(self.stride) {
            self.hits.push(Span::of(trace, exec));
        }
        self.num_hits += 1;
        if self.hits.len() > MAX_HITS {
            let mut at = 0;
            self.hits.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.stride *= 2;
        }
    }

    /// Returns the calls of the current lane that begin in the range.
    fn rows_of_lane(&self) -> std::ops::Range<usize> {
        let Some(lane) = self.trace.lanes.get(self.lane) else {
            return 0..0;
        };
        self.range.map_or(0..lane.executions.len(), |range| {
            lane.executions.first_entered_from(range.from)
                ..lane.executions.first_entered_from(range.to)
        })
    }
}

/// A histogram of durations with bins of equal ratio.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DurationHistogram {
    /// Lower edges of the bins, then the upper edge of the last one; one element more than `counts`.
    pub edges: Vec<DurationNs>,
    /// Number of durations from each edge to below the next. The last bin includes its upper edge.
    pub counts: Vec<usize>,
}

impl DurationHistogram {
    /// Counts the durations of calls in at most `num_bins` bins.
    pub fn new(calls: &[Span], num_bins: usize) -> Self {
        let durations = || calls.iter().map(Span::duration);
        let (Some(least), Some(most)) = (durations().min(), durations().max()) else {
            return Self::default();
        };
        let (low, high) = ((least.0.max(1) as f64).ln(), (most.0.max(1) as f64).ln());
        let mut edges: Vec<DurationNs> = (1..num_bins)
            .map(|at| DurationNs((low + (high - low) * at as f64 / num_bins as f64).exp() as i64))
            .filter(|&edge| edge > least && edge < most)
            .collect();
        edges.dedup();
        edges.insert(0, least);
        let mut counts = vec![0; edges.len()];
        for duration in durations() {
            counts[edges.partition_point(|&edge| edge <= duration) - 1] += 1;
        }
        edges.push(most);
        Self { edges, counts }
    }
}

#[cfg(test)]
mod tests {
    use callgrove_model::TimeNs;
    use proptest::prelude::*;

    use super::super::fixture::{forest, rank, walked, walks};
    use super::*;

    fn found(trace: &Arc<Trace>, text: &str) -> CallSearch {
        let mut search = CallSearch::by_name(trace, text);
        while !search.advance(3) {}
        search
    }

    fn two_ranks() -> Arc<Trace> {
        let zero = rank(
            0,
            "+main@0 +MPI_Send@10 -MPI_Send@20 +a@30 -a@40 -main@100",
            &[],
        );
        let one = rank(1, "+main@0 +MPI_Recv@15 -MPI_Recv@50 -main@100", &[]);
        Arc::clone(forest(vec![zero, one], "main").trace())
    }

    #[test]
    fn calls_are_found_by_a_part_of_the_name_or_a_pattern() {
        let trace = two_ranks();
        let names = |search: &CallSearch| -> Vec<String> {
            let hits = search.hits().iter();
            hits.map(|hit| trace.function_name(hit.exec).to_owned())
                .collect()
        };
        assert_eq!(names(&found(&trace, "mpi_")), ["MPI_Send", "MPI_Recv"]);
        assert_eq!(names(&found(&trace, "MPI_*v")), ["MPI_Recv"]);
        assert_eq!(found(&trace, "nowhere").num_hits(), 0);
    }

    #[test]
    fn an_even_share_of_very_many_calls_is_stored_and_all_are_counted() {
        let num_calls = 2 * MAX_HITS + 100;
        let mut calls = String::from("+main@0");
        for at in 1..=num_calls {
            calls.push_str(&format!(" +f@{at} -f@{at}"));
        }
        calls.push_str(&format!(" -main@{}", num_calls + 1));
        let trace = Arc::clone(forest(vec![rank(0, &calls, &[])], "main").trace());
        let mut search = CallSearch::by_name(&trace, "f");
        while !search.advance(50_000) {}
        assert_eq!((search.num_hits(), search.stride()), (num_calls, 4));
        let gaps: Vec<i64> = search
            .hits()
            .windows(2)
            .map(|pair| pair[1].from.since(pair[0].from).0)
            .collect();
        assert!(gaps.iter().all(|gap| *gap == 4), "{:?}", &gaps[..9]);
    }

    proptest! {
        #[test]
        fn a_histogram_counts_every_call_once(walk in walks(), num_bins in 1_usize..40) {
            let forest = walked(&walk);
            let range = TimeRange { from: TimeNs(-1), to: TimeNs(100_000) };
            let main = forest.functions()[0];
            for (func, _) in forest.trace().names.iter().filter(|(func, _)| *func != main) {
                let mut search = CallSearch::of_function(forest.trace(), func, range);
                while !search.advance(7) {}
                let histogram = DurationHistogram::new(search.hits(), num_bins);
                prop_assert_eq!(histogram.counts.iter().sum::<usize>(), search.num_hits());
                prop_assert!(histogram.counts.len() <= num_bins);
                prop_assert!(histogram.edges.windows(2).all(|pair| pair[0] <= pair[1]));
            }
        }
    }
}
