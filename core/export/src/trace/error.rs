//! The ways in which an export ends early.

use std::fmt;
use std::io;

use callgrove_model::Cancelled;

/// The reason why a trace was not written completely.
#[derive(Debug)]
pub enum TraceExportError {
    /// The output failed.
    Io(io::Error),
    /// The caller cancelled.
    Cancelled,
}

impl fmt::Display for TraceExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Cancelled => Cancelled.fmt(f),
        }
    }
}

impl std::error::Error for TraceExportError {}

impl From<io::Error> for TraceExportError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Cancelled> for TraceExportError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}
