//! Errors of SQLite and of files, with their place and remedy.

use std::io;
use std::path::Path;

use rusqlite::{Error, ErrorCode};

use crate::ProvDbError;

/// What SQLite says of a stored text that is no JSON, under the code of any error; none is stored.
const BAD_JSON: &str = "malformed JSON";

/// Names the file in an error of SQLite.
pub(super) fn at(path: &Path) -> impl Fn(Error) -> ProvDbError + use<> {
    let place = path.display().to_string();
    move |error| {
        let place = place.clone();
        let cause = error.to_string();
        match error.sqlite_error_code() {
            // A quota or a limit on the size of files shows as an error of input and output.
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

/// Names the path in an error of the file system.
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
