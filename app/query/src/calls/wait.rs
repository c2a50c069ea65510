//! Questions about the waits of a run.

use callgrove_causes::WaitCell;
use callgrove_model::TimeNs;
use serde::{Deserialize, Serialize};

use super::query::{AskCalls, CallsRefusal, CallsReply, LocalCalls};
use crate::time_range::TimeRange;

/// Which rank waited for which, in a time range or in the whole run; ordered by waiter, then peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WaitsIn(pub Option<TimeRange>);

impl AskCalls for WaitsIn {
    type Answer = Vec<WaitCell>;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<Vec<WaitCell>>, CallsRefusal> {
        let causes = calls.causes().ok_or(CallsRefusal::NotComputed("causes"))?;
        let (from, to) = match self.0 {
            Some(range) => (range.from, range.to),
            None => (TimeNs(i64::MIN), TimeNs(i64::MAX)),
        };
        Ok(CallsReply::Done(causes.waits().matrix(from..to)))
    }

    fn answer_bytes(cells: &Vec<WaitCell>) -> usize {
        size_of_val(cells.as_slice())
    }
}
