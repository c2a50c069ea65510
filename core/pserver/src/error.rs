//! Errors, each with its remedy.

use callgrove_model::{FuncId, ProgramId, RankId, RunMismatch};
use thiserror::Error;

/// Errors of the parameter server and of its clients.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PserverError {
    /// Two AD instances claim the same rank.
    #[error(
        "rank {rank} of program {program} is already read by AD instance {holder}, last heard of {silent_ms} ms ago; \
         stop that instance, or give this one other ranks or another program index"
    )]
    RankTaken {
        /// Program.
        program: ProgramId,
        /// Rank.
        rank: RankId,
        /// The instance that holds it.
        holder: String,
        /// Time since that instance was last heard of, in milliseconds.
        silent_ms: u64,
    },
    /// The instance belongs to another run.
    #[error(
        "the parameter server serves another run: {}, and this is {}; {}. Start a separate parameter server for it, \
         and use another provenance database",
        _0.known, _0.other, _0.reason
    )]
    OtherRun(RunMismatch),
    /// The server does not know the calling instance, for example because it was restarted.
    #[error("AD instance {instance} is not registered; register it first")]
    NotRegistered {
        /// The instance.
        instance: String,
    },
    /// Another instance reads the ranks of this one, which was silent for too long.
    #[error(
        "AD instance {instance} was silent for too long, and another has taken its ranks; start it again"
    )]
    Replaced {
        /// The instance.
        instance: String,
    },
    /// The server never assigned this function index.
    #[error("function index {fid} is unknown; request the indices of functions by name first")]
    UnknownFunction {
        /// The index.
        fid: FuncId,
    },
    /// The instance reports on a rank that it has not claimed.
    #[error(
        "AD instance {instance} reports on rank {rank} of program {program} without having claimed it; \
         name all ranks when registering"
    )]
    ForeignRank {
        /// The instance.
        instance: String,
        /// Program.
        program: ProgramId,
        /// Rank.
        rank: RankId,
    },
    /// The tree model was never published, or this version has been dropped.
    #[error(
        "there is no {}tree model {name}; `callgrove model list` lists the existing ones",
        version.map(|version| format!("version {version} of the ")).unwrap_or_default()
    )]
    UnknownTreeModel {
        /// Its name.
        name: String,
        /// The requested version.
        version: Option<u32>,
    },
    /// The server refuses the tree model.
    #[error("the tree model {name} is refused: {cause}")]
    UnfitTreeModel {
        /// Its name.
        name: String,
        /// The reason.
        cause: String,
    },
    /// The run is over, so its tree models cannot be changed any more.
    #[error(
        "the run is over, and no AD instance uses tree models any more; keep the model in a file, and publish it to \
         the next run (`callgrove model publish`)"
    )]
    RunIsOver,
    /// Models of detectors with different kinds of distribution.
    #[error(
        "models of different algorithms cannot be merged; give all AD instances the same `--algorithm`, and that of the \
         saved models if there are any"
    )]
    MixedModels,
    /// A limit of the server's state or of a message is exceeded.
    #[error("{what} over the limit of {limit}; {remedy}")]
    Limit {
        /// The item that exceeds the limit, with its number or position.
        what: String,
        /// The limit.
        limit: usize,
        /// The remedy.
        remedy: &'static str,
    },
    /// Invalid data: a message of another version or program, or a damaged file.
    #[error("{what} is damaged: {cause}; {remedy}")]
    Damaged {
        /// The kind of data.
        what: &'static str,
        /// The problem.
        cause: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The server does not answer.
    #[error(
        "no answer from the parameter server at {address}: {cause}; check the address, and that the server runs"
    )]
    NotConnected {
        /// Its address.
        address: String,
        /// The reason.
        cause: String,
    },
    /// The server refuses the request.
    #[error("the parameter server at {address} refused: {cause}")]
    Refused {
        /// Its address.
        address: String,
        /// The subject of the refusal.
        about: Refusal,
        /// The reason given by the server.
        cause: String,
    },
    /// An option of a client is invalid.
    #[error("{option} cannot be used: {cause}")]
    BadOption {
        /// The option, with its value.
        option: String,
        /// The reason.
        cause: String,
    },
}

/// The subject of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A rank that another live instance reads.
    Rank,
    /// The data of the request; the server will never take them.
    Data,
    /// A wrong or missing token.
    Access,
    /// An unknown call: another program, or another version.
    Protocol,
}

impl PserverError {
    /// Returns true if the server will never take these data.
    pub(crate) fn is_about_data(&self) -> bool {
        matches!(
            self,
            Self::UnknownFunction { .. }
                | Self::ForeignRank { .. }
                | Self::MixedModels
                | Self::Limit { .. }
                | Self::Damaged { .. }
                | Self::Refused {
                    about: Refusal::Data,
                    ..
                }
        )
    }
}
