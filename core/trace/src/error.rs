//! What leaves nothing to show, with the file and the remedy.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use callgrove_adios2_sys::Adios2Error;
use callgrove_model::{Cancelled, RankId};

/// Why a trace, or one rank of it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Nothing is at the path.
    #[error("no such file or folder: {}", .path.display())]
    NotFound {
        /// The path as given.
        path: PathBuf,
    },
    /// The pattern is not one.
    #[error("not a valid pattern: {reason}: {pattern}")]
    BadPattern {
        /// What is wrong.
        reason: &'static str,
        /// The pattern as given.
        pattern: String,
    },
    /// Nothing matches the pattern.
    #[error("nothing matches the pattern: {pattern}")]
    NoMatch {
        /// The pattern as given.
        pattern: String,
    },
    /// A folder without streams.
    #[error(
        "no .bp folder is here or one level below; give the folder of a run, one rank's .bp folder or a \
         pattern such as 'run/*.bp': {}", .path.display()
    )]
    NoStreams {
        /// The folder.
        path: PathBuf,
    },
    /// A folder of several runs.
    #[error("several folders here hold traces ({}); give one of them: {}", .folders.join(", "), .path.display())]
    SeveralRuns {
        /// The names of the folders that hold streams.
        folders: Vec<String>,
        /// The folder above them.
        path: PathBuf,
    },
    /// No format that a reader is there for.
    #[error("not a trace ({reason}); a trace is a BP4 or BP5 folder written by ADIOS2: {}", .path.display())]
    UnknownFormat {
        /// What was seen instead.
        reason: &'static str,
        /// The file or folder.
        path: PathBuf,
    },
    /// A file of ADIOS 1.x.
    #[error(
        "a BP3 file, as ADIOS 1.x writes; convert it with ADIOS2's `adios2_reorganize OLD.bp NEW.bp BPFile '' BP4 ''`: {}",
        .path.display()
    )]
    Bp3 {
        /// The file.
        path: PathBuf,
    },
    /// A file is cut short or contradicts another; ADIOS2 could crash on it.
    #[error("damaged: {reason}; copy it again from where it was written: {}", .path.display())]
    Damaged {
        /// What is wrong.
        reason: String,
        /// The file.
        path: PathBuf,
    },
    /// Damage that ends ADIOS2 itself, or sends it into a loop.
    #[error(
        "damaged so that ADIOS2 does not survive it ({how}); copy it again from where it was written: {}",
        .path.display()
    )]
    Fatal {
        /// What became of the process that read it.
        how: String,
        /// The stream.
        path: PathBuf,
    },
    /// Damage in a stream could end this process, and there is no other to see whether it does.
    #[error(
        "no process can be started that reads it before this one does; is the limit on processes (`ulimit -u`) reached?: {}",
        .path.display()
    )]
    Unguarded {
        /// What the system said.
        source: io::Error,
        /// The stream.
        path: PathBuf,
    },
    /// A BP file of something else.
    #[error(
        "no trace of TAU: variable {variable} {reason}; was it written by TAU's ADIOS2 trace plugin?: {}",
        .path.display()
    )]
    NotTau {
        /// The variable that is missing or wrong.
        variable: &'static str,
        /// What is wrong with it.
        reason: String,
        /// The stream.
        path: PathBuf,
    },
    /// A stream that ended before its first step.
    #[error(
        "no whole step is in it; was the run killed before it wrote one, or the file cut short?: {}",
        .path.display()
    )]
    NoSteps {
        /// The stream.
        path: PathBuf,
    },
    /// ADIOS2 cannot read the stream, or not any further.
    #[error("ADIOS2 cannot read it: {}", .path.display())]
    Stream {
        /// What ADIOS2 says.
        source: Adios2Error,
        /// The stream.
        path: PathBuf,
    },
    /// The stream has no writer, or one of another release of ADIOS2.
    #[error(
        "no writer answered within {seconds} s ({reason}); is the program running, is this the name of its \
         stream, and does it use the same release of ADIOS2?: {}", .path.display()
    )]
    NoWriter {
        /// What was found instead.
        reason: String,
        /// How long was waited.
        seconds: f32,
        /// The stream.
        path: PathBuf,
    },
    /// A stream whose writer did not live to its next step.
    #[error(
        "the writer ended before it let this reader in, which it does with its next step; start readers while the \
         program writes: {}", .path.display()
    )]
    WriterEnded {
        /// The stream.
        path: PathBuf,
    },
    /// A replay into the folder that it reads.
    #[error("the streams that are read are in this folder; give another one: {}", .path.display())]
    SameFolder {
        /// The folder.
        path: PathBuf,
    },
    /// ADIOS2 cannot write the stream, or not any further.
    #[error("ADIOS2 cannot write it; is the disk full, or the folder not writable?: {}", .path.display())]
    Write {
        /// What ADIOS2 says.
        source: Adios2Error,
        /// The stream.
        path: PathBuf,
    },
    /// No ADIOS2, or none that can be used.
    #[error(transparent)]
    Adios2(#[from] Adios2Error),
    /// Two streams say they are the same rank.
    #[error(
        "rank {rank} is there twice, by what is in the files, so these are not one run: {} and {}; give the files of \
         one run alone, as a folder or by a pattern", .first.display(), .second.display()
    )]
    DuplicateRank {
        /// The rank.
        rank: RankId,
        /// A stream of it.
        first: PathBuf,
        /// Another.
        second: PathBuf,
    },
    /// The operating system refused something.
    #[error("cannot be read: {}", .path.display())]
    Io {
        /// What it said.
        source: io::Error,
        /// The file or folder.
        path: PathBuf,
    },
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl TraceError {
    /// The message with those of its causes, cause last, in one line.
    pub fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        text
    }
}
