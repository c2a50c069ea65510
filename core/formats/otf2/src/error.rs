//! Faults of an archive that leave nothing to show.

/// The reason why an archive cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Otf2Error {
    /// The file is not an anchor file.
    #[error("it is not the anchor file of an archive, which begins with OTF2")]
    NoAnchor,
    /// The anchor file is cut.
    #[error("the anchor file is cut short; copy it again from where it was written")]
    ShortAnchor,
    /// The archive has another trace format.
    #[error(
        "it has trace format {0} of OTF2 {1}, but only format 2 is known; convert it with the OTF2 that wrote it"
    )]
    Version(u8, String),
    /// Its files are not plain files.
    #[error(
        "its files are stored by substrate {0} (2 is SIONlib); write it again with the POSIX substrate"
    )]
    Substrate(u8),
    /// Its files are compressed.
    #[error("its files are compressed; write it again without compression")]
    Compressed,
    /// A size of chunks is out of range.
    #[error(
        "it states chunks of {0} bytes, which OTF2 does not allow; copy it again from where it was written"
    )]
    ChunkSize(u64),
    /// The definitions are damaged.
    #[error(
        "its definitions are damaged at byte {0}; copy the .def file again from where it was written"
    )]
    Definitions(u64),
    /// The archive defines no process.
    #[error("it defines no processes; was it closed before the program began?")]
    NoProcesses,
    /// There are events and no definitions.
    #[error(
        "there are events, but no anchor file and no definitions, which are written when a job ends; the job was \
         killed, and its events have no names"
    )]
    Killed,
}
