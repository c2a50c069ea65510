//! Messages to the user, and the work in progress.

use serde::{Deserialize, Serialize};

/// Long work in progress.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Work {
    /// The current step, as text: `Reading rank 3 of 16`.
    pub stage: String,
    /// Finished share, 0 to 1.
    pub fraction: f32,
}

/// A message to the user.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Notice {
    /// Number of the notice, for [`crate::Command::Dismiss`].
    pub id: u64,
    /// Severity.
    pub severity: Severity,
    /// Cause and remedy, as text.
    pub text: String,
}

/// The severity of a notice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Severity {
    /// A command succeeded.
    Info,
    /// The result has a limitation that the user should know.
    Warning,
    /// A command failed.
    Error,
}
