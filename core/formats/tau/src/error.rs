//! Errors that leave nothing to show, with the file and the remedy.

use std::io;
use std::path::PathBuf;

use callgrove_adios2_sys::Adios2Error;
use callgrove_model::Cancelled;
use callgrove_source::SourceError;

/// The reason why a stream of TAU cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TauError {
    /// No reader supports the format.
    #[error("not a trace ({reason}); a trace is a BP4 or BP5 folder written by ADIOS2: {}", .path.display())]
    UnknownFormat {
        /// The kind of file that was found instead.
        reason: &'static str,
        /// The file or folder.
        path: PathBuf,
    },
    /// The file is one of ADIOS 1.x.
    #[error(
        "a BP3 file of ADIOS 1.x; convert it with ADIOS2's `adios2_reorganize OLD.bp NEW.bp BPFile '' BP4 ''`: {}",
        .path.display()
    )]
    Bp3 {
        /// The file.
        path: PathBuf,
    },
    /// A file is truncated or contradicts another, and ADIOS2 could crash on it.
    #[error("damaged: {reason}; copy it again from where it was written: {}", .path.display())]
    Damaged {
        /// The damage.
        reason: String,
        /// The file.
        path: PathBuf,
    },
    /// The damage ends ADIOS2 itself, or sends it into a loop.
    #[error(
        "damaged so that ADIOS2 may crash or hang ({how}); copy it again from where it was written: {}",
        .path.display()
    )]
    Fatal {
        /// How the process that read the stream ended.
        how: String,
        /// The stream.
        path: PathBuf,
    },
    /// Damage in a stream could end this process, and no other process can be started to test it.
    #[error(
        "no process can be started to read it first; is the limit on processes (`ulimit -u`) reached?: {}",
        .path.display()
    )]
    Unguarded {
        /// The error of the operating system.
        source: io::Error,
        /// The stream.
        path: PathBuf,
    },
    /// A BP file was not written by TAU.
    #[error(
        "not a trace of TAU: variable {variable} {reason}; was it written by TAU's ADIOS2 trace plugin?: {}",
        .path.display()
    )]
    NotTau {
        /// The variable that is missing or wrong.
        variable: &'static str,
        /// The error in it.
        reason: String,
        /// The stream.
        path: PathBuf,
    },
    /// ADIOS2 cannot read the stream, or the rest of it.
    #[error("ADIOS2 cannot read it: {}", .path.display())]
    Stream {
        /// The error of ADIOS2.
        source: Adios2Error,
        /// The stream.
        path: PathBuf,
    },
    /// The replay would write into the folder that it reads.
    #[error("this folder contains the streams to read; give another one: {}", .path.display())]
    SameFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The folder of a relay cannot be used.
    #[error("cannot be used as the folder of a relay: {}", .path.display())]
    Folder {
        /// The error of the operating system, or the reason.
        source: io::Error,
        /// The folder.
        path: PathBuf,
    },
    /// ADIOS2 cannot write the stream, or the rest of it.
    #[error("ADIOS2 cannot write it; is the disk full, or the folder not writable?: {}", .path.display())]
    Write {
        /// The error of ADIOS2.
        source: Adios2Error,
        /// The stream.
        path: PathBuf,
    },
    /// The process that publishes a stream of a replay failed.
    #[error("cannot be published: {reason}: {}", .path.display())]
    Publisher {
        /// The reason that it gave, or how it ended.
        reason: String,
        /// The published stream.
        path: PathBuf,
    },
    /// No process can be started to publish a stream of a replay.
    #[error(
        "no process can be started to publish it; is the limit on processes (`ulimit -u`) reached?: {}",
        .path.display()
    )]
    NoPublisher {
        /// The error of the operating system.
        source: io::Error,
        /// The recorded stream.
        path: PathBuf,
    },
    /// ADIOS2 is missing or unusable.
    #[error(transparent)]
    Adios2(#[from] Adios2Error),
    /// The operating system returned an error.
    #[error("cannot be read: {}", .path.display())]
    Io {
        /// The error of the operating system.
        source: io::Error,
        /// The file or folder.
        path: PathBuf,
    },
    /// An error that other formats have too.
    #[error(transparent)]
    Common(#[from] SourceError),
}

impl From<TauError> for SourceError {
    fn from(error: TauError) -> Self {
        match error {
            TauError::Common(error) => error,
            error => Self::Format(Box::new(error)),
        }
    }
}

impl From<Cancelled> for TauError {
    fn from(cancelled: Cancelled) -> Self {
        Self::Common(cancelled.into())
    }
}

impl TauError {
    /// Returns the message followed by those of its causes, in one line.
    pub fn with_causes(&self) -> String {
        callgrove_source::with_causes(self)
    }
}
