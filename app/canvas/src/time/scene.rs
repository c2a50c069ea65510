//! The input of the canvas in a frame, and the actions of the user on it.

use std::collections::BTreeSet;
use std::sync::Arc;

use callgrove_model::{ExecRef, LaneIdx, ProgramId, RankId};
use callgrove_session::{
    Arrow, Bar, Cascade, CascadeStep, PatternList, RankFilter, RankSort, RootCause, SpanIndex,
    TimeRange,
};
use callgrove_widgets::theme::Theme;
use egui::Color32;

use super::layout::FlagMark;
use super::occurrences::MarkedOccurrences;

/// The input of a frame, in addition to the trace.
pub struct LaneScene<'a> {
    /// The colour theme.
    pub theme: &'a Theme,
    /// Identifies the canvas among others in the window.
    pub id: &'static str,
    /// Name of the canvas for screen readers and tests.
    pub name: &'a str,
    /// True if keys without modifiers go to it wherever the pointer is.
    pub has_focus: bool,
    /// Root of the selected tree, whose rank is the first row.
    pub tree: Option<ExecRef>,
    /// The selected call.
    pub call: Option<ExecRef>,
    /// The selected time range.
    pub range: Option<TimeRange>,
    /// Marks of the user.
    pub marks: &'a [callgrove_session::Mark],
    /// Executions that are visible at any zoom.
    pub flagged: &'a Arc<SpanIndex>,
    /// Calls that are underlined.
    pub highlights: &'a [UnderlinedCalls<'a>],
    /// Occurrences of a pattern that are underlined as abnormal.
    pub occurrences: Option<MarkedOccurrences>,
    /// The ranks shown as rows, and their order.
    pub ranks: &'a RankChoice,
    /// The delay whose path is drawn; the rank where it began is the first row.
    pub cascade: Option<&'a Cascade>,
    /// The recurring patterns, which include the program's iterations.
    pub patterns: Option<&'a PatternList>,
}

/// Calls that are underlined in a colour.
pub struct UnderlinedCalls<'a> {
    /// The calls, by rank and time.
    pub calls: &'a SpanIndex,
    /// The colour of their lines.
    pub color: Color32,
}

/// The ranks that the user wants to see, and their order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RankChoice {
    /// The ranks that the user pinned to the top.
    pub pinned: BTreeSet<(ProgramId, RankId)>,
    /// The ranks of the selected trend, which come first whatever the filter.
    pub lifted: BTreeSet<(ProgramId, RankId)>,
    /// Which of the other ranks are rows.
    pub filter: RankFilter,
    /// The order of the other ranks.
    pub sort: RankSort,
}

/// The actions of the user on the canvas in one frame.
pub struct LaneActions {
    /// The clicked item.
    pub clicked: Option<Hovered>,
    /// The call that a key selected.
    pub stepped: Option<ExecRef>,
    /// A time range was selected or cleared.
    pub range: Option<RangeChoice>,
    /// The action at the name of a row.
    pub row: Option<(LaneIdx, RowRequest)>,
    /// True if F was pressed, which fits the selection, or the run.
    pub wants_fit: bool,
    /// True if `/` was pressed, which opens the search.
    pub wants_search: bool,
    /// The place for a mark, if M was pressed: the selected range, the pointer, or the middle.
    pub mark: Option<TimeRange>,
}

/// A change of the selected time range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RangeChoice {
    /// This range is selected.
    Choose(TimeRange),
    /// The selection is cleared.
    Clear,
}

/// An action at the name of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowRequest {
    /// Pins or unpins its rank.
    Pin,
    /// Shows only its rank.
    Only,
    /// Shows all ranks again.
    All,
}

/// The item under the pointer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Hovered {
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
