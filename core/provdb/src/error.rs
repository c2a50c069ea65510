//! Errors of a provenance database.

use callgrove_model::RunMismatch;

use crate::collection::{Collection, UnknownCollection};
use crate::query::{FilterError, UnknownField};

/// An error of a provenance database, with its remedy and place.
#[derive(Debug, thiserror::Error)]
pub enum ProvDbError {
    /// The name is not that of a collection.
    #[error(transparent)]
    UnknownCollection(#[from] UnknownCollection),
    /// The location of a database is invalid.
    #[error("{cause}: give a folder, postgres://… or http(s)://host:port, not {url}")]
    BadUrl {
        /// The problem.
        cause: String,
        /// The location, without secrets.
        url: String,
    },
    /// The document is invalid for every store.
    #[error("{cause}: fix the document {key} of {collection}")]
    BadDocument {
        /// The problem.
        cause: String,
        /// Its collection.
        collection: Collection,
        /// Its key.
        key: String,
    },
    /// The database exists with another number of shards.
    #[error(
        "the database has {found} shards, not {asked}: omit the number, or use another folder than {place}"
    )]
    NumShards {
        /// The stored number.
        found: u32,
        /// The requested number.
        asked: u32,
        /// The database.
        place: String,
    },
    /// The number of shards is out of range.
    #[error("{0} shards: use 1 to 64")]
    BadNumShards(u32),
    /// There is no database to read.
    #[error(
        "no provenance database yet: let an AD instance write first, or use another place than {0}"
    )]
    Missing(String),
    /// Written by a newer release.
    #[error(
        "format {found} is newer than {known}: use a newer release of this program for {place}"
    )]
    NewerFormat {
        /// The stored format.
        found: u32,
        /// The newest that this release reads.
        known: u32,
        /// The database.
        place: String,
    },
    /// The database was written by an older release, in a format that this one cannot read directly.
    #[error("format {found} is older than {known}: run `callgrove provdb upgrade` {place}")]
    OlderFormat {
        /// The stored format.
        found: u32,
        /// The newest format of this release.
        known: u32,
        /// The database.
        place: String,
    },
    /// Another process has the database open, but the operation needs exclusive access.
    #[error(
        "another process has the database open: stop the processes that use it (`callgrove run`, `ad`, `pserver`, \
         `provdb`, `query`, or a window), then try again; in {0}"
    )]
    InUse(String),
    /// The target of a new database already exists.
    #[error("the target already exists: remove it, or use another place than {0}")]
    Exists(String),
    /// The task does not apply to this kind of database; the error names an alternative.
    #[error("this works on the folder of a database, not on {place}: {remedy}")]
    NotForThisStore {
        /// The alternative.
        remedy: String,
        /// The location, without secrets.
        place: String,
    },
    /// The database was opened for reading only.
    #[error("opened read-only: open it for writing to change {0}")]
    ReadOnly(String),
    /// No space is left on the disk.
    #[error(
        "no space left on the disk ({cause}): free some space, then write again; all acknowledged data are safe in {place}"
    )]
    DiskFull {
        /// The system's message.
        cause: String,
        /// The file or server.
        place: String,
    },
    /// Other processes kept it locked past the timeout.
    #[error("locked by other processes past the timeout: write again, or use more shards in {0}")]
    Busy(String),
    /// The engine failed.
    #[error("{cause}: {place}")]
    Database {
        /// The engine's message.
        cause: String,
        /// The file or server.
        place: String,
    },
    /// A file is damaged by another writer or by the disk.
    #[error(
        "{cause}: the database is damaged in {place}; save what is left (`sqlite3 FILE .recover` reads what it can), \
         remove the database, and record the run again from its traces with `callgrove run`"
    )]
    Damaged {
        /// The engine's message.
        cause: String,
        /// The file or server.
        place: String,
    },
    /// The server did not answer in time.
    #[error("{cause}: check that it runs and can be reached: {place}")]
    Unreachable {
        /// The last failure.
        cause: String,
        /// The server.
        place: String,
    },
    /// The database belongs to another run.
    #[error(
        "the provenance database belongs to another run: it has {}, and this is {}; {}. Name another folder or database \
         than {place}, or remove it first",
        mismatch.known, mismatch.other, mismatch.reason
    )]
    OtherRun {
        /// Both runs.
        mismatch: RunMismatch,
        /// The database.
        place: String,
    },
    /// The database has documents but does not identify their run.
    #[error(
        "the provenance database has records of an earlier release, which do not identify their run: read them as before, \
         and name another folder or database than {0} to write to"
    )]
    UnknownRun(String),
    /// Another AD instance writes the same rank.
    #[error(
        "{holder} already writes rank {rank} of program {program}: stop it, or give this one its own rank; in {place}"
    )]
    Claimed {
        /// The other instance's name.
        holder: String,
        /// Program.
        program: u32,
        /// Rank.
        rank: u32,
        /// The database.
        place: String,
    },
    /// The claim was lost while the connection was down.
    #[error(
        "another instance took rank {rank} of program {program} while the connection was down: stop one of the two; in {place}"
    )]
    ClaimLost {
        /// Program.
        program: u32,
        /// Rank.
        rank: u32,
        /// The database.
        place: String,
    },
    /// The system cannot start another thread.
    #[error("{0}: cannot start the thread of a store; check the limit on processes (`ulimit -u`)")]
    Thread(std::io::Error),
    /// A filter, sort order or plain SQL is invalid.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// Plain SQL that fails, or is not a SELECT.
    #[error("{0}: write one SELECT over the collections")]
    PlainSql(String),
    /// A queried field is neither in the schema of the collection nor in any document.
    #[error(transparent)]
    UnknownField(#[from] UnknownField),
    /// The server does not allow plain SQL.
    #[error(
        "this server does not answer plain SQL: its operator can allow it with `callgrove provdb … --allow-sql`; query by \
         collection, --where and --sort instead, or read the database directly, in {0}"
    )]
    SqlNotAllowed(String),
    /// Reading took longer than its limit.
    #[error("the answer takes longer than {limit_s} s: narrow the filter, or omit --sort")]
    TooSlow {
        /// The limit in seconds.
        limit_s: u64,
    },
    /// The answer is too large for memory.
    #[error(
        "the answer has {found} {what}, more than {most}: request fewer columns or rows (LIMIT)"
    )]
    AnswerTooLarge {
        /// The counted items.
        what: String,
        /// The number when reading stopped.
        found: u64,
        /// The limit.
        most: u64,
    },
    /// Reading was cancelled before its answer was complete.
    #[error(
        "the request was cancelled, because its client is gone or the server is stopping: try again"
    )]
    Interrupted,
    /// The data are too large for memory or a message.
    #[error("{what} has {found_bytes} bytes, more than {most_bytes}: {remedy}")]
    TooLarge {
        /// The data.
        what: String,
        /// Their size.
        found_bytes: u64,
        /// The limit.
        most_bytes: u64,
        /// The remedy.
        remedy: &'static str,
    },
}

impl ProvDbError {
    /// Returns true if the error is in a document, which no store will ever accept, and not in the store.
    pub fn is_of_document(&self) -> bool {
        matches!(self, Self::BadDocument { .. } | Self::TooLarge { .. })
    }

    /// Returns true if the store will never accept data from this client, however long it retries.
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            Self::OtherRun { .. }
                | Self::UnknownRun(_)
                | Self::ClaimLost { .. }
                | Self::Claimed { .. }
                | Self::ReadOnly(_)
                | Self::NewerFormat { .. }
                | Self::OlderFormat { .. }
                | Self::Damaged { .. }
        )
    }
}
