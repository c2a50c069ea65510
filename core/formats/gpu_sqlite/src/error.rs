//! Faults of a file that leave nothing to show.

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
    /// No row could be read.
    #[error("damaged: {0}; copy it again from where it was written, or export it again")]
    Unreadable(String),
}
