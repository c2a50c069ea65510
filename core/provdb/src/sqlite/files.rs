//! The files of a database: their names, and how they are made so that no other user can read them.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The file of the global collections, the state and the format.
pub(super) fn global_path(folder: &Path) -> PathBuf {
    folder.join("provdb.global.sqlite")
}

/// The file of a shard.
pub(super) fn shard_path(folder: &Path, index: u32) -> PathBuf {
    folder.join(format!("provdb.{index}.sqlite"))
}

/// Makes a folder if there is none. Only its user can enter a new one; folders above it are made as usual.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        made => made,
    }
}

/// Makes an empty file, for SQLite to open, if there is none. One that exists is not opened: closing it again would release
/// the locks that SQLite has on it in this process (POSIX, `fcntl`).
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
