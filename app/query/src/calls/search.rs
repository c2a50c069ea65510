//! Questions that search many calls.

use callgrove_model::{DurationNs, ExecRef, FuncId, LaneIdx, TimeNs};
use serde::{Deserialize, Serialize};

use super::query::{AskCalls, CallsRefusal, CallsReply, LocalCalls, check_number, check_time};
use crate::time_range::TimeRange;
use crate::timeline::{CallSearch, FunctionTotals, RangeStatistics, Span, SpanIndex};

/// Number of calls that are searched in one frame.
const SEARCHED_PER_FRAME: usize = 2_000_000;
/// Number of calls that are summed in one frame.
const SUMMED_PER_FRAME: usize = 250_000;
/// Largest size of a search text, in bytes.
const MAX_TEXT_BYTES: usize = 4_096;

/// The calls of functions whose names contain this text in either case, or match it as a pattern
/// ([`callgrove_model::FunctionPattern`]).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CallsNamed(pub String);

/// The calls of a function that start in a time range.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct CallsOfFunction {
    /// Function.
    pub func: FuncId,
    /// Time range.
    pub range: TimeRange,
}

/// The totals of all functions in a time range, most exclusive time first.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TotalsOf {
    /// Time range.
    pub range: TimeRange,
    /// Lanes.
    pub lanes: Vec<LaneIdx>,
}

/// The result of a search for calls.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FoundCalls {
    /// Number of calls found.
    pub num_hits: usize,
    /// Distance between the listed calls: every `stride`-th call found is in `hits`.
    pub stride: usize,
    /// The calls, in order of time.
    pub hits: Vec<Span>,
}

impl FoundCalls {
    /// Returns the calls with a duration from `least` to `most`, for drawing.
    pub fn spans(&self, least: DurationNs, most: DurationNs) -> SpanIndex {
        let is_between = |hit: &&Span| (least..=most).contains(&hit.duration());
        SpanIndex::new(self.hits.iter().filter(is_between).copied().collect())
    }

    /// Returns the hit after (or before) a call with its entry time. Wraps around at both ends.
    pub fn step(&self, from: Option<(TimeNs, ExecRef)>, is_forward: bool) -> Option<ExecRef> {
        let num = self.hits.len();
        let place = |hit: &Span| (hit.from, hit.exec);
        let at = match (from, is_forward) {
            (None, true) => 0,
            (None, false) => num.checked_sub(1)?,
            (Some(key), true) => self.hits.partition_point(|hit| place(hit) <= key) % num.max(1),
            (Some(key), false) => {
                let before = self.hits.partition_point(|hit| place(hit) < key);
                before.checked_sub(1).or(num.checked_sub(1))?
            }
        };
        self.hits.get(at).map(|hit| hit.exec)
    }
}

impl AskCalls for CallsNamed {
    type Answer = FoundCalls;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<FoundCalls>, CallsRefusal> {
        check_number(self.0.len() <= MAX_TEXT_BYTES, "letters")?;
        Ok(start_search(CallSearch::by_name(&calls.trace, &self.0)))
    }

    fn answer_bytes(found: &FoundCalls) -> usize {
        size_of_val(found.hits.as_slice())
    }
}

impl AskCalls for CallsOfFunction {
    type Answer = FoundCalls;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<FoundCalls>, CallsRefusal> {
        calls.check_function(self.func)?;
        check_time(self.range.from, self.range.to)?;
        Ok(start_search(CallSearch::of_function(
            &calls.trace,
            self.func,
            self.range,
        )))
    }

    fn answer_bytes(found: &FoundCalls) -> usize {
        size_of_val(found.hits.as_slice())
    }
}

impl AskCalls for TotalsOf {
    type Answer = Vec<FunctionTotals>;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<Vec<FunctionTotals>>, CallsRefusal> {
        check_time(self.range.from, self.range.to)?;
        check_number(self.lanes.len() <= calls.trace.lanes.len(), "lanes")?;
        for &lane in &self.lanes {
            calls.check_lane(lane)?;
        }
        let mut totals = RangeStatistics::new(&calls.trace, self.range, self.lanes.clone());
        Ok(CallsReply::More(Box::new(move || {
            totals.advance(SUMMED_PER_FRAME).then(|| totals.totals())
        })))
    }

    fn answer_bytes(totals: &Vec<FunctionTotals>) -> usize {
        size_of_val(totals.as_slice())
    }
}

fn start_search(mut search: CallSearch) -> CallsReply<FoundCalls> {
    CallsReply::More(Box::new(move || {
        search.advance(SEARCHED_PER_FRAME).then(|| FoundCalls {
            num_hits: search.num_hits(),
            stride: search.stride(),
            hits: search.hits().to_vec(),
        })
    }))
}

#[cfg(test)]
mod tests {
    use callgrove_model::ExecIdx;

    use super::*;

    #[test]
    fn hits_are_visited_in_order_of_time_and_wrap_around() {
        let hit = |lane, from| Span {
            exec: ExecRef {
                lane: LaneIdx(lane),
                exec: ExecIdx(0),
            },
            tree: None,
            from: TimeNs(from),
            to: TimeNs(from + 5),
        };
        let found = FoundCalls {
            num_hits: 2,
            stride: 1,
            hits: vec![hit(0, 10), hit(1, 15)],
        };
        let [first, second] = [0, 1].map(|at| (found.hits[at].from, found.hits[at].exec));
        let step = |from, is_forward| found.step(from, is_forward);
        assert_eq!(step(None, true), Some(first.1));
        assert_eq!(step(Some(first), true), Some(second.1));
        assert_eq!(step(Some(second), true), Some(first.1));
        assert_eq!(step(Some(first), false), Some(second.1));
        assert_eq!(FoundCalls::default().step(None, true), None);
    }
}
