//! Errors that end an AD instance. Damage in a stream is a warning instead.

use callgrove_detect::DetectError;
use callgrove_model::RunMismatch;
use callgrove_provdb::ProvDbError;
use callgrove_pserver::PserverError;
use callgrove_records::RecordsError;
use callgrove_source::SourceError;

/// An error that ends an AD instance or keeps it from starting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdError {
    /// A settings file is not valid JSON of its format.
    #[error("cannot use {path}")]
    File {
        /// The error and its position.
        #[source]
        cause: serde_json::Error,
        /// The file.
        path: String,
    },
    /// A threshold in a file is out of range.
    #[error("cannot use the threshold of {function} in {path}")]
    Threshold {
        /// The function, as the file names it.
        function: String,
        /// The error.
        #[source]
        cause: DetectError,
        /// The file.
        path: String,
    },
    /// Invalid settings of the detector.
    #[error(transparent)]
    Detect(#[from] DetectError),
    /// No stream can be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The provenance database refused a request.
    #[error(transparent)]
    ProvDb(#[from] ProvDbError),
    /// The parameter server refused a request, or is required and cannot be reached.
    #[error(transparent)]
    Exchange(#[from] PserverError),
    /// The streams belong to different runs.
    #[error("{0}. Follow the ranks of one run only")]
    OtherRun(RunMismatch),
    /// Records could not be stored.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// The parameter server may lose the last data sent to it.
    #[error("{cause}, after {} s: statistics of this instance may be lost; run it again", waited.as_secs())]
    Unsettled {
        /// The reason, as text.
        cause: String,
        /// How long the instance waited.
        waited: std::time::Duration,
    },
    /// A thread could not be started.
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
}
