//! Returns free space to the file system.

use std::path::{Path, PathBuf};

use callgrove_provdb::ProvDbError;

use super::super::error::at;
use super::exclusive::{hold_newest, size_bytes};

/// The size of a database before and after compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactSummary {
    /// The size of its files before.
    pub before_bytes: u64,
    /// The size of its files after.
    pub after_bytes: u64,
}

/// Rewrites each file without its free pages.
pub(crate) fn compact(folder: &Path) -> Result<CompactSummary, ProvDbError> {
    let files = hold_newest(folder)?;
    let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    let before_bytes = size_bytes(&paths);
    for file in &files {
        let vacuum = || {
            file.connection.execute_batch("vacuum")?;
            let sql = "pragma wal_checkpoint(truncate)";
            file.connection.query_row(sql, (), |_| Ok(()))
        };
        vacuum().map_err(at(&file.path))?;
    }
    drop(files);
    Ok(CompactSummary {
        before_bytes,
        after_bytes: size_bytes(&paths),
    })
}
