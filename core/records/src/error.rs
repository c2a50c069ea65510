//! Errors of the storing of records.

/// An error that keeps records from being stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordsError {
    /// Documents could not be stored.
    #[error("{count} documents could not be stored and are lost; the last refusal was: {reason}")]
    Lost {
        /// Number of lost documents.
        count: u64,
        /// The reason.
        reason: String,
    },
    /// A thread could not be started.
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
}
