//! What can go wrong with a provenance database.

use callgrove_model::RunMismatch;

use crate::{Collection, FilterError, UnknownCollection, UnknownField};

/// Why a provenance database did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ProvDbError {
    /// A collection's name is not one of the schemas'.
    #[error(transparent)]
    UnknownCollection(#[from] UnknownCollection),
    /// The place of a database is not understood.
    #[error("{cause}: give a folder, postgres://… or http(s)://host:port, not {url}")]
    BadUrl {
        /// What is wrong with it.
        cause: String,
        /// The place, without secrets.
        url: String,
    },
    /// This program was built without that kind of store.
    #[error("this program was built without the feature `{feature}`, which {url} needs")]
    NotBuilt {
        /// Feature of this crate.
        feature: &'static str,
        /// The place, without secrets.
        url: String,
    },
    /// A document that no store takes.
    #[error("{cause}: mend the document {key} of {collection}")]
    BadDocument {
        /// What is wrong with it.
        cause: String,
        /// Where it should go.
        collection: Collection,
        /// Its key.
        key: String,
    },
    /// The database exists with another number of shards.
    #[error(
        "the database has {found} shards, not {asked}: leave the number out, or name another folder than {place}"
    )]
    NumShards {
        /// As stored.
        found: u32,
        /// As asked for.
        asked: u32,
        /// The database.
        place: String,
    },
    /// A number of shards out of bounds.
    #[error("{0} shards: take between 1 and 64")]
    BadNumShards(u32),
    /// There is nothing to read.
    #[error(
        "no provenance database yet: let an AD instance write first, or name another place than {0}"
    )]
    Missing(String),
    /// Written by a newer release.
    #[error(
        "format {found} is newer than {known}: use a newer release of this program for {place}"
    )]
    NewerFormat {
        /// As stored.
        found: u32,
        /// The newest that this release reads.
        known: u32,
        /// The database.
        place: String,
    },
    /// Written by an older release, in a layout that this one does not read as it is.
    #[error(
        "format {found} is older than {known}: bring it up to date by `callgrove provdb upgrade` {place}"
    )]
    OlderFormat {
        /// As stored.
        found: u32,
        /// The newest that this release reads.
        known: u32,
        /// The database.
        place: String,
    },
    /// Another process has the database open, and what was asked for needs it alone.
    #[error(
        "another process has the database open: end what uses it (`callgrove run`, `ad`, `pserver`, `provdb`, `query`, or a \
         window), then try again; in {0}"
    )]
    InUse(String),
    /// Something is where a new database is to be written.
    #[error("there is something already: remove it, or name another place than {0}")]
    Exists(String),
    /// A task that is not done on this kind of database, and what to do instead.
    #[error("this works on the folder of a database, not on {place}: {remedy}")]
    NotForThisStore {
        /// What to do instead.
        remedy: String,
        /// The place, without secrets.
        place: String,
    },
    /// A write to a database that was opened for reading.
    #[error("opened for reading only: open it for writing to change {0}")]
    ReadOnly(String),
    /// No room left.
    #[error(
        "no room left on the disk ({cause}): make room, then write again; all that was acknowledged is safe in {place}"
    )]
    DiskFull {
        /// The system's words.
        cause: String,
        /// The file or server.
        place: String,
    },
    /// Others kept it locked for too long.
    #[error("locked by other processes for too long: write again, or use more shards in {0}")]
    Busy(String),
    /// The engine refused.
    #[error("{cause}: {place}")]
    Database {
        /// The engine's words.
        cause: String,
        /// The file or server.
        place: String,
    },
    /// A file that somebody else has written to, or that a disk has lost.
    #[error(
        "{cause}: the database is damaged in {place}; save what is left (`sqlite3 FILE .recover` reads what it can), \
         remove the database, and record the run again, as `callgrove run` does from its traces"
    )]
    Damaged {
        /// The engine's words.
        cause: String,
        /// The file or server.
        place: String,
    },
    /// The server did not answer in time.
    #[error("{cause}: see whether it runs and can be reached: {place}")]
    Unreachable {
        /// What happened last.
        cause: String,
        /// The server.
        place: String,
    },
    /// The database is of another run.
    #[error(
        "the provenance database is of another run: it has {}, and this is {}; {}. Name another folder or database \
         than {place}, or remove it first",
        mismatch.known, mismatch.other, mismatch.reason
    )]
    OtherRun {
        /// Both runs.
        mismatch: RunMismatch,
        /// The database.
        place: String,
    },
    /// The database has documents, and does not say of which run.
    #[error(
        "the provenance database has records and does not say of which run, for an earlier release wrote them: read \
         them as before, and name another folder or database than {0} to write to"
    )]
    UnknownRun(String),
    /// Another AD instance writes the same rank.
    #[error(
        "{holder} writes rank {rank} of program {program} already: stop it, or give this one its own rank; in {place}"
    )]
    Claimed {
        /// The other instance, as it named itself.
        holder: String,
        /// Program.
        program: u32,
        /// Rank.
        rank: u32,
        /// The database.
        place: String,
    },
    /// A claim did not survive a break of the connection.
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
    /// The system gives no thread to a store.
    #[error("{0}: cannot start the thread of a store; check the limit on processes (`ulimit -u`)")]
    Thread(std::io::Error),
    /// A filter, sort order or plain SQL that is not understood.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// Plain SQL that does something else than read, or fails.
    #[error("{0}: write one SELECT over the collections")]
    PlainSql(String),
    /// A field of a query that neither the schema of the collection nor any document has.
    #[error(transparent)]
    UnknownField(#[from] UnknownField),
    /// Plain SQL for a server that does not answer it.
    #[error(
        "this server does not answer plain SQL: its operator allows that by `callgrove provdb … --allow-sql`; ask by \
         collection, --where and --sort instead, or read the database itself, in {0}"
    )]
    SqlNotAllowed(String),
    /// Reading took longer than it may.
    #[error(
        "the answer takes longer than {limit_s} s: ask for less, by a narrower filter or without --sort"
    )]
    TooSlow {
        /// Longest that it may take.
        limit_s: u64,
    },
    /// An answer that does not fit into memory.
    #[error(
        "the answer has {found} {what}, more than {most}: ask for fewer columns or rows (LIMIT)"
    )]
    AnswerTooLarge {
        /// What it has too many of.
        what: String,
        /// Their number when reading ended.
        found: u64,
        /// The bound.
        most: u64,
    },
    /// Reading was ended before its answer was complete.
    #[error("the request was cancelled, because its client has gone or the server ends: ask again")]
    Interrupted,
    /// More than fits into memory or a message.
    #[error("{what} has {found_bytes} bytes, more than {most_bytes}: {remedy}")]
    TooLarge {
        /// What it is.
        what: String,
        /// Its size.
        found_bytes: u64,
        /// The bound.
        most_bytes: u64,
        /// What to do.
        remedy: &'static str,
    },
}

impl ProvDbError {
    /// Whether it lies in a document, which no store will ever take, and not in the store.
    pub fn is_of_document(&self) -> bool {
        matches!(self, Self::BadDocument { .. } | Self::TooLarge { .. })
    }

    /// Whether the store will never take anything from whoever got this, however long that one waits.
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
