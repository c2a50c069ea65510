//! What the session needs of the world outside, lent by its carrier.

use callgrove_model::{Cancelled, Progress, Trace};

/// The outside refused. The text is for the person: cause, place, remedy.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The person asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// Everything else, in words that name the place and the remedy.
    #[error("{0}")]
    Failed(String),
}

impl From<Cancelled> for HostError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Files and traces, as the carrier can reach them.
pub trait Host: Send {
    /// Reads a trace.
    ///
    /// # Errors
    /// Cancelled, or what is wrong with the source and what to do.
    fn load_trace(&mut self, source: &str, progress: Progress<'_>) -> Result<Trace, HostError>;

    /// Opens the journal that belongs to a source and gives its complete lines, oldest first. A last
    /// line that a crash cut short is dropped for good.
    ///
    /// # Errors
    /// The journal exists but cannot be read or written.
    fn open_journal(&mut self, source: &str) -> Result<Vec<String>, HostError>;

    /// Appends one line to the journal opened last; it is on disk when this returns.
    ///
    /// # Errors
    /// The line could not be stored; the edit is then not applied.
    fn append_journal(&mut self, line: &str) -> Result<(), HostError>;

    /// Reads a file that the person named.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read_file(&mut self, path: &str) -> Result<Vec<u8>, HostError>;

    /// Writes a file that the person named; an existing one is replaced as a whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    fn write_file(&mut self, path: &str, content: &[u8]) -> Result<(), HostError>;
}
