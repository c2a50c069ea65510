//! What can go wrong, each with its remedy.

use callgrove_model::{FuncId, ProgramId, RankId, RunMismatch};
use thiserror::Error;

/// Errors of the parameter server and of its clients.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PserverError {
    /// Two AD instances claim one rank.
    #[error(
        "rank {rank} of program {program} is read by AD instance {holder} already, last heard of {silent_ms} ms ago; \
         stop that one, or give this one other ranks or another program index"
    )]
    RankTaken {
        /// Program.
        program: ProgramId,
        /// Rank.
        rank: RankId,
        /// The instance that has it.
        holder: String,
        /// How long that one has been silent.
        silent_ms: u64,
    },
    /// An instance of another run.
    #[error(
        "the parameter server serves another run: {}, and this is {}; {}. Start a parameter server of its own for it, \
         and name another provenance database",
        _0.known, _0.other, _0.reason
    )]
    OtherRun(RunMismatch),
    /// A call of an instance that the server does not know, for example since it was restarted.
    #[error("AD instance {instance} is not registered; register it first")]
    NotRegistered {
        /// The instance.
        instance: String,
    },
    /// A function index that the server never gave.
    #[error("function index {fid} is unknown; ask for the indices of functions by name first")]
    UnknownFunction {
        /// The index.
        fid: FuncId,
    },
    /// A report on a rank that the instance does not read.
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
    /// A tree model that was never published, or a version that is not kept any more.
    #[error(
        "there is no {}tree model {name}; `callgrove model list` shows those that there are",
        version.map(|version| format!("version {version} of the ")).unwrap_or_default()
    )]
    UnknownTreeModel {
        /// Its name.
        name: String,
        /// The version that was asked for.
        version: Option<u32>,
    },
    /// A tree model that the server refuses.
    #[error("the tree model {name} is refused: {cause}")]
    UnfitTreeModel {
        /// Its name.
        name: String,
        /// Why, in words.
        cause: String,
    },
    /// A change of the tree models of a run that is over.
    #[error(
        "the run is over, and no AD instance judges by a tree model any more; keep the model in a file, and publish it to \
         the next run (`callgrove model publish`)"
    )]
    RunIsOver,
    /// Models of detectors that keep different things.
    #[error(
        "models of different algorithms meet; give all AD instances the same one (`--algorithm`), that of the saved models \
         if there are any"
    )]
    MixedModels,
    /// A bound on what a server holds or a message carries.
    #[error("{what} over the limit of {limit}; {remedy}")]
    Limit {
        /// What there is too much of, with its number or place.
        what: String,
        /// The limit.
        limit: usize,
        /// What to do.
        remedy: &'static str,
    },
    /// Invalid data: a message of another version or program, or a damaged file.
    #[error("{what} is damaged: {cause}; {remedy}")]
    Damaged {
        /// Which data.
        what: &'static str,
        /// What is wrong.
        cause: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The server does not answer.
    #[error(
        "no answer from the parameter server at {address}: {cause}; check that it runs and the address"
    )]
    NotConnected {
        /// Its address.
        address: String,
        /// Why.
        cause: String,
    },
    /// The server answers and says no.
    #[error("the parameter server at {address} refused: {cause}")]
    Refused {
        /// Its address.
        address: String,
        /// What the refusal is about.
        about: Refusal,
        /// Why, in the server's words.
        cause: String,
    },
    /// Options of a client that cannot be used.
    #[error("{option} cannot be used: {cause}")]
    BadOption {
        /// The option, with its value.
        option: String,
        /// Why.
        cause: String,
    },
}

/// What a server refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A rank that another live instance reads.
    Rank,
    /// The data of the request; it will never take them.
    Data,
    /// The token, or its absence.
    Access,
    /// A call that it does not know: another program, or another version.
    Protocol,
}

impl PserverError {
    /// The server will not take these data, now or later.
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
