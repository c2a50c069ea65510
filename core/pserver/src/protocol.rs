//! The messages between an AD instance and the server, as plain values; `net` carries them over gRPC.

use std::sync::{Arc, OnceLock};

use callgrove_detect::FuncModel;
use callgrove_model::{FuncId, ProgramId};

use crate::contribution::Contribution;
use crate::error::PserverError;
use crate::functions::FunctionRequest;
use crate::model_exchange::{Hello, RunProgress, Welcome};
use crate::tree_model_book::TreeModelUpdate;

/// Lease of an instance in milliseconds. If it is silent for longer, it counts as dead, and its ranks are free.
pub const LEASE_MS: u64 = 10_000;

/// The server's answer to a [`Hello`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registered {
    /// The answer for the AD instance.
    pub welcome: Welcome,
    /// The epoch of the server. A server of another epoch may have lost what was sent to it before.
    pub epoch: u64,
    /// The last contribution of this instance that is included in the server's state; 0 if it has none.
    pub last_sequence: u64,
    /// The data that survive a restart of the server.
    pub retention: Retention,
}

/// The data that survive a restart of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    /// Nothing needs to: the server ends with its clients, which are in the same process.
    Process,
    /// Nothing: clients send everything again.
    #[default]
    Nothing,
    /// Whatever it has saved: clients send everything later again.
    Saved,
    /// Everything: a log has it.
    Logged,
}

/// A request of an instance: its contribution, and the versions that it already has.
#[derive(Clone, Debug, PartialEq)]
pub struct SyncRequest {
    /// The instance.
    pub instance: String,
    /// The epoch of the server with which it registered.
    pub epoch: u64,
    /// Which contribution, and which part of it. The default with an empty contribution only polls for models.
    pub part: PartNumber,
    /// The position up to which the instance has the models.
    pub cursor: Cursor,
    /// The new data of this part; the session keeps them until it has a reply.
    pub contribution: Arc<Contribution>,
    /// The generation of the tree models that the instance has.
    pub tree_generation: u64,
}

/// The number of a contribution and of a part of it. The server merges a contribution when it has all its parts, so that
/// no saved state has sums without the steps that they are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartNumber {
    /// Counts the contributions of the instance from 1. A number seen before is a repetition and is not merged again.
    pub sequence: u64,
    /// Index of the part in the contribution.
    pub index: u32,
    /// Number of parts after it.
    pub num_left: u32,
}

/// A position in the list of models, ordered by the version of their last change and then by function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// Version of the global model.
    pub version: u64,
    /// The last function of that version.
    pub fid: FuncId,
}

/// A model of the server, shared by all replies.
#[derive(Clone, Debug)]
pub struct PublishedModel {
    /// The function.
    pub fid: FuncId,
    /// The model.
    pub model: Arc<FuncModel>,
    coded: CodedModel,
}

/// An encoded model, filled on first use.
#[derive(Clone, Debug, Default)]
pub struct CodedModel(Arc<OnceLock<Vec<u8>>>);

/// The models that changed since the request's cursor.
#[derive(Clone, Debug, Default)]
pub struct SyncReply {
    /// Version of the global model that these models belong to.
    pub version: u64,
    /// The first version that includes the contribution of the request; `None` while the server lacks parts of it.
    pub included_in: Option<u64>,
    /// The last version that survives a restart of the server.
    pub saved_version: u64,
    /// In order of version and function.
    pub models: Vec<PublishedModel>,
    /// Cursor for the next request.
    pub cursor: Cursor,
    /// True if more models follow: send another request.
    pub more: bool,
    /// Tree models put in force or taken out of force since the request's generation; those that do not fit come with
    /// the next reply.
    pub tree_models: Vec<TreeModelUpdate>,
    /// Generation for the next request.
    pub tree_generation: u64,
}

impl PublishedModel {
    /// Creates a model without an encoded form.
    pub fn new(fid: FuncId, model: Arc<FuncModel>) -> Self {
        Self::with_code(fid, model, CodedModel::default())
    }

    /// Creates a model with an encoded form that is shared with other replies.
    pub(crate) fn with_code(fid: FuncId, model: Arc<FuncModel>, coded: CodedModel) -> Self {
        Self { fid, model, coded }
    }

    /// Returns the encoded model; the first call encodes it.
    pub fn coded(&self, make: impl FnOnce(FuncId, &FuncModel) -> Vec<u8>) -> CodedModel {
        self.coded.0.get_or_init(|| make(self.fid, &self.model));
        self.coded.clone()
    }
}

impl AsRef<[u8]> for CodedModel {
    fn as_ref(&self) -> &[u8] {
        self.0.get().map_or(&[], Vec::as_slice)
    }
}

/// A transport for requests. An implementation neither repeats requests nor keeps data: [`crate::ExchangeSession`]
/// does.
pub trait Transport: Send {
    /// Returns the approximate maximum size in bytes of a contribution in one request; a larger one is sent in parts.
    fn max_request_bytes(&self) -> usize;

    /// Marks the start of a call of the AD instance: deadlines count from here.
    fn begin_call(&mut self);

    /// Returns whether a request can succeed; must not block.
    fn is_up(&self) -> bool;

    /// Returns the error [`PserverError::NotConnected`], with the cause.
    fn absence(&self) -> PserverError;

    /// Announces the instance.
    ///
    /// # Errors
    /// [`PserverError::RankTaken`]; [`PserverError::NotConnected`]; refusals.
    fn register(&mut self, hello: &Hello) -> Result<Registered, PserverError>;

    /// Returns the indices of functions.
    ///
    /// # Errors
    /// [`PserverError::Limit`]; [`PserverError::NotConnected`]; refusals.
    fn functions(
        &mut self,
        program: ProgramId,
        requests: &[FunctionRequest],
    ) -> Result<Vec<FuncId>, PserverError>;

    /// Sends a contribution, and returns the models that changed.
    ///
    /// # Errors
    /// [`PserverError::NotRegistered`] if the server does not know the instance;
    /// [`PserverError::NotConnected`] if it is unknown whether the server got the request; refusals.
    fn sync(&mut self, request: SyncRequest) -> Result<SyncReply, PserverError>;

    /// Returns the progress of a program's ranks ([`crate::ModelExchange::progress`]).
    ///
    /// # Errors
    /// [`PserverError::NotConnected`]; refusals.
    fn progress(&mut self, program: ProgramId, num_ranks: u32)
    -> Result<RunProgress, PserverError>;

    /// Releases the ranks.
    ///
    /// # Errors
    /// [`PserverError::NotConnected`]; refusals.
    fn goodbye(&mut self, instance: &str) -> Result<(), PserverError>;
}
