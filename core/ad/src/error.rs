//! What can go wrong for good; damage in a stream is a warning instead.

use callgrove_detect::DetectError;
use callgrove_model::RunMismatch;
use callgrove_provdb::ProvDbError;
use callgrove_pserver::PserverError;
use callgrove_trace::TraceError;

/// What ends an AD instance, or keeps it from starting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdError {
    /// A file of settings is not the JSON that it should be.
    #[error("cannot use {path}")]
    File {
        /// What is wrong, and where.
        #[source]
        cause: serde_json::Error,
        /// The file.
        path: String,
    },
    /// A threshold of a file is out of its bounds.
    #[error("cannot use the threshold of {function} in {path}")]
    Threshold {
        /// The function, as the file names it.
        function: String,
        /// What is wrong.
        #[source]
        cause: DetectError,
        /// The file.
        path: String,
    },
    /// Settings of the detector.
    #[error(transparent)]
    Detect(#[from] DetectError),
    /// No stream can be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The provenance database refused.
    #[error(transparent)]
    ProvDb(#[from] ProvDbError),
    /// The parameter server refused, or is needed and cannot be reached.
    #[error(transparent)]
    Exchange(#[from] PserverError),
    /// Streams of different runs.
    #[error("{0}. Follow the ranks of one run only")]
    OtherRun(RunMismatch),
    /// Documents could not be stored.
    #[error("{count} documents could not be stored and are lost; the last refusal was: {reason}")]
    Lost {
        /// How many.
        count: u64,
        /// Why.
        reason: String,
    },
    /// The parameter server may lose what it was told last.
    #[error("{cause}, after {} s: statistics of this instance may be lost; run it again", waited.as_secs())]
    Unsettled {
        /// Why, in words.
        cause: String,
        /// How long it was waited for.
        waited: std::time::Duration,
    },
    /// A thread could not be started.
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
}
