//! The tables of the window that can be exported.

use callgrove_session::Snapshot;

use super::export_texts::ExportTexts;
use super::view::View;

/// A table that the window shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowTable {
    /// Executions of the root function.
    Candidates,
    /// Incidents.
    Incidents,
    /// Persistent and gradual changes.
    Trends,
    /// Recurring patterns.
    Patterns,
    /// Waits between ranks.
    Waits,
    /// Where the delays began.
    Roots,
    /// Changes since an earlier run.
    Changes,
    /// Functions of the watched run.
    Profile,
    /// Counters of the watched run.
    Counters,
    /// Recorded executions.
    Records,
}

impl WindowTable {
    /// Extensions of the possible files, the usual one first.
    pub(crate) const EXTENSIONS: &[&str] = &[
        "csv",
        #[cfg(feature = "parquet")]
        "parquet",
        "jsonl",
        "txt",
    ];

    /// A hint about possible files.
    pub(crate) const HINT: &str = if cfg!(feature = "parquet") {
        "Table (.csv, .parquet, .jsonl or .txt) of all listed rows; an existing one is replaced"
    } else {
        "Table (.csv, .jsonl or .txt) of all listed rows; an existing one is replaced"
    };

    /// Returns the texts of an export.
    #[rustfmt::skip]
    pub fn texts(self) -> ExportTexts {
        let texts = ExportTexts::new;
        match self {
            Self::Candidates => texts("candidates", "Export the table of candidates", "candidates.csv"),
            Self::Incidents => texts("incidents", "Export the table of incidents", "incidents.csv"),
            Self::Trends => texts("trends", "Export the table of trends", "trends.csv"),
            Self::Patterns => texts("patterns", "Export the table of patterns", "patterns.csv"),
            Self::Waits => texts("waits", "Export the table of waits", "waits.csv"),
            Self::Roots => texts("roots of delays", "Export the table of roots of delays", "roots.csv"),
            Self::Changes => texts("changes", "Export the table of changes", "changes.csv"),
            Self::Profile => texts("profile", "Export the table of functions", "profile.csv"),
            Self::Counters => texts("counters", "Export the table of counters", "counters.csv"),
            Self::Records => texts("records", "Export the table of records", "records.csv"),
        }
    }

    /// Returns the table of a view: its own, or that of the data that it draws.
    pub fn of_view(view: Option<View>) -> Self {
        match view {
            Some(View::Incidents) => Self::Incidents,
            Some(View::Patterns) => Self::Patterns,
            Some(View::Waits) => Self::Waits,
            Some(View::Changes) => Self::Changes,
            Some(View::Profile | View::Overview) => Self::Profile,
            Some(View::Counters) => Self::Counters,
            Some(View::Records | View::Record) => Self::Records,
            Some(
                View::Candidates
                | View::Map
                | View::Tree
                | View::Timeline
                | View::Details
                | View::Training,
            )
            | None => Self::Candidates,
        }
    }

    /// Returns whether the table has rows.
    pub fn is_known(self, snapshot: &Snapshot) -> bool {
        match self {
            Self::Candidates => snapshot.detection().is_some(),
            Self::Incidents | Self::Waits | Self::Roots => snapshot.causes().is_some(),
            Self::Trends => {
                let trends = snapshot.trends();
                trends.is_some_and(|trends| !trends.all().is_empty())
            }
            Self::Patterns => snapshot.patterns().is_some(),
            Self::Changes => snapshot.comparison().is_some(),
            Self::Profile | Self::Counters => snapshot.watch.is_attached(),
            Self::Records => snapshot.watch.visit().results.is_some(),
        }
    }
}
