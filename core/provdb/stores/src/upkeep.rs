//! Maintenance of a database: backups, compaction, retention and format upgrades. These are tasks of an operator, not
//! of the pipeline.

use std::path::Path;

use callgrove_provdb::{AccessMode, ProvDbError, without_secrets};

use crate::options::OpenOptions;
use crate::postgres::PostgresStore;
pub use crate::retention::{RetentionMode, RetentionRules, RetentionSummary};
use crate::sqlite::upkeep;
pub use crate::sqlite::upkeep::{BackupSummary, CompactSummary, UpgradeSummary};

/// Copies the database in the folder `from` to the new folder `to`, while others write and read it. The copy gets its
/// name once it is complete, on disk and verified. Each file is copied as of one moment, the statistics first, so that
/// the copied statistics never count more than the copied records.
///
/// # Errors
/// The place is not a folder; `to`, or `to` with `.part`, already exists; the copy differs; files cannot be read or
/// written.
pub fn back_up(from: &str, to: &Path) -> Result<BackupSummary, ProvDbError> {
    let folder = folder(from, || {
        (
            format!(
                "use PostgreSQL's own tool: `pg_dump --format=custom --file=run.dump {}`, with the user and schema as in \
                 the URL, and `pg_restore` to read it back",
                without_secrets(from)
            ),
            "copy the folder that the server serves, on the server's machine; the server can continue meanwhile",
        )
    })?;
    upkeep::back_up(folder, to)
}

/// Returns the free space inside the files to the file system.
///
/// # Errors
/// The place is not a folder; [`ProvDbError::InUse`]; the disk has no space for a second copy of the largest file.
pub fn compact(place: &str) -> Result<CompactSummary, ProvDbError> {
    let folder = folder(place, || {
        (
            format!(
                "PostgreSQL reuses free space by itself; to have it done now, run `psql {} --command 'vacuum (analyze)'`",
                without_secrets(place)
            ),
            "stop the server, then compact the folder that it serves, on its machine",
        )
    })?;
    upkeep::compact(folder)
}

/// Upgrades a database of an older release to the newest format, and creates the tables that an older release did not
/// have.
///
/// # Errors
/// The place is not a folder; [`ProvDbError::InUse`]; [`ProvDbError::NewerFormat`]; files cannot be written.
pub fn upgrade(place: &str) -> Result<UpgradeSummary, ProvDbError> {
    let folder = folder(place, || {
        (
            "tables on PostgreSQL are upgraded by every command that opens them for writing, such as `callgrove \
             provdb`"
                .to_owned(),
            "stop the server, then upgrade the folder that it serves, on its machine",
        )
    })?;
    upkeep::upgrade(folder)
}

/// Counts or deletes the documents that match `rules`. Statistics, models, incidents, trends and metadata stay.
///
/// # Errors
/// Another process has the database open (a folder) or writes ranks (PostgreSQL); the place is a server or cannot be
/// written.
pub fn retain(
    place: &str,
    options: &OpenOptions,
    rules: &RetentionRules,
    mode: RetentionMode,
) -> Result<RetentionSummary, ProvDbError> {
    if place.starts_with("postgres://") || place.starts_with("postgresql://") {
        return retain_in_postgres(place, options, rules, mode);
    }
    let folder = folder(place, || {
        (
            String::new(),
            "stop the server, then do this to the folder or PostgreSQL database that it serves",
        )
    })?;
    upkeep::retain(folder, rules, mode)
}

fn retain_in_postgres(
    url: &str,
    options: &OpenOptions,
    rules: &RetentionRules,
    mode: RetentionMode,
) -> Result<RetentionSummary, ProvDbError> {
    // Opening for writing would create missing tables.
    let mut reading = options.clone();
    reading.mode = AccessMode::ReadOnly;
    drop(PostgresStore::open(url, &reading)?);
    PostgresStore::open(url, options)?.retain(rules, mode)
}

/// Returns the folder that `place` names, or an error with the alternative for PostgreSQL or a server.
fn folder(
    place: &str,
    remedies: impl FnOnce() -> (String, &'static str),
) -> Result<&Path, ProvDbError> {
    let Some((scheme, _)) = place.split_once("://") else {
        return Ok(Path::new(place));
    };
    let (of_postgres, of_server) = remedies();
    let remedy = match scheme {
        "postgres" | "postgresql" => of_postgres,
        _ => of_server.to_owned(),
    };
    Err(ProvDbError::NotForThisStore {
        remedy,
        place: without_secrets(place),
    })
}
