//! The views that a tool draws.

use callgrove_actions::PictureView;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

/// A view, as a command line or an assistant names it.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DrawnView {
    /// Ranks over time
    Timeline,
    /// All executions of the root function; similar ones are close together
    Map,
    /// One execution and its differences from usual ones
    Tree,
    /// One incident: its facts, and the ranks that it delayed over time
    Incident,
    /// Recurring patterns, and the durations of one
    Patterns,
    /// The list of incidents and trends
    Incidents,
    /// The list of executions of the root function, the most unusual first
    Candidates,
    /// Which ranks waited for which, and where the delays began
    Waits,
    /// The call of an execution: its times, counters and messages
    Details,
    /// What changed since an earlier run
    Changes,
}

impl DrawnView {
    /// Returns the view of the window.
    pub(crate) fn picture(self) -> PictureView {
        match self {
            Self::Timeline => PictureView::Timeline,
            Self::Map => PictureView::Map,
            Self::Tree => PictureView::Tree,
            Self::Incident => PictureView::Incident,
            Self::Patterns => PictureView::Patterns,
            Self::Incidents => PictureView::Incidents,
            Self::Candidates => PictureView::Candidates,
            Self::Waits => PictureView::Waits,
            Self::Details => PictureView::Details,
            Self::Changes => PictureView::Changes,
        }
    }
}
