//! Questions about the rows of the timeline.

use callgrove_model::{LaneIdx, Trace};
use serde::{Deserialize, Serialize};

use super::bars::LaneBars;
use super::query::{
    AskCalls, CallsRefusal, CallsReply, LocalCalls, check_number, check_tile, check_time,
};
use crate::timeline::{
    LaneView, MessageQuery, MessagesInView, RowKind, Tile, layout_lane, num_levels,
};

/// Largest number of columns, more than a screen has.
const MAX_COLUMNS: usize = 1 << 16;
/// Largest number of message arrows, more than a screen shows.
const MAX_ARROWS: usize = 10_000;

/// The bars of a lane in a time range.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct BarsOf {
    /// Lane.
    pub lane: LaneIdx,
    /// Kind of row.
    pub kind: RowKind,
    /// Time range and resolution.
    pub tile: Tile,
}

/// The number of levels that a row needs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LevelsOf {
    /// Lane.
    pub lane: LaneIdx,
    /// Kind of row.
    pub kind: RowKind,
}

/// The levels of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LaneLevels {
    /// Number of levels over the whole run.
    pub num: usize,
    /// Depth of the topmost level on the call stack.
    pub top_depth: usize,
}

/// The messages that touch a time window and a visible row.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MessagesOf {
    /// Time window and limits.
    pub query: MessageQuery,
    /// Position of each lane on the screen, shape `[n_lanes]`.
    pub views: Vec<LaneView>,
}

impl AskCalls for BarsOf {
    type Answer = LaneBars;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<LaneBars>, CallsRefusal> {
        calls.check_lane(self.lane)?;
        check_kind(calls, self.lane, self.kind)?;
        check_tile(self.tile)?;
        let bars = layout_lane(&calls.trace, self.lane, self.kind, self.tile);
        Ok(CallsReply::Done(LaneBars(bars)))
    }

    fn answer_bytes(bars: &LaneBars) -> usize {
        size_of_val(bars.0.as_slice())
    }
}

impl AskCalls for LevelsOf {
    type Answer = LaneLevels;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<LaneLevels>, CallsRefusal> {
        calls.check_lane(self.lane)?;
        check_kind(calls, self.lane, self.kind)?;
        Ok(CallsReply::Done(LaneLevels {
            num: num_levels(&calls.trace, self.lane, self.kind),
            top_depth: top_depth(&calls.trace, self.lane, self.kind),
        }))
    }

    fn answer_bytes(_: &LaneLevels) -> usize {
        size_of::<LaneLevels>()
    }
}

impl AskCalls for MessagesOf {
    type Answer = MessagesInView;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<MessagesInView>, CallsRefusal> {
        let query = &self.query;
        check_time(query.from, query.to)?;
        check_number(query.num_columns <= MAX_COLUMNS, "columns")?;
        check_number(query.max_arrows <= MAX_ARROWS, "arrows")?;
        check_number(self.views.len() == calls.trace.lanes.len(), "lanes")?;
        for call in query.call.into_iter().chain(query.tree) {
            calls.check_call(call)?;
        }
        Ok(CallsReply::Done(calls.messages.in_view(query, &self.views)))
    }

    fn answer_bytes(found: &MessagesInView) -> usize {
        size_of_val(found.arrows.as_slice()) + size_of_val(found.density.as_slice())
    }
}

fn check_kind(calls: &LocalCalls, lane: LaneIdx, kind: RowKind) -> Result<(), CallsRefusal> {
    match kind {
        RowKind::Tree(exec) => calls.check_call(callgrove_model::ExecRef { lane, exec }),
        RowKind::Stack | RowKind::Strip => Ok(()),
    }
}

fn top_depth(trace: &Trace, lane: LaneIdx, kind: RowKind) -> usize {
    match kind {
        RowKind::Tree(root) => usize::from(trace.lane(lane).executions.depth[root.index()]),
        RowKind::Stack | RowKind::Strip => 0,
    }
}
