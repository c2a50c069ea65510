//! The error of a command.

use callgrove_edits::LabelCsvError;
use callgrove_model::{Cancelled, RunMismatch};

use crate::comparison::COMPARED_ELSEWHERE;
use crate::host::HostError;
use crate::learning::LearningError;
use crate::root::RootError;

/// An error that stopped a command. [`CommandError::Cancelled`] means that nothing was changed; code that keeps a part
/// of its changes reports this itself.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error("cancelled")]
    Cancelled,
    #[error("{0}")]
    Host(String),
    #[error(transparent)]
    Root(#[from] RootError),
    #[error("{cause} in {path}")]
    Labels { cause: LabelCsvError, path: String },
    #[error("{cause}: {path}")]
    File { cause: String, path: String },
    #[error("{0}")]
    Learning(LearningError),
    #[error(
        "{trace} is not the trace of the session ({mismatch}); open the right trace, then the session again"
    )]
    OtherRun {
        trace: String,
        mismatch: RunMismatch,
    },
    #[error("{COMPARED_ELSEWHERE}")]
    ComparedElsewhere,
    #[error(
        "the weights of {0} are not times, so runs cannot be compared; choose a trace with times"
    )]
    NoTimes(String),
    #[error("{0} has no calls to compare; choose a complete run")]
    NoCalls(String),
    #[error("open a trace first")]
    NothingOpen,
    #[error("the records do not name their run; open the trace first")]
    NoRun,
    #[error("choose a root function first")]
    NoForest,
}

impl From<HostError> for CommandError {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Cancelled => Self::Cancelled,
            HostError::Failed(text) => Self::Host(text),
        }
    }
}

impl From<LearningError> for CommandError {
    fn from(error: LearningError) -> Self {
        if error.is_cancelled() {
            Self::Cancelled
        } else {
            Self::Learning(error)
        }
    }
}

impl From<Cancelled> for CommandError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}
