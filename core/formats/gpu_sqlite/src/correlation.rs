//! The API calls that launched work on a GPU, by correlation id.

use callgrove_model::TimeNs;
use callgrove_source::LaneNumber;

/// An API call that may launch work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ApiCall {
    correlation: u64,
    pub(crate) start: TimeNs,
    pub(crate) lane: LaneNumber,
}

/// The API calls of a process. Correlation ids grow by one with each call, so most calls are found at the expected
/// index.
#[derive(Default)]
pub(crate) struct ApiCalls {
    calls: Vec<ApiCall>,
    is_sorted: bool,
}

impl ApiCalls {
    /// Adds a call.
    pub(crate) fn push(&mut self, correlation: u64, start: TimeNs, lane: LaneNumber) {
        self.is_sorted = false;
        self.calls.push(ApiCall {
            correlation,
            start,
            lane,
        });
    }

    /// Returns the first call of a correlation. A call may be recorded twice, as one of the runtime and one of the
    /// driver within it.
    pub(crate) fn find(&mut self, correlation: u64) -> Option<ApiCall> {
        if !self.is_sorted {
            self.calls.sort_unstable();
            self.calls.dedup_by_key(|call| call.correlation);
            self.is_sorted = true;
        }
        let offset = correlation.checked_sub(self.calls.first()?.correlation)?;
        let expected = usize::try_from(offset).ok();
        let expected = expected.and_then(|index| self.calls.get(index));
        if let Some(call) = expected.filter(|it| it.correlation == correlation) {
            return Some(*call);
        }
        let index = self
            .calls
            .binary_search_by_key(&correlation, |it| it.correlation);
        index.ok().and_then(|index| self.calls.get(index).copied())
    }
}

#[cfg(test)]
mod tests {
    use callgrove_source::{LaneIdentity, RankEvents};

    use super::*;

    #[test]
    fn the_first_call_of_a_correlation_is_found_whatever_the_gaps() {
        let mut rank = RankEvents::default();
        let lane = rank.lane(LaneIdentity::Thread(1));
        let mut calls = ApiCalls::default();
        for (correlation, start) in [(9, 90), (5, 50), (6, 61), (6, 60), (u64::MAX, 99)] {
            calls.push(correlation, TimeNs(start), lane);
        }
        let mut found = |correlation| calls.find(correlation).map(|it| it.start.0);
        assert_eq!(
            [4, 5, 6, 7, 9, u64::MAX].map(&mut found),
            [None, Some(50), Some(60), None, Some(90), Some(99)]
        );
    }
}
