//! The views that can be exported as pictures.

use super::view::View;

/// A view that can be a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PictureView {
    /// Ranks over time.
    Timeline,
    /// All executions of the root function.
    Map,
    /// One execution and its differences from usual ones.
    Tree,
    /// One incident: its facts, and the ranks that it delayed over time.
    Incident,
    /// Recurring patterns, and the durations of one.
    Patterns,
}

impl PictureView {
    /// All views.
    pub const ALL: [Self; 5] = [
        Self::Timeline,
        Self::Map,
        Self::Tree,
        Self::Incident,
        Self::Patterns,
    ];

    /// Returns the name that the user sees.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timeline => "timeline",
            Self::Map => "map",
            Self::Tree => "tree",
            Self::Incident => "incident",
            Self::Patterns => "patterns",
        }
    }

    /// Returns the picture of a view of the window; the timeline for a view that is no drawing.
    pub(crate) fn of_view(view: Option<View>, has_incident: bool) -> Self {
        match view {
            Some(View::Map | View::Candidates) => Self::Map,
            Some(View::Tree) => Self::Tree,
            Some(View::Incidents) if has_incident => Self::Incident,
            Some(View::Patterns) => Self::Patterns,
            _ => Self::Timeline,
        }
    }
}
