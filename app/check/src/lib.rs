//! Checks of runs against a reference, their outcome, and its reports: text, Markdown, JUnit, JSON, SARIF, annotations of
//! GitHub, metrics of GitLab.
//!
//! ```text
//! runs, reference ─ CheckedRuns ─ Outcome of each check ─ CheckReport ─┬─ verdict ─ exit code
//!                                                                    └─ one writer for each kind of report
//! ```

mod abnormal;
mod baseline;
mod checked_runs;
mod github;
mod outcome;
mod reports;
mod sarif;
mod stages;

pub use abnormal::AbnormalSettings;
pub use baseline::{BaselineError, BaselineRow, BaselineRun, RunBaseline};
pub use checked_runs::{CheckReference, CheckedRun, CheckedRuns, compare_sides};
pub use outcome::{CheckReport, CheckResult, CheckVerdict, Outcome};
pub use stages::Stages;
