//! Errors of SQLite and of files, with their place and remedy.

use std::io;
use std::path::Path;

use callgrove_provdb::ProvDbError;
use rusqlite::{Error, ErrorCode};

/// SQLite's message for a stored text that is not JSON. Its error code is generic, so only the text identifies it.
const BAD_JSON: &str = "malformed JSON";

/// Adds the file to an error of SQLite.
pub(super) fn at(path: &Path) -> impl Fn(Error) -> ProvDbError + use<> {
    let place = path.display().to_string();
    move |error| {
        let place = place.clone();
        let cause = error.to_string();
        match error.sqlite_error_code() {
            // A quota or a limit on the size of files is reported as an I/O error.
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => {
                ProvDbError::DiskFull { cause, place }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ProvDbError::Busy(place),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                ProvDbError::Damaged { cause, place }
            }
            _ if cause.contains(BAD_JSON) => ProvDbError::Damaged { cause, place },
            _ => ProvDbError::Database { cause, place },
        }
    }
}

/// Adds the path to an error of the file system.
pub(super) fn io_at(path: &Path) -> impl Fn(io::Error) -> ProvDbError + use<> {
    let place = path.display().to_string();
    move |error| {
        let (cause, place) = (error.to_string(), place.clone());
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                ProvDbError::DiskFull { cause, place }
            }
            _ => ProvDbError::Database { cause, place },
        }
    }
}
