//! What comes to the canvas with every frame, and what a person did on it.

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

/// What is shown besides the trace.
pub(crate) struct LaneScene<'a> {
    /// Colours.
    pub(crate) theme: &'a Theme,
    /// Names the canvas among others in the window.
    pub(crate) id: &'static str,
    /// What a screen reader and a test call the canvas.
    pub(crate) name: &'a str,
    /// Whether keys without modifiers are meant for it wherever the pointer is.
    pub(crate) has_focus: bool,
    /// Root of the selected tree, whose rank comes first.
    pub(crate) tree: Option<ExecRef>,
    /// The selected call.
    pub(crate) call: Option<ExecRef>,
    /// The chosen stretch of time.
    pub(crate) range: Option<TimeRange>,
    /// Marks that a person made.
    pub(crate) marks: &'a [callgrove_session::Mark],
    /// Executions that are seen at any zoom.
    pub(crate) flagged: &'a Arc<SpanIndex>,
    /// Calls that are underlined.
    pub(crate) highlights: &'a [UnderlinedCalls<'a>],
    /// Occurrences of a pattern that are underlined as abnormal.
    pub(crate) occurrences: Option<MarkedOccurrences>,
    /// Which ranks are rows, in which order.
    pub(crate) ranks: &'a RankChoice,
    /// The delay whose path is drawn; the rank where it began is the first row.
    pub(crate) cascade: Option<&'a Cascade>,
    /// What recurs: tells the program's iterations.
    pub(crate) patterns: Option<&'a PatternList>,
}

/// Calls that are underlined in a colour.
pub(crate) struct UnderlinedCalls<'a> {
    pub(crate) calls: &'a SpanIndex,
    pub(crate) color: Color32,
}

/// Which ranks a person wants to see, and in which order.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct RankChoice {
    pub(crate) pinned: BTreeSet<(ProgramId, RankId)>,
    /// Those of the trend that is looked at, which stand first whatever the filter.
    pub(crate) lifted: BTreeSet<(ProgramId, RankId)>,
    pub(crate) filter: RankFilter,
    pub(crate) sort: RankSort,
}

/// What a person did on the canvas in one frame.
pub(crate) struct Done {
    /// What was clicked.
    pub(crate) clicked: Option<Hovered>,
    /// A call was chosen by key.
    pub(crate) stepped: Option<ExecRef>,
    /// A stretch of time was chosen, or let go.
    pub(crate) range: Option<RangeChoice>,
    /// What was asked for at the name of a row.
    pub(crate) row: Option<(LaneIdx, RowWish)>,
    /// F asks to see what is selected, or all.
    pub(crate) wants_fit: bool,
    /// `/` asks for the search.
    pub(crate) wants_search: bool,
    /// M asks for a mark here: of the chosen range, or at the pointer, or in the middle.
    pub(crate) mark: Option<TimeRange>,
}

/// What shall become of the chosen stretch of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RangeChoice {
    /// This one is chosen.
    Choose(TimeRange),
    /// None is.
    LetGo,
}

/// What is asked for at the name of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowWish {
    /// To pin its rank, or not any more.
    Pin,
    /// To see only its rank.
    Only,
    /// To see all ranks again.
    All,
}

/// What the pointer is on.
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
    /// Where the delay began whose path is drawn.
    Root(RootCause),
    /// A step of its path.
    Step(CascadeStep),
}
