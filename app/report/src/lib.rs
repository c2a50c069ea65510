//! The report of a run: what was found, why it is believed, and what it was found in, as one HTML file.
//!
//! A report has the run, the quality of its data, incidents with their waits and pictures, candidates with reasons,
//! labels with author and time, and the settings, versions and input files that give the same result again.
//! [`RunReport`] is the content, computed from a [`callgrove_session::Snapshot`]; [`to_html`] writes it. The file needs
//! no network, no script and no other file, follows the reader's light or dark theme, and prints.

mod fact;
mod html;
mod incident;
mod report;
mod request;

pub use fact::ReportFact;
pub use html::to_html;
pub use incident::{IncidentSection, WaitLine};
pub use report::{CandidateLine, CandidateSection, LabelLine, RunReport};
pub use request::{
    CandidateChoice, IncidentChoice, InputFile, ReportError, ReportOrigin, ReportPicture,
    ReportRequest,
};
