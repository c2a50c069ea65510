//! The files of a database, by name.

use std::path::{Path, PathBuf};

/// The file of the global collections, the state and the format.
pub(super) fn global_path(folder: &Path) -> PathBuf {
    folder.join("provdb.global.sqlite")
}

/// The file of a shard.
pub(super) fn shard_path(folder: &Path, index: u32) -> PathBuf {
    folder.join(format!("provdb.{index}.sqlite"))
}
