//! Exclusive access to all files of a database.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callgrove_provdb::ProvDbError;
use rusqlite::{Connection, OpenFlags};

use super::super::error::at;
use super::super::files::{global_path, shard_path};
use super::super::schema;

/// Time for another process to finish closing the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// A file of a database that no other process has open.
pub(super) struct HeldFile {
    pub(super) path: PathBuf,
    pub(super) connection: Connection,
    pub(super) is_global: bool,
}

/// Opens all files of a database, the global one first, and locks out other processes until they are dropped. The
/// second value is the stored format.
///
/// # Errors
/// There is no database; [`ProvDbError::InUse`]; a file is damaged.
pub(super) fn hold(folder: &Path) -> Result<(Vec<HeldFile>, u32), ProvDbError> {
    let place = || folder.display().to_string();
    let path = global_path(folder);
    if !path.exists() {
        return Err(ProvDbError::Missing(place()));
    }
    let global = HeldFile {
        connection: connect(&path, folder)?,
        path,
        is_global: true,
    };
    let number = |name| schema::meta(&global.connection, name).map_err(at(&global.path));
    let (Some(format), Some(num_shards)) = (number("format")?, number("num_shards")?) else {
        return Err(ProvDbError::Damaged {
            cause: "the file does not state its format".to_owned(),
            place: global.path.display().to_string(),
        });
    };
    let mut files = vec![global];
    for index in 0..num_shards {
        let path = shard_path(folder, index);
        files.push(HeldFile {
            connection: schema::open_shard(&path, |path| connect(path, folder))?,
            path,
            is_global: false,
        });
    }
    Ok((files, format))
}

/// Opens all files of a database in the newest format, exclusively.
pub(super) fn hold_newest(folder: &Path) -> Result<Vec<HeldFile>, ProvDbError> {
    let (files, format) = hold(folder)?;
    schema::check(Some(format), None, None, &folder.display().to_string())?;
    Ok(files)
}

/// Returns the total size of the files of a database, logs included.
pub(super) fn size_bytes(files: &[PathBuf]) -> u64 {
    let with_logs = files
        .iter()
        .flat_map(|path| [path.clone(), path.with_extension("sqlite-wal")]);
    let sizes = with_logs.filter_map(|path| fs::metadata(path).ok());
    sizes.map(|it| it.len()).sum()
}

fn connect(path: &Path, folder: &Path) -> Result<Connection, ProvDbError> {
    let open = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "synchronous", "full")?;
        // A lock taken in this mode lasts until the connection is closed. Every other connection, even a read-only one,
        // holds a lock that conflicts with it.
        connection.pragma_update(None, "locking_mode", "exclusive")?;
        connection.execute_batch("begin exclusive; commit")?;
        Ok(connection)
    };
    open().map_err(|error| match at(path)(error) {
        ProvDbError::Busy(_) => ProvDbError::InUse(folder.display().to_string()),
        error => error,
    })
}
