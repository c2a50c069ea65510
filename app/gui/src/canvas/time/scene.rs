//! The input of the canvas in a frame, and the actions of the user on it.

use std::collections::BTreeSet;
use std::sync::Arc;

use callgrove_model::{ExecRef, LaneIdx, ProgramId, RankId};
use callgrove_session::{
    Arrow, Bar, Cascade, CascadeStep, PatternList, RankFilter, RankSort, RootCause, SpanIndex,
    TimeRange,
};
use egui::Color32;

use super::layout::FlagMark;
use super::occurrences::MarkedOccurrences;
use crate::theme::Theme;

/// The input of a frame, in addition to the trace.
pub(crate) struct LaneScene<'a> {
    /// The colour theme.
    pub(crate) theme: &'a Theme,
    /// Identifies the canvas among others in the window.
    pub(crate) id: &'static str,
    /// Name of the canvas for screen readers and tests.
    pub(crate) name: &'a str,
    /// Whether keys without modifiers go to it wherever the pointer is.
    pub(crate) has_focus: bool,
    /// Root of the selected tree, whose rank is the first row.
    pub(crate) tree: Option<ExecRef>,
    /// The selected call.
    pub(crate) call: Option<ExecRef>,
    /// The selected time range.
    pub(crate) range: Option<TimeRange>,
    /// Marks of the user.
    pub(crate) marks: &'a [callgrove_session::Mark],
    /// Executions that are visible at any zoom.
    pub(crate) flagged: &'a Arc<SpanIndex>,
    /// Calls that are underlined.
    pub(crate) highlights: &'a [UnderlinedCalls<'a>],
    /// Occurrences of a pattern that are underlined as abnormal.
    pub(crate) occurrences: Option<MarkedOccurrences>,
    /// The ranks shown as rows, and their order.
    pub(crate) ranks: &'a RankChoice,
    /// The delay whose path is drawn; the rank where it began is the first row.
    pub(crate) cascade: Option<&'a Cascade>,
    /// The recurring patterns, which include the program's iterations.
    pub(crate) patterns: Option<&'a PatternList>,
}

/// Calls that are underlined in a colour.
pub(crate) struct UnderlinedCalls<'a> {
    pub(crate) calls: &'a SpanIndex,
    pub(crate) color: Color32,
}

/// The ranks that the user wants to see, and their order.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct RankChoice {
    pub(crate) pinned: BTreeSet<(ProgramId, RankId)>,
    /// The ranks of the selected trend, which come first whatever the filter.
    pub(crate) lifted: BTreeSet<(ProgramId, RankId)>,
    pub(crate) filter: RankFilter,
    pub(crate) sort: RankSort,
}

/// The actions of the user on the canvas in one frame.
pub(crate) struct LaneActions {
    /// The clicked item.
    pub(crate) clicked: Option<Hovered>,
    /// The call that a key selected.
    pub(crate) stepped: Option<ExecRef>,
    /// A time range was selected or cleared.
    pub(crate) range: Option<RangeChoice>,
    /// The action at the name of a row.
    pub(crate) row: Option<(LaneIdx, RowRequest)>,
    /// Whether F was pressed, which fits the selection, or the run.
    pub(crate) wants_fit: bool,
    /// Whether `/` was pressed, which opens the search.
    pub(crate) wants_search: bool,
    /// The place for a mark, if M was pressed: the selected range, the pointer, or the middle.
    pub(crate) mark: Option<TimeRange>,
}

/// A change of the selected time range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RangeChoice {
    /// This range is selected.
    Choose(TimeRange),
    /// The selection is cleared.
    Clear,
}

/// An action at the name of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowRequest {
    /// Pins or unpins its rank.
    Pin,
    /// Shows only its rank.
    Only,
    /// Shows all ranks again.
    All,
}

/// The item under the pointer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Hovered {
    /// A bar of a row.
    Bar {
        /// Lane.
        lane: LaneIdx,
        /// Bar.
        bar: Bar,
    },
    /// A message.
    Arrow(Arrow),
    /// The mark of abnormal executions.
    Mark(FlagMark),
    /// The root of the delay whose path is drawn.
    Root(RootCause),
    /// A step of the path.
    Step(CascadeStep),
}
