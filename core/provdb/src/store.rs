//! The interface of every store.

use std::fmt;
use std::ops::ControlFlow;

use callgrove_model::RunIdentity;

use crate::collection::Collection;
use crate::document::Document;
use crate::error::ProvDbError;
use crate::query::{Query, SqlTable};
use crate::read_bounds::ReadBounds;
use crate::run::{RUN_STATE, parse_run};

/// Number of documents fetched together: enough to amortize the round trip, few enough for memory.
const DOCUMENTS_PER_FETCH: usize = 64;

/// A provenance database, embedded or on a server.
///
/// Whatever a method acknowledges by `Ok` is on disk and survives `kill -9` of any process.
pub trait Store: Send {
    /// Stores documents: all or none of each shard. A document with a known key replaces the former one.
    ///
    /// # Errors
    /// A document is not a JSON object (then nothing is stored), the disk is full, or the place cannot be reached.
    fn put(&mut self, documents: &[Document]) -> Result<(), ProvDbError>;

    /// Removes the anomalies and normal executions of an I/O step of a rank that is about to be judged again.
    ///
    /// # Errors
    /// As [`Store::put`].
    fn forget_step(&mut self, program: u32, rank: u32, step: u32) -> Result<(), ProvDbError>;

    /// Removes documents of a rank, or of a global collection, by their keys, all or none; missing documents are ignored.
    ///
    /// # Errors
    /// As [`Store::put`].
    fn remove(
        &mut self,
        collection: Collection,
        rank: u32,
        keys: &[String],
    ) -> Result<(), ProvDbError>;

    /// Stores opaque bytes under names, replacing any former ones, and removes those without bytes: all or none.
    ///
    /// # Errors
    /// As [`Store::put`].
    fn change_states(&mut self, changes: &[StateChange<'_>]) -> Result<(), ProvDbError>;

    /// Stores opaque bytes under a name, replacing any former ones.
    ///
    /// # Errors
    /// As [`Store::put`].
    fn replace_state(&mut self, name: &str, bytes: &[u8]) -> Result<(), ProvDbError> {
        let bytes = Some(bytes);
        self.change_states(&[StateChange { name, bytes }])
    }

    /// Returns the bytes under a name, if there are any.
    ///
    /// # Errors
    /// The place cannot be read.
    fn state(&mut self, name: &str) -> Result<Option<Vec<u8>>, ProvDbError>;

    /// Returns the `__id`s of the documents that match a query, in its order, or by `__id` without one.
    ///
    /// # Errors
    /// The place cannot be read.
    fn find_ids(&mut self, query: &Query) -> Result<Vec<i64>, ProvDbError>;

    /// Returns the documents with these `__id`s, as JSON with `__id`, in this order; missing ones are left out.
    ///
    /// # Errors
    /// The place cannot be read.
    fn documents(
        &mut self,
        collection: Collection,
        ids: &[i64],
    ) -> Result<Vec<String>, ProvDbError>;

    /// Passes the documents that match a query to `take`, one after the other, until it breaks. Few of them are in
    /// memory at once.
    ///
    /// # Errors
    /// The place cannot be read; earlier documents have then already been passed.
    fn find_each(
        &mut self,
        query: &Query,
        take: &mut dyn FnMut(String) -> ControlFlow<()>,
    ) -> Result<(), ProvDbError> {
        let ids = self.find_ids(query)?;
        for ids in ids.chunks(DOCUMENTS_PER_FETCH) {
            let mut documents = self.documents(query.collection, ids)?.into_iter();
            if documents.try_for_each(&mut *take).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the documents that match a query, as JSON with `__id`, in its order or in that of `__id`.
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

    /// Returns the number of documents that match the filter of a query, regardless of its limit and offset.
    ///
    /// # Errors
    /// The place cannot be read.
    fn count(&mut self, query: &Query) -> Result<u64, ProvDbError>;

    /// Bounds the reads that follow; [`ReadBounds::interrupt`] ends them. Without a call, reads end with their answers,
    /// and plain SQL has [`ReadLimits::LOCAL`](crate::ReadLimits::LOCAL). On a remote store only the time is bounded
    /// here, since its server bounds the rest.
    fn bound_reads(&mut self, _bounds: &ReadBounds) {}

    /// Runs one SELECT over the collections. Each is a table with the columns `id`, `key`, `pid`, `rid`, `fid`, `func`,
    /// `event_id`, `io_step`, `entry`, `outlier_score`, `outlier_severity` and `doc` (the JSON); the rest is the
    /// engine's own SQL.
    ///
    /// # Errors
    /// The statement is invalid, does more than read, or exceeds its limits of time or size.
    fn find_plain_sql(&mut self, sql: &str) -> Result<SqlTable, ProvDbError>;

    /// Declares the run of the documents that follow, and returns all that the database knows of that run: its first
    /// writer determines it, later ones add ranks. Call it before the first document.
    ///
    /// # Errors
    /// [`ProvDbError::OtherRun`]; [`ProvDbError::UnknownRun`] for documents of an earlier release; as [`Store::put`].
    fn join_run(&mut self, run: &RunIdentity) -> Result<RunIdentity, ProvDbError>;

    /// Returns the run of the documents; `None` in an empty database and in one of an earlier release.
    ///
    /// # Errors
    /// The place cannot be read.
    fn run(&mut self) -> Result<Option<RunIdentity>, ProvDbError> {
        let bytes = self.state(RUN_STATE)?;
        bytes
            .map(|it| parse_run(&it, "the provenance database"))
            .transpose()
    }

    /// Claims a rank of a program for one AD instance, until the claim is dropped or the process dies.
    ///
    /// # Errors
    /// Another instance has it; the error names it.
    fn claim(&mut self, program: u32, rank: u32, instance: &str) -> Result<Claim, ProvDbError>;

    /// Says that nothing more is written, so that a server of the store that is to end does not wait for it.
    ///
    /// # Errors
    /// The server cannot be reached; it then waits a few seconds.
    fn leave(&mut self) -> Result<(), ProvDbError> {
        Ok(())
    }
}

/// What becomes of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChange<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its new bytes; `None` removes it.
    pub bytes: Option<&'a [u8]>,
}

/// An exclusive claim to write a rank, held until it is dropped.
#[must_use = "dropping a claim releases the rank"]
pub struct Claim {
    program: u32,
    rank: u32,
    _held: Box<dyn Send + Sync>,
}

impl Claim {
    /// Creates a claim that lasts as long as `held`, for other implementations of a store.
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

/// The access mode of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessMode {
    /// Reading and writing; a missing database is created.
    #[default]
    ReadWrite,
    /// Reading only, while others write and afterwards.
    ReadOnly,
}

/// Returns a URL without user, password and parameters, for messages.
pub fn without_secrets(url: &str) -> String {
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
