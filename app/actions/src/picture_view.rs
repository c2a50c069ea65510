//! The views that can be exported as pictures.

use super::export_texts::ExportTexts;
use super::view::View;

/// A view that can be a picture: all but those in which the user enters something.
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
    /// The list of incidents and trends.
    Incidents,
    /// The list of executions, the most unusual first.
    Candidates,
    /// Which ranks waited for which, and where the delays began.
    Waits,
    /// Changes since an earlier run.
    Changes,
    /// The selected call.
    Details,
    /// Anomalies of the watched run by rank, function and step.
    Overview,
    /// Statistics of all functions of the watched run.
    Profile,
    /// Statistics of all counters of the watched run.
    Counters,
    /// Recorded executions.
    Records,
    /// One recorded execution.
    Record,
}

impl PictureView {
    /// All views.
    pub const ALL: [Self; 15] = [
        Self::Timeline,
        Self::Map,
        Self::Tree,
        Self::Incident,
        Self::Patterns,
        Self::Incidents,
        Self::Candidates,
        Self::Waits,
        Self::Changes,
        Self::Details,
        Self::Overview,
        Self::Profile,
        Self::Counters,
        Self::Records,
        Self::Record,
    ];

    /// The views of a trace, in the order of their list for users.
    pub const OF_TRACE: [Self; 10] = [
        Self::Timeline,
        Self::Map,
        Self::Tree,
        Self::Incident,
        Self::Patterns,
        Self::Incidents,
        Self::Candidates,
        Self::Waits,
        Self::Details,
        Self::Changes,
    ];

    /// Returns the view of a trace with a name.
    pub fn of_trace(name: &str) -> Option<Self> {
        Self::OF_TRACE.into_iter().find(|it| it.name() == name)
    }

    /// Returns what the view shows, as text for the user.
    pub fn description(self) -> &'static str {
        match self {
            Self::Timeline => "Ranks over time",
            Self::Map => "All executions of the root function; similar ones are close together",
            Self::Tree => "One execution and its differences from usual ones",
            Self::Incident => "One incident: its facts, and the ranks that it delayed over time",
            Self::Patterns => "Recurring patterns, and the durations of one",
            Self::Incidents => "The list of incidents and trends",
            Self::Candidates => {
                "The list of executions of the root function, the most unusual first"
            }
            Self::Waits => "Which ranks waited for which, and where the delays began",
            Self::Changes => "What changed since an earlier run",
            Self::Details => "The call of an execution: its times, counters and messages",
            Self::Overview => "Anomalies of the watched run by rank, function and step",
            Self::Profile => "Statistics of all functions of the watched run",
            Self::Counters => "Statistics of all counters of the watched run",
            Self::Records => "Recorded executions",
            Self::Record => "One recorded execution",
        }
    }

    /// Returns the name that the user sees.
    pub fn name(self) -> &'static str {
        self.texts().name
    }

    /// Returns the texts of an export.
    #[rustfmt::skip]
    pub(crate) fn texts(self) -> ExportTexts {
        let texts = ExportTexts::new;
        match self {
            Self::Timeline => texts("timeline", "Export the timeline", "timeline.svg"),
            Self::Map => texts("map", "Export the map", "map.svg"),
            Self::Tree => texts("tree", "Export the tree", "tree.svg"),
            Self::Incident => texts("incident", "Export the incident", "incident.svg"),
            Self::Patterns => texts("patterns", "Export the patterns", "patterns.svg"),
            Self::Incidents => texts("incidents", "Export the list of incidents", "incidents.svg"),
            Self::Candidates => texts("candidates", "Export the list of candidates", "candidates.svg"),
            Self::Waits => texts("waits", "Export the waits", "waits.svg"),
            Self::Changes => texts("changes", "Export the list of changes", "changes.svg"),
            Self::Details => texts("details", "Export the details of the call", "details.svg"),
            Self::Overview => texts("overview", "Export the overview", "overview.svg"),
            Self::Profile => texts("profile", "Export the profile", "profile.svg"),
            Self::Counters => texts("counters", "Export the list of counters", "counters.svg"),
            Self::Records => texts("records", "Export the list of records", "records.svg"),
            Self::Record => texts("record", "Export the record", "record.svg"),
        }
    }

    /// Returns whether the view needs a watched run instead of a trace.
    pub fn is_of_watch(self) -> bool {
        matches!(
            self,
            Self::Overview | Self::Profile | Self::Counters | Self::Records | Self::Record
        )
    }

    /// Returns the picture of a view of the window; the timeline if no view has the focus, and for the form of labels
    /// and training.
    pub fn of_view(view: Option<View>, has_incident: bool) -> Self {
        match view {
            Some(View::Map) => Self::Map,
            Some(View::Candidates) => Self::Candidates,
            Some(View::Tree) => Self::Tree,
            Some(View::Incidents) if has_incident => Self::Incident,
            Some(View::Incidents) => Self::Incidents,
            Some(View::Patterns) => Self::Patterns,
            Some(View::Waits) => Self::Waits,
            Some(View::Changes) => Self::Changes,
            Some(View::Details) => Self::Details,
            Some(View::Overview) => Self::Overview,
            Some(View::Profile) => Self::Profile,
            Some(View::Counters) => Self::Counters,
            Some(View::Records) => Self::Records,
            Some(View::Record) => Self::Record,
            Some(View::Timeline | View::Training) | None => Self::Timeline,
        }
    }
}
