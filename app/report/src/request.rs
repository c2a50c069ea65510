//! The request for a report: its content, and facts that the session does not have.

use callgrove_model::{TimeNs, TreeIdx};

/// The incidents of a report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IncidentChoice {
    /// The costliest of those that are not by design.
    Costliest {
        /// The largest number.
        at_most: usize,
    },
    /// Those with these numbers, as [`callgrove_query::IncidentRow::incident`] counts.
    Numbers(Vec<usize>),
}

/// The executions of a report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CandidateChoice {
    /// The most abnormal of those that are called abnormal.
    MostAbnormal {
        /// The largest number.
        at_most: usize,
    },
    /// Those that a user selected, the most abnormal first.
    Selected {
        /// The executions.
        trees: Vec<TreeIdx>,
        /// The largest number.
        at_most: usize,
    },
}

/// The content of a report.
#[derive(Clone, PartialEq, Debug)]
pub struct ReportRequest {
    /// Its incidents.
    pub incidents: IncidentChoice,
    /// Its executions.
    pub candidates: CandidateChoice,
    /// True if it lists all labels.
    pub with_labels: bool,
    /// The hosts of this run and of others, a sentence each; empty if they were not asked for.
    pub nodes: Vec<String>,
    /// Who made it, when, and with what.
    pub origin: ReportOrigin,
    /// The files that were read, in order of path.
    pub inputs: Vec<InputFile>,
}

/// Who made a report, when, and with what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReportOrigin {
    /// Time since the epoch.
    pub at: TimeNs,
    /// Login name, if known.
    pub by: Option<String>,
    /// Version of the program.
    pub version: String,
    /// The command that makes it again; empty if it was made in a window.
    pub command: String,
}

/// A file that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputFile {
    /// Path, as found from the source that the user named.
    pub path: String,
    /// Size.
    pub num_bytes: u64,
    /// SHA-256 of the content in hexadecimal digits; `None` if it was not computed.
    pub sha256: Option<String>,
}

/// A picture as SVG, for both themes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReportPicture {
    /// Description of the picture, as its alternative text and as its caption.
    pub caption: String,
    /// On a light background: one `svg` element, written into the page as it is.
    pub light: String,
    /// On a dark background.
    pub dark: String,
}

/// A report that cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReportError {
    /// There is no trace whose executions could be reported.
    #[error("no trace is open: open one first, a report is about its executions")]
    NoTrace,
    /// An incident does not exist.
    #[error(
        "there is no incident {number}: this run has {count}, counted from 1 (`callgrove incidents`)"
    )]
    NoIncident {
        /// The number asked for.
        number: usize,
        /// Number of incidents.
        count: usize,
    },
}
