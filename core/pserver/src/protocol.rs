//! The messages between an AD instance and the server, as plain values; `net` carries them over gRPC.

use std::sync::{Arc, OnceLock};

use callgrove_detect::FuncModel;
use callgrove_model::{FuncId, ProgramId};

use crate::functions::FunctionRequest;
use crate::{Contribution, Hello, PserverError, RunProgress, TreeModelUpdate, Welcome};

/// An instance counts as dead when nothing was heard of it for so long; its ranks are free then.
pub const LEASE_MS: u64 = 10_000;

/// The server's answer to a [`Hello`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registered {
    /// What the AD instance wants to know.
    pub welcome: Welcome,
    /// Which life of the server this is; another one may have lost what it was told before.
    pub epoch: u64,
    /// The last request of this instance that the server's state holds; 0 if it holds none.
    pub last_sequence: u64,
    /// What the server still knows when it is started again.
    pub retention: Retention,
}

/// What a server still knows when it is started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    /// It ends with its clients, for they are in the same process.
    Process,
    /// Nothing: clients tell it again all that they have ever told.
    #[default]
    Nothing,
    /// What it has saved: clients tell it again what came later.
    Saved,
}

/// What an instance adds, and what it has.
#[derive(Clone, Debug, PartialEq)]
pub struct SyncRequest {
    /// The instance.
    pub instance: String,
    /// The life of the server with which it registered.
    pub epoch: u64,
    /// Counts the requests of the instance from 1. A number seen before is a repetition and not merged
    /// again; 0 with nothing to add asks for models only.
    pub sequence: u64,
    /// Up to where the instance has the models.
    pub cursor: Cursor,
    /// What is new; the session keeps it until it has an answer.
    pub contribution: Arc<Contribution>,
    /// The generation of the tree models that the instance has.
    pub tree_generation: u64,
}

/// A place in the list of models, ordered by the version of their last change and then by function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// Version of the global model.
    pub version: u64,
    /// The last function of that version.
    pub fid: FuncId,
}

/// A model of the server, the same for all who get it.
#[derive(Clone, Debug)]
pub struct PublishedModel {
    /// Of which function.
    pub fid: FuncId,
    /// The model.
    pub model: Arc<FuncModel>,
    coded: CodedModel,
}

/// A model as a message, once anybody has asked for that.
#[derive(Clone, Debug, Default)]
pub struct CodedModel(Arc<OnceLock<Vec<u8>>>);

/// The models that changed since the request's cursor.
#[derive(Clone, Debug, Default)]
pub struct SyncReply {
    /// Version of the global model that the models are of.
    pub version: u64,
    /// The first version that holds what the request added.
    pub included_in: u64,
    /// The last version that survives a restart of the server.
    pub saved_version: u64,
    /// In order of version and function.
    pub models: Vec<PublishedModel>,
    /// For the next request.
    pub cursor: Cursor,
    /// There are more models than one answer holds: ask again.
    pub more: bool,
    /// Tree models that came into force, or went out of it, since the request's generation; those that do not fit come
    /// with the next answer.
    pub tree_models: Vec<TreeModelUpdate>,
    /// For the next request.
    pub tree_generation: u64,
}

impl PublishedModel {
    /// Nobody has asked for its message yet.
    pub fn new(fid: FuncId, model: Arc<FuncModel>) -> Self {
        Self::with_code(fid, model, CodedModel::default())
    }

    /// With what others who got it have made of it.
    pub(crate) fn with_code(fid: FuncId, model: Arc<FuncModel>, coded: CodedModel) -> Self {
        Self { fid, model, coded }
    }

    /// The model as a message, made for the first who asks.
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

/// How requests travel. An implementation neither repeats requests nor keeps data: [`crate::ExchangeSession`] does.
pub trait Transport: Send {
    /// A call of the AD instance begins: deadlines count from here.
    fn begin_call(&mut self);

    /// Whether a request has a chance; must not block.
    fn is_up(&self) -> bool;

    /// The error [`PserverError::NotConnected`], with the cause.
    fn absence(&self) -> PserverError;

    /// Announces the instance.
    ///
    /// # Errors
    /// [`PserverError::RankTaken`]; [`PserverError::NotConnected`]; refusals.
    fn register(&mut self, hello: &Hello) -> Result<Registered, PserverError>;

    /// Indices of functions.
    ///
    /// # Errors
    /// [`PserverError::Limit`]; [`PserverError::NotConnected`]; refusals.
    fn functions(
        &mut self,
        program: ProgramId,
        requests: &[FunctionRequest],
    ) -> Result<Vec<FuncId>, PserverError>;

    /// Adds and asks.
    ///
    /// # Errors
    /// [`PserverError::NotRegistered`] if the server does not know the instance;
    /// [`PserverError::NotConnected`] if it is unknown whether the server got the request; refusals.
    fn sync(&mut self, request: SyncRequest) -> Result<SyncReply, PserverError>;

    /// How far the instances of a program are that has so many ranks, as far as anybody knows.
    ///
    /// # Errors
    /// [`PserverError::NotConnected`]; refusals.
    fn progress(&mut self, program: ProgramId, num_ranks: u32)
    -> Result<RunProgress, PserverError>;

    /// Frees the ranks.
    ///
    /// # Errors
    /// [`PserverError::NotConnected`]; refusals.
    fn goodbye(&mut self, instance: &str) -> Result<(), PserverError>;
}
