//! The embedded store: a folder of SQLite files.
//!
//! ```text
//! provdb.global.sqlite   func_stats, counter_stats, ad_model, incidents, trends, state, meta (format, number of shards)
//! provdb.<i>.sqlite      anomalies, normalexecs, metadata of the ranks with rank % shards = i
//! claims/<p>.<r>.lock    locked by the AD instance of rank r of program p
//! ```
//!
//! Every AD process opens the folder itself and writes only the shard of its rank; SQLite's locks serialize those that
//! share a shard. With `synchronous=FULL` in WAL mode, a commit returns when the log is on disk.

mod claim;
mod error;
mod files;
mod memory_watch;
mod plain_sql;
mod query_sql;
mod reader;
mod schema;
pub(crate) mod upkeep;
mod writer;

use std::path::{Path, PathBuf};

use callgrove_local::create_private_folder;
use callgrove_model::RunIdentity;
use callgrove_provdb::{
    AccessMode, Claim, Collection, Document, ProvDbError, Query, RUN_STATE, ReadBounds, ReadLimits,
    SqlTable, StateChange, Store, columns::Columns,
};

use crate::options::OpenOptions;
use crate::run;
use error::io_at;
use reader::{Reader, TempStore};
use writer::ShardFile;

/// Maximum number of shards of a database: a query attaches all of them to one connection.
pub(crate) const MAX_SHARDS: u32 = 64;

/// A provenance database in a folder.
pub struct SqliteStore {
    folder: PathBuf,
    num_shards: u32,
    /// The global file; `None` if opened for reading.
    global: Option<ShardFile>,
    /// One for each shard, opened on the first write to it.
    shards: Vec<Option<ShardFile>>,
    /// Opened on the first query.
    reader: Option<Reader>,
    /// The bounds of the following reads.
    bounds: Option<ReadBounds>,
}

impl SqliteStore {
    /// Opens the database in `folder`, and creates it first unless it is opened for reading.
    ///
    /// # Errors
    /// The folder cannot be read or written, has another number of shards than requested, or comes from a newer
    /// release.
    pub fn open(folder: &Path, options: &OpenOptions) -> Result<Self, ProvDbError> {
        if let Some(asked) = options.num_shards
            && !(1..=MAX_SHARDS).contains(&asked)
        {
            return Err(ProvDbError::BadNumShards(asked));
        }
        let (global, num_shards) = match options.mode {
            AccessMode::ReadOnly => (None, Reader::num_shards(folder, options.num_shards)?),
            AccessMode::ReadWrite => {
                create_private_folder(folder).map_err(io_at(folder))?;
                let (file, num_shards) = ShardFile::open_global(folder, options.num_shards)?;
                (Some(file), num_shards)
            }
        };
        Ok(Self {
            folder: folder.to_owned(),
            num_shards,
            global,
            shards: (0..num_shards).map(|_| None).collect(),
            reader: None,
            bounds: None,
        })
    }

    /// Returns the number of shards.
    pub fn num_shards(&self) -> u32 {
        self.num_shards
    }

    fn global(&mut self) -> Result<&mut ShardFile, ProvDbError> {
        self.global
            .as_mut()
            .ok_or_else(|| ProvDbError::ReadOnly(self.folder.display().to_string()))
    }

    fn shard(&mut self, index: u32) -> Result<&mut ShardFile, ProvDbError> {
        self.global()?;
        let slot = &mut self.shards[index as usize];
        match slot {
            Some(file) => Ok(file),
            None => Ok(slot.insert(ShardFile::open_shard(&self.folder, index, self.num_shards)?)),
        }
    }

    fn reader(&mut self) -> Result<&mut Reader, ProvDbError> {
        match &mut self.reader {
            Some(reader) => Ok(reader),
            slot @ None => {
                let mut reader = Reader::open(&self.folder, self.num_shards, TempStore::Files)?;
                if let Some(bounds) = &self.bounds {
                    reader.bound(bounds)?;
                }
                Ok(slot.insert(reader))
            }
        }
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // A read-only connection would keep SQLite from checkpointing the files.
        self.reader = None;
        let shards = self.shards.iter().flatten();
        shards.chain(&self.global).for_each(ShardFile::settle);
    }
}

impl Store for SqliteStore {
    fn put(&mut self, documents: &[Document]) -> Result<(), ProvDbError> {
        self.global()?;
        let mut global = Vec::new();
        let mut by_shard: Vec<Vec<(&Document, Columns)>> =
            (0..self.num_shards).map(|_| Vec::new()).collect();
        for document in documents {
            let columns = document.read_columns()?;
            let target = if document.collection.is_global() {
                &mut global
            } else {
                &mut by_shard[(document.rank % self.num_shards) as usize]
            };
            target.push((document, columns));
        }
        for (index, rows) in (0..).zip(&by_shard) {
            if !rows.is_empty() {
                self.shard(index)?.put(rows)?;
            }
        }
        if !global.is_empty() {
            self.global()?.put(&global)?;
        }
        Ok(())
    }

