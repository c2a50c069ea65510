//! What a question about calls is.

use std::sync::{Arc, OnceLock};

use callgrove_model::{ExecRef, FuncId, LaneIdx, TimeNs, Trace};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{MessageIndex, PatternId, RunCauses, RunPatterns, Tile};

/// Times of a question lie within this, so that differences of two are numbers: about the year 2116.
const MAX_TIME_NS: i64 = i64::MAX / 2;
/// A lane is laid out in so many columns at most: on the widest screens it has a quarter of them.
const MAX_COLUMNS: i64 = 1 << 15;

/// The calls of a run, where all of them are there, and what was found in them.
#[derive(Debug)]
pub struct WholeCalls {
    /// The trace.
    pub trace: Arc<Trace>,
    /// Its messages, to be found by time.
    pub messages: MessageIndex,
    pub(super) causes: OnceLock<Arc<RunCauses>>,
    pub(super) patterns: OnceLock<Arc<RunPatterns>>,
}

/// A question about the calls of a run. It may come from anywhere: what does not fit the run is refused.
pub trait AskCalls {
    /// What the answer is.
    type Answer: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Answers the question, or begins to.
    ///
    /// # Errors
    /// It asks for what is not there, or for too much.
    fn begin(&self, calls: &WholeCalls) -> Result<CallsReply<Self::Answer>, CallsRefusal>;

    /// How many bytes of memory an answer takes, about.
    fn weigh(answer: &Self::Answer) -> usize;
}

/// An answer, or the way to one.
pub enum CallsReply<A> {
    /// The answer.
    Done(A),
    /// It takes more than a frame has time for: each call looks at some more of the trace, until the answer comes.
    More(Box<dyn FnMut() -> Option<A> + Send>),
}

/// What has become of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AskState<A> {
    /// The answer is on its way.
    Coming,
    /// There is none.
    Refused,
    /// The answer.
    Known(A),
}

impl<A> AskState<A> {
    /// The answer, if it has come.
    pub fn known(self) -> Option<A> {
        match self {
            Self::Known(answer) => Some(answer),
            Self::Coming | Self::Refused => None,
        }
    }
}

/// Why a question is not answered.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CallsRefusal {
    /// It is about a call that the trace does not have.
    #[error("the trace has no call {0:?}; ask for one that it has told of")]
    NoCall(ExecRef),
    /// It is about a lane that the trace does not have.
    #[error("the trace has no lane {0}; ask for one of its head")]
    NoLane(LaneIdx),
    /// It is about a function that the trace does not have.
    #[error("the trace has no function {0}; ask for one of its head")]
    NoFunction(FuncId),
    /// It is about a time that is none.
    #[error("from {0:?} to {1:?} is no time of a run; ask for one that ends after it begins")]
    NoTime(TimeNs, TimeNs),
    /// It is about a pattern that the run does not have.
    #[error("the run has no pattern {}; ask for one of its list", .0.0)]
    NoPattern(PatternId),
    /// It is about what nobody has looked for.
    #[error("nobody has looked for {0} in the trace; ask once they are listed")]
    NotFound(&'static str),
    /// The answer would be too large.
    #[error("there are too many {0} in one question; ask for a part")]
    TooMuch(&'static str),
}

impl WholeCalls {
    /// What recurs, once it was found.
    pub(crate) fn patterns(&self) -> Option<&RunPatterns> {
        self.patterns.get().map(|found| &**found)
    }

    /// Who made whom late, once it was found.
    pub(crate) fn causes(&self) -> Option<&RunCauses> {
        self.causes.get().map(|found| &**found)
    }

    /// The call is one of the trace.
    pub(super) fn check_call(&self, call: ExecRef) -> Result<(), CallsRefusal> {
        let lane = self.trace.lanes.get(call.lane.index());
        let is_known = lane.is_some_and(|lane| {
            call.exec.index() < lane.executions.len() && !lane.executions.is_open(call.exec)
        });
        is_known.then_some(()).ok_or(CallsRefusal::NoCall(call))
    }

    pub(crate) fn check_lane(&self, lane: LaneIdx) -> Result<(), CallsRefusal> {
        let is_known = lane.index() < self.trace.lanes.len();
        is_known.then_some(()).ok_or(CallsRefusal::NoLane(lane))
    }

    pub(super) fn check_function(&self, func: FuncId) -> Result<(), CallsRefusal> {
        let is_known = func.index() < self.trace.names.len();
        is_known.then_some(()).ok_or(CallsRefusal::NoFunction(func))
    }
}

pub(crate) fn check_time(from: TimeNs, to: TimeNs) -> Result<(), CallsRefusal> {
    let is_time = -MAX_TIME_NS <= from.0 && from <= to && to.0 <= MAX_TIME_NS;
    is_time.then_some(()).ok_or(CallsRefusal::NoTime(from, to))
}

pub(crate) fn check_tile(tile: Tile) -> Result<(), CallsRefusal> {
    check_time(tile.from, tile.to)?;
    check_number(
        tile.to.since(tile.from).0 / tile.min_bar_ns.max(1) <= MAX_COLUMNS,
        "columns",
    )
}

pub(crate) fn check_number(is_fit: bool, of: &'static str) -> Result<(), CallsRefusal> {
    is_fit.then_some(()).ok_or(CallsRefusal::TooMuch(of))
}
