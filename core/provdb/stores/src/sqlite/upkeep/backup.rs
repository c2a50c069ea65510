//! Copies a database while others use it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use callgrove_provdb::{Collection, ProvDbError};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::super::error::{at, io_at};
use super::super::files::{global_path, shard_path};
use super::super::reader::{Reader, connect};
use super::super::schema;
use super::exclusive::size_bytes;

/// A completed copy of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupSummary {
    /// The number of documents in each collection, equal in the copy and in the original.
    pub documents: Vec<(Collection, u64)>,
    /// The size of the copied files.
    pub size_bytes: u64,
}

/// The number of documents in each collection of a file.
type Counts = Vec<(Collection, u64)>;

/// Copies all files of `from` to a temporary folder, verifies them, and renames the folder to `to`.
pub(crate) fn back_up(from: &Path, to: &Path) -> Result<BackupSummary, ProvDbError> {
    let num_shards = Reader::num_shards(from, None)?;
    let exists = |path: &Path| ProvDbError::Exists(path.display().to_string());
    if to.symlink_metadata().is_ok() {
        return Err(exists(to));
    }
    let mut part_name = to.file_name().unwrap_or_default().to_os_string();
    part_name.push(".part");
    let part = to.with_file_name(part_name);
    fs::create_dir_all(parent_of(to)).map_err(io_at(to))?;
    fs::create_dir(&part).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(&part),
        _ => io_at(&part)(error),
    })?;
    let copied = copy_all(from, &part, num_shards).and_then(|summary| {
        // A folder created meanwhile is not replaced, unless it is empty.
        fs::rename(&part, to).map_err(io_at(to))?;
        sync(parent_of(to))?;
        Ok(summary)
    });
    if copied.is_err() {
        fs::remove_dir_all(&part).ok();
    }
    copied
}

fn copy_all(from: &Path, part: &Path, num_shards: u32) -> Result<BackupSummary, ProvDbError> {
    let shards = |folder: &Path| {
        let paths = (0..num_shards).map(|index| shard_path(folder, index));
        // The statistics first: records are stored before they are counted.
        std::iter::once(global_path(folder)).chain(paths).collect()
    };
    let (sources, targets): (Vec<PathBuf>, Vec<PathBuf>) = (shards(from), shards(part));
    let mut documents = Collection::ALL.map(|collection| (collection, 0)).to_vec();
    for (source, target) in sources.iter().zip(&targets) {
        let expected = copy(source, target)?;
        let found = verified_counts(target)?;
        if found != expected {
            return Err(ProvDbError::Damaged {
                cause: format!("the copy has {found:?} documents, not {expected:?}"),
                place: target.display().to_string(),
            });
        }
        sync(target)?;
        for (collection, number) in found {
            for sum in documents.iter_mut().filter(|it| it.0 == collection) {
                sum.1 += number;
            }
        }
    }
    sync(part)?;
    Ok(BackupSummary {
        documents,
        size_bytes: size_bytes(&targets),
    })
}

/// Copies a file as of one moment; the counts are of the same moment.
fn copy(source: &Path, target: &Path) -> Result<Counts, ProvDbError> {
    let (from_source, to_target) = (at(source), io_at(target));
    let reader = connect(source)?;
    reader.execute_batch("begin").map_err(&from_source)?;
    let counts = counts(&reader).map_err(&from_source)?;
    // Restrict the permissions before there is any content.
    let permissions = fs::metadata(source).map_err(io_at(source))?.permissions();
    let file = File::create_new(target).map_err(&to_target)?;
    file.set_permissions(permissions).map_err(&to_target)?;
    let mut writer = open(target).map_err(at(target))?;
    let all_pages = -1;
    let mut step = || Backup::new(&reader, &mut writer)?.step(all_pages);
    // The pages of a damaged file are copied as they are, so an error is a write error.
    match step().map_err(at(target))? {
        StepResult::Done => Ok(counts),
        _ => Err(ProvDbError::Busy(source.display().to_string())),
    }
}

/// Returns the document counts of a copy, if it is intact.
fn verified_counts(target: &Path) -> Result<Counts, ProvDbError> {
    let verify = || {
        let connection = open(target)?;
        // Then the log needs no shared memory, which network file systems lack.
        connection.pragma_update(None, "locking_mode", "exclusive")?;
        let sql = "pragma integrity_check(1)";
        let outcome: String = connection.query_row(sql, (), |row| row.get(0))?;
        Ok((counts(&connection)?, outcome))
    };
    let (counts, outcome) = verify().map_err(at(target))?;
    if outcome == "ok" {
        return Ok(counts);
    }
    Err(ProvDbError::Damaged {
        cause: format!(
            "the integrity check of the copy, and so of the original, failed: {outcome}"
        ),
        place: target.display().to_string(),
    })
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

fn counts(connection: &Connection) -> rusqlite::Result<Counts> {
    let mut counts = Vec::new();
    for collection in Collection::ALL {
        if schema::has_table(connection, collection.name())? {
            let sql = format!("select count(*) from {collection}");
            let number: i64 = connection.query_row(&sql, (), |row| row.get(0))?;
            counts.push((collection, number.unsigned_abs()));
        }
    }
    Ok(counts)
}

/// Waits until a file or folder is on disk.
fn sync(path: &Path) -> Result<(), ProvDbError> {
    let sync = || File::open(path)?.sync_all();
    sync().map_err(io_at(path))
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
