//! What every store does, and what is said to open one.

use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;

use callgrove_model::RunIdentity;

use crate::{Collection, Document, ProvDbError, Query, ReadBounds, SqlTable, run};

/// Documents that are fetched together: enough to make the way worth it, few enough for memory.
const NUM_AT_ONCE: usize = 64;

/// A provenance database, embedded or on a server.
///
/// Whatever a method acknowledges by returning `Ok` is on disk and survives `kill -9` of any process.
pub trait Store: Send {
    /// Stores documents: all or none of each shard. A document with a known key replaces the former one.
    ///
    /// # Errors
    /// A document is not a JSON object (then nothing is stored), the disk is full, or the place cannot be reached.
    fn put(&mut self, documents: &[Document]) -> Result<(), ProvDbError>;

    /// Removes the anomalies and normal executions of an I/O step of a rank, which is about to be judged anew.
    ///
    /// # Errors
    /// As [`Store::put`].
    fn forget_step(&mut self, program: u32, rank: u32, step: u32) -> Result<(), ProvDbError>;

    /// Removes documents of a rank by their keys, all or none; what is not there is not missed.
    ///
    /// # Errors
    /// As [`Store::put`].
    fn remove(
        &mut self,
        collection: Collection,
        rank: u32,
        keys: &[String],
    ) -> Result<(), ProvDbError>;

    /// Stores opaque bytes under a name, in place of what was there.
    ///
    /// # Errors
    /// As [`Store::put`].
    fn replace_state(&mut self, name: &str, bytes: &[u8]) -> Result<(), ProvDbError>;

    /// The bytes under a name, if there are any.
    ///
    /// # Errors
    /// The place cannot be read.
    fn state(&mut self, name: &str) -> Result<Option<Vec<u8>>, ProvDbError>;

    /// The `__id`s of the documents that a query asks for, in its order or in their own.
    ///
    /// # Errors
    /// The place cannot be read.
    fn find_ids(&mut self, query: &Query) -> Result<Vec<i64>, ProvDbError>;

    /// The documents with these `__id`s, as JSON with `__id`, in this order; what is not there is left out.
    ///
    /// # Errors
    /// The place cannot be read.
    fn documents(
        &mut self,
        collection: Collection,
        ids: &[i64],
    ) -> Result<Vec<String>, ProvDbError>;

    /// Gives the documents that a query asks for to `take`, one after the other, until it breaks off. Few of them are
    /// in memory at once.
    ///
    /// # Errors
    /// The place cannot be read; what was given before stays given.
    fn find_each(
        &mut self,
        query: &Query,
        take: &mut dyn FnMut(String) -> ControlFlow<()>,
    ) -> Result<(), ProvDbError> {
        let ids = self.find_ids(query)?;
        for ids in ids.chunks(NUM_AT_ONCE) {
            let mut documents = self.documents(query.collection, ids)?.into_iter();
            if documents.try_for_each(&mut *take).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The documents that a query asks for, as JSON with `__id`, in its order or in that of `__id`.
    ///
    /// # Errors
    /// The place cannot be read.
    fn find(&mut self, query: &Query) -> Result<Vec<String>, ProvDbError> {
        let mut found = Vec::new();
        self.find_each(query, &mut |document| {
            found.push(document);
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    /// How many documents match the filter of a query, whatever its limit and offset.
    ///
    /// # Errors
    /// The place cannot be read.
    fn count(&mut self, query: &Query) -> Result<u64, ProvDbError>;

    /// Bounds the reads that follow, which [`ReadBounds::interrupt`] then ends. Without a call, reads end with their
    /// answers, and plain SQL has [`ReadLimits::LOCAL`](crate::ReadLimits::LOCAL). Of a store elsewhere it bounds the
    /// time only, for its server bounds the rest.
    fn bound_reads(&mut self, _bounds: &ReadBounds) {}

    /// Answers one SELECT over the collections. Each is a table with the columns `id`, `key`, `pid`, `rid`, `fid`,
    /// `func`, `event_id`, `io_step`, `entry`, `outlier_score`, `outlier_severity` and `doc` (the JSON); the rest is
    /// the engine's own SQL.
    ///
    /// # Errors
    /// The statement does not read, is wrong, runs for too long or answers too much.
    fn find_plain_sql(&mut self, sql: &str) -> Result<SqlTable, ProvDbError>;

    /// Says which run the documents that follow are of, and tells all that the database knows of that run: its first
    /// writer determines it, later ones add ranks. Call it before the first document.
    ///
    /// # Errors
    /// [`ProvDbError::OtherRun`]; [`ProvDbError::UnknownRun`] for documents of an earlier release; as [`Store::put`].
    fn join_run(&mut self, run: &RunIdentity) -> Result<RunIdentity, ProvDbError>;

    /// The run that the documents are of; none in an empty database and in one of an earlier release.
    ///
    /// # Errors
    /// The place cannot be read.
    fn run(&mut self) -> Result<Option<RunIdentity>, ProvDbError> {
        let bytes = self.state(run::STATE)?;
        bytes
            .map(|it| run::parse(&it, "the provenance database"))
            .transpose()
    }

    /// Claims a rank of a program for one AD instance, until the claim is dropped or the process dies.
    ///
    /// # Errors
    /// Another instance has it; the error tells which.
    fn claim(&mut self, program: u32, rank: u32, instance: &str) -> Result<Claim, ProvDbError>;
}

/// A rank that no other AD instance may write as long as this lives.
#[must_use = "dropping a claim gives the rank back"]
pub struct Claim {
    program: u32,
    rank: u32,
    _held: Box<dyn Send + Sync>,
}

impl Claim {
    /// A claim that lasts as long as `held`; for who writes a store of their own.
    pub fn new(program: u32, rank: u32, held: impl Send + Sync + 'static) -> Self {
        Self {
            program,
            rank,
            _held: Box::new(held),
        }
    }

    /// Program.
    pub fn program(&self) -> u32 {
        self.program
    }

    /// Rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Claim({}:{})", self.program, self.rank)
    }
}

/// What a store is opened for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessMode {
    /// Reading and writing; what is not there yet is made.
    #[default]
    ReadWrite,
    /// Reading only, while others write and after.
    ReadOnly,
}

/// How a store is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// For what.
    pub mode: AccessMode,
    /// Number of SQLite shards, 1 to 64. None adopts that of an existing database and makes a new one with a single
    /// shard; an existing database with another number is refused. Servers take no notice of it.
    pub num_shards: Option<u32>,
    /// For servers: `http(s)://` and, of it, the certificates also for `postgres://`.
    pub remote: RemoteOptions,
}

/// How a server is reached.
#[derive(Clone, Debug, Default)]
pub struct RemoteOptions {
    /// What the server is shown.
    #[cfg(feature = "net")]
    pub credential: Option<callgrove_net::Credential>,
    /// Certificates (PEM) that sign the server's, in place of the well-known ones.
    pub ca_file: Option<PathBuf>,
}

/// A URL without user, password and parameters, for messages.
pub(crate) fn without_secrets(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    format!("{scheme}://{place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_hold_no_secrets() {
        let url = "postgres://me:p@ss@db:5432/run?password=x";
        assert_eq!(without_secrets(url), "postgres://db:5432/run");
    }
}
