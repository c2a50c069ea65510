//! Faults of a file that leave nothing to show.

use std::path::Path;

use callgrove_source::SourceError;

/// The reason why a file of a GPU profiler cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GpuSqliteError {
    /// The file has no table of a known profiler.
    #[error(
        "it has no tables of Nsight Systems, rocpd or rpd that could be read; copy it again from where it was written"
    )]
    NoTables,
    /// The data is in the log next to the file, or was.
    #[error(
        "it is written through a log (the same name with -wal), which is not merged; wait until the profiler has \
         ended, keep both files together and run: sqlite3 FILE 'pragma wal_checkpoint(truncate)'"
    )]
    UnmergedLog,
    /// A rocpd file without views.
    #[error(
        "it has tables of rocpd, but not its views regions and kernels; the profiler was killed before it wrote them, \
         or the file was made by rocpd before version 3"
    )]
    NoViews,
    /// The tables have no events.
    #[error(
        "its tables have no calls; were the program and its GPU traced (nsys profile --trace=cuda,nvtx,mpi, rocprofv3 \
         --sys-trace)?"
    )]
    NoEvents,
    /// A compressed file is larger than its size allows.
    #[error(
        "decompressed it has more than {max_bytes} bytes, which no profiler writes; decompress it with gunzip"
    )]
    TooLarge {
        /// The limit.
        max_bytes: u64,
    },
    /// A compressed file could not be written decompressed.
    #[error(
        "it is compressed, and could not be decompressed to {folder}: {reason}; set TMPDIR to a folder with more \
         space, or decompress it with gunzip"
    )]
    NotDecompressed {
        /// The folder of temporary files.
        folder: String,
        /// The error of the system.
        reason: String,
    },
    /// No row could be read.
    #[error("damaged: {0}; copy it again from where it was written, or export it again")]
    Unreadable(String),
}

/// Returns a fault with the path of the file.
pub(crate) fn invalid(path: &Path, error: GpuSqliteError) -> SourceError {
    SourceError::Invalid {
        format: "a SQLite file of a GPU profiler",
        path: path.to_owned(),
        source: Box::new(error),
    }
}
