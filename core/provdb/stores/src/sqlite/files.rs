//! The files of a database: their names, and their creation without access for other users.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Returns the path of the file with the global collections, the states and the format.
pub(super) fn global_path(folder: &Path) -> PathBuf {
    folder.join("provdb.global.sqlite")
}

/// Returns the path of the file of a shard.
pub(super) fn shard_path(folder: &Path, index: u32) -> PathBuf {
    folder.join(format!("provdb.{index}.sqlite"))
}

/// Creates an empty file for SQLite to open, if it does not exist. An existing file is not opened: closing it again
/// would release the locks that SQLite has on it in this process (POSIX, `fcntl`).
pub(super) fn create_file(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}
