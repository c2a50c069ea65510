//! The errors of the pipeline.

use std::io;
use std::path::PathBuf;
use std::string::FromUtf8Error;

use callgrove_ad::AdError;
use callgrove_provdb::{FilterError, ProvDbError};
use callgrove_pserver::PserverError;
use callgrove_server::ServerError;
use callgrove_server::client::ClientError;
use callgrove_session::LearningError;
use callgrove_source::SourceError;
use thiserror::Error;

/// An error of a part of the pipeline, or of its composition.
#[derive(Debug, Error)]
pub enum PipelineError {
    /// The settings of an AD instance are invalid.
    #[error(transparent)]
    Ad(#[from] AdError),
    /// A server cannot be reached, or refuses.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The query of a database is invalid.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// Nothing can be learned from the trees.
    #[error(transparent)]
    Learning(#[from] LearningError),
    /// The provenance database cannot be used.
    #[error(transparent)]
    ProvDb(#[from] ProvDbError),
    /// The parameter server refuses, or its saved state is damaged.
    #[error(transparent)]
    Pserver(#[from] PserverError),
    /// A token or thread of a server cannot be used.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A stream cannot be found or read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The runtime of a server's interface in this process cannot be started.
    #[error(transparent)]
    InProcess(io::Error),
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The system's error.
        source: io::Error,
        /// The file.
        path: PathBuf,
    },
    /// A file with a tree model has another content.
    #[error("cannot use the model {}", path.display())]
    TreeModelFile {
        /// The reason.
        source: LearningError,
        /// The file.
        path: PathBuf,
    },
    /// A file with function models has another content.
    #[error("cannot use {}", path.display())]
    ModelFile {
        /// The reason.
        source: PserverError,
        /// The file.
        path: PathBuf,
    },
    /// A saved state of a parameter server is not text.
    #[error("{fault}")]
    DamagedState {
        /// The reason.
        source: FromUtf8Error,
        /// The problem, with the name of the state.
        fault: &'static str,
    },
    /// A recorded tree cannot be parsed.
    #[error("a recorded tree is damaged")]
    DamagedTree(#[source] serde_json::Error),
    /// A job has recorded no trees.
    #[error(
        "{address} has recorded no trees yet: start its `callgrove ad` or `callgrove run` with --trees"
    )]
    NoTrees {
        /// The address of the job.
        address: String,
    },
    /// A pattern cannot name streams that do not exist yet.
    #[error(
        "{pattern} is a pattern, but streams that the job has not opened yet cannot be found by a pattern; \
         name each, such as bp/tau-metrics-lmp-{{0..3}}.bp"
    )]
    PatternOfLive {
        /// The pattern.
        pattern: String,
    },
    /// The rank of a stream is unknown.
    #[error(
        "{} does not end in the number of its rank, such as tau-metrics-0.bp; name it so",
        path.display()
    )]
    NoRank {
        /// The stream.
        path: PathBuf,
    },
    /// The message bus cannot be started.
    #[error("{cause}")]
    MessageBus {
        /// The reason, with the remedy.
        cause: String,
    },
    /// A file or folder of a server cannot be used.
    #[error("cannot use {}", path.display())]
    File {
        /// The system's error.
        source: io::Error,
        /// The file or folder.
        path: PathBuf,
    },
    /// The thread that follows a job cannot be started.
    #[error("cannot start the thread that watches the job")]
    Thread(#[source] io::Error),
}

impl PipelineError {
    /// Returns the message followed by those of its causes, in one line.
    pub fn with_causes(&self) -> String {
        callgrove_source::with_causes(self)
    }
}
