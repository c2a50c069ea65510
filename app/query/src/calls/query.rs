//! The interface of a question about calls.

use std::sync::{Arc, OnceLock};

use callgrove_model::{ExecRef, FuncId, LaneIdx, TimeNs, Trace};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::causes::RunCauses;
use crate::patterns::{PatternId, RunPatterns};
use crate::timeline::{MessageIndex, Tile};

/// Largest absolute time of a question, about the year 2116, so that the difference of two times cannot overflow.
const MAX_TIME_NS: i64 = i64::MAX / 2;
/// Largest number of columns in the layout of a lane, four times that of the widest screens.
const MAX_COLUMNS: i64 = 1 << 15;

/// All calls of a run in this process, and the results computed from them.
#[derive(Debug)]
pub struct LocalCalls {
    /// The trace.
    pub trace: Arc<Trace>,
    /// Its messages, indexed by time.
    pub messages: MessageIndex,
    pub(super) causes: OnceLock<Arc<RunCauses>>,
    pub(super) patterns: OnceLock<Arc<RunPatterns>>,
}

/// A question about the calls of a run. It may come from an untrusted client: questions that do not fit the run are
/// refused.
pub trait AskCalls {
    /// Type of the answer.
    type Answer: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Answers the question, or starts to answer it.
    ///
    /// # Errors
    /// The question refers to something that the run does not have, or asks for too much.
    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<Self::Answer>, CallsRefusal>;

    /// Returns the approximate size of an answer in bytes of memory.
    fn answer_bytes(answer: &Self::Answer) -> usize;
}

/// An answer, or the work that leads to one.
pub enum CallsReply<A> {
    /// The answer.
    Done(A),
    /// Work that exceeds the time of a frame. Each call processes some more of the trace; the last one returns the
    /// answer.
    More(Box<dyn FnMut() -> Option<A> + Send>),
}

/// The state of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AskState<A> {
    /// The answer is not available yet.
    Pending,
    /// The question was refused.
    Refused,
    /// The answer.
    Known(A),
}

impl<A> AskState<A> {
    /// Returns the answer, if available.
    pub fn known(self) -> Option<A> {
        match self {
            Self::Known(answer) => Some(answer),
            Self::Pending | Self::Refused => None,
        }
    }
}

/// The reason of a refusal.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CallsRefusal {
    /// The trace does not have the call.
    #[error("the trace has no call {0:?}; ask for one that it has reported")]
    NoCall(ExecRef),
    /// The trace does not have the lane.
    #[error("the trace has no lane {0}; ask for one of its head")]
    NoLane(LaneIdx),
    /// The trace does not have the function.
    #[error("the trace has no function {0}; ask for one of its head")]
    NoFunction(FuncId),
    /// The time range is invalid.
    #[error("from {0:?} to {1:?} is not a valid time range; ask for one that ends after it begins")]
    NoTime(TimeNs, TimeNs),
    /// The run does not have the pattern.
    #[error("the run has no pattern {}; ask for one of its list", .0.0)]
    NoPattern(PatternId),
    /// The results have not been computed.
    #[error("{0} have not been computed for this trace; ask again once they are listed")]
    NotComputed(&'static str),
    /// The answer would be too large.
    #[error("there are too many {0} in one question; ask for a part")]
    TooMuch(&'static str),
}

impl LocalCalls {
    /// Returns the repeated patterns, once computed.
    pub(crate) fn patterns(&self) -> Option<&RunPatterns> {
        self.patterns.get().map(|found| &**found)
    }

    /// Returns the causes of delays, once computed.
    pub(crate) fn causes(&self) -> Option<&RunCauses> {
        self.causes.get().map(|found| &**found)
    }

    /// Checks that the trace has a call, and that it ended.
    pub(super) fn check_call(&self, call: ExecRef) -> Result<(), CallsRefusal> {
        let lane = self.trace.lanes.get(call.lane.index());
        let is_known = lane.is_some_and(|lane| {
            call.exec.index() < lane.executions.len() && !lane.executions.is_open(call.exec)
        });
        is_known.then_some(()).ok_or(CallsRefusal::NoCall(call))
    }

    pub(super) fn check_lane(&self, lane: LaneIdx) -> Result<(), CallsRefusal> {
        let is_known = lane.index() < self.trace.lanes.len();
        is_known.then_some(()).ok_or(CallsRefusal::NoLane(lane))
    }

    pub(super) fn check_function(&self, func: FuncId) -> Result<(), CallsRefusal> {
        let is_known = func.index() < self.trace.names.len();
        is_known.then_some(()).ok_or(CallsRefusal::NoFunction(func))
    }
}

pub(super) fn check_time(from: TimeNs, to: TimeNs) -> Result<(), CallsRefusal> {
    let is_time = -MAX_TIME_NS <= from.0 && from <= to && to.0 <= MAX_TIME_NS;
    is_time.then_some(()).ok_or(CallsRefusal::NoTime(from, to))
}

pub(super) fn check_tile(tile: Tile) -> Result<(), CallsRefusal> {
    check_time(tile.from, tile.to)?;
    check_number(
        tile.to.since(tile.from).0 / tile.min_bar_ns.max(1) <= MAX_COLUMNS,
        "columns",
    )
}

pub(super) fn check_number(is_fit: bool, of: &'static str) -> Result<(), CallsRefusal> {
    is_fit.then_some(()).ok_or(CallsRefusal::TooMuch(of))
}