    fn forget_step(&mut self, program: u32, rank: u32, step: u32) -> Result<(), ProvDbError> {
        let index = rank % self.num_shards;
        self.shard(index)?.forget_step(program, rank, step)
    }

    fn remove(
        &mut self,
        collection: Collection,
        rank: u32,
        keys: &[String],
    ) -> Result<(), ProvDbError> {
        let file = if collection.is_global() {
            self.global()?
        } else {
            self.shard(rank % self.num_shards)?
        };
        file.remove(collection, keys)
    }

    fn change_states(&mut self, changes: &[StateChange<'_>]) -> Result<(), ProvDbError> {
        self.global()?.change_states(changes)
    }

    fn state(&mut self, name: &str) -> Result<Option<Vec<u8>>, ProvDbError> {
        self.reader()?.state(name)
    }

    fn find_ids(&mut self, query: &Query) -> Result<Vec<i64>, ProvDbError> {
        self.reader()?.find_ids(query)
    }

    fn documents(
        &mut self,
        collection: Collection,
        ids: &[i64],
    ) -> Result<Vec<String>, ProvDbError> {
        self.reader()?.documents(collection, ids)
    }

    fn count(&mut self, query: &Query) -> Result<u64, ProvDbError> {
        self.reader()?.count(query)
    }

    fn bound_reads(&mut self, bounds: &ReadBounds) {
        self.bounds = Some(bounds.clone());
        // A reader that cannot take bounds is reopened by the next query, which then fails.
        if let Some(reader) = &mut self.reader
            && reader.bound(bounds).is_err()
        {
            self.reader = None;
        }
    }

    fn find_plain_sql(&mut self, sql: &str) -> Result<SqlTable, ProvDbError> {
        let Some(bounds) = self.bounds.clone() else {
            let bounds = ReadBounds::new(ReadLimits::LOCAL);
            return self.reader()?.find_plain_sql(sql, &bounds);
        };
        // Temporary data must be in memory, whose size is bounded, instead of files.
        let mut reader = Reader::open(&self.folder, self.num_shards, TempStore::Memory)?;
        reader.find_plain_sql(sql, &bounds)
    }

    fn join_run(&mut self, run: &RunIdentity) -> Result<RunIdentity, ProvDbError> {
        self.global()?;
        let has_documents = run::has_unknown_documents(self)?;
        let place = self.folder.display().to_string();
        let join = |stored: Option<&[u8]>| run::join(stored, has_documents, run, &place);
        self.global()?.change_state(RUN_STATE, join)
    }

    fn claim(&mut self, program: u32, rank: u32, instance: &str) -> Result<Claim, ProvDbError> {
        self.global()?;
        claim::claim(&self.folder, program, rank, instance)
    }
}

/// Returns whether a folder holds an embedded database.
pub fn is_database(folder: &Path) -> bool {
    files::global_path(folder).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgrove_provdb::Collection;

    fn document(index: usize) -> Document {
        let json = format!("{{\"fid\":{index},\"text\":\"{}\"}}", "x".repeat(20_000));
        Document::from_json(Collection::Anomalies, 0, index.to_string(), json)
    }

    /// Bounds the number of pages, like a full disk.
    fn bound(store: &mut SqliteStore, num_pages: u32) {
        let shard = store.shard(0).expect("opened");
        let set = format!("pragma max_page_count = {num_pages}");
        shard.connection.execute_batch(&set).expect("set");
    }

    #[test]
    fn a_full_disk_is_reported_and_writing_continues_once_there_is_space() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = SqliteStore::open(folder.path(), &OpenOptions::default()).expect("made");
        bound(&mut store, 100);
        let mut num_acknowledged = 0;
        let error = loop {
            let pair = [document(num_acknowledged), document(num_acknowledged + 1)];
            match store.put(&pair) {
                Ok(()) => num_acknowledged += 2,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, ProvDbError::DiskFull { .. }), "{error:?}");
        let message = error.to_string();
        assert!(
            message.contains("free some space") && message.contains("provdb.0.sqlite"),
            "{message}"
        );
        let everything = Query::all(Collection::Anomalies);
        assert!(num_acknowledged > 0);
        assert_eq!(
            store.count(&everything).expect("counted"),
            num_acknowledged as u64
        );

        bound(&mut store, 10_000);
        store
            .put(&[document(num_acknowledged)])
            .expect("there is space again");
        let found = store.find(&everything).expect("found");
        for (index, json) in found.iter().enumerate() {
            assert!(json.contains(&format!("\"fid\":{index},")), "{index}");
        }
        assert_eq!(found.len(), num_acknowledged + 1);
    }
}
