//! Errors that leave nothing to show, with the file and the remedy.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use callgrove_model::{Cancelled, RankId};

/// The reason why a run, or a part of it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The path does not exist.
    #[error("no such file or folder: {}", .path.display())]
    NotFound {
        /// The path as given.
        path: PathBuf,
    },
    /// The pattern is invalid.
    #[error("not a valid pattern: {reason}: {pattern}")]
    BadPattern {
        /// The error in the pattern.
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
    /// The folder has no trace.
    #[error(
        "no trace is here or up to four levels below; give the folder of a run, a file, or a pattern such as 'run/*.bp', in one \
         of these formats: {formats}: {}", .path.display()
    )]
    NoTrace {
        /// The names of the known formats.
        formats: String,
        /// The folder.
        path: PathBuf,
    },
    /// The folder is the top of a large tree.
    #[error(
        "no trace is in the upper levels of this folder, and it has too many files to look at all; give the folder of \
         one run: {}", .path.display()
    )]
    TooManyEntries {
        /// The folder.
        path: PathBuf,
    },
    /// The folder has several runs.
    #[error("several traces are here ({}); give one of them: {}", .names.join(", "), .path.display())]
    SeveralRuns {
        /// The names of the files or folders that hold them.
        names: Vec<String>,
        /// The folder above them.
        path: PathBuf,
    },
    /// The folder has parts in several formats.
    #[error(
        "traces in several formats are here ({formats}); name the files that belong together, or one of them: {}",
        .path.display()
    )]
    SeveralFormats {
        /// The formats.
        formats: String,
        /// The folder.
        path: PathBuf,
    },
    /// Traces that were given together do not overlap in time.
    #[error(
        "the times of these traces do not overlap, so they are not of one run, or one of them counts from another time \
         than the epoch; open them apart: {} and {}", .first.display(), .second.display()
    )]
    ClocksApart {
        /// A file of one.
        first: PathBuf,
        /// A file of the other.
        second: PathBuf,
    },
    /// No reader supports the format.
    #[error("not a trace in a known format; these are known: {formats}: {}", .path.display())]
    UnknownFormat {
        /// The names of the known formats.
        formats: String,
        /// The file or folder.
        path: PathBuf,
    },
    /// Two inputs were given, of which one is a complete run.
    #[error("it holds a complete run, so it cannot be joined with other files; give it alone: {}", .path.display())]
    NotAPart {
        /// The file with the complete run.
        path: PathBuf,
    },
    /// A file of complete call stacks was given where events are needed.
    #[error(
        "it holds complete call stacks and no events, so there is nothing to detect in the order of time; give a trace \
         with events: {}", .path.display()
    )]
    NoEvents {
        /// The file.
        path: PathBuf,
    },
    /// A file is damaged.
    #[error("damaged: {reason}; copy it again from where it was written: {}", .path.display())]
    Damaged {
        /// The damage, and its place in the file.
        reason: String,
        /// The file.
        path: PathBuf,
    },
    /// A file is not valid in its format.
    #[error("cannot use {} as {format}", .path.display())]
    Invalid {
        /// The format, as an indefinite noun: `a forest file`.
        format: &'static str,
        /// The file.
        path: PathBuf,
        /// The fault, its place, and the remedy.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The stream ended before its first step.
    #[error(
        "no complete step; was the run killed before it wrote one, or is the file truncated?: {}",
        .path.display()
    )]
    NoSteps {
        /// The stream.
        path: PathBuf,
    },
    /// The stream has no writer, or one that does not answer.
    #[error(
        "no writer answered within {seconds} s ({reason}); is the program running, and is this the name of its \
         stream?: {}", .path.display()
    )]
    NoWriter {
        /// The state that was found instead.
        reason: String,
        /// The waiting time in seconds.
        seconds: f32,
        /// The stream.
        path: PathBuf,
    },
    /// The writer of the stream ended before its next step.
    #[error(
        "the writer ended before it let this reader in, which it does with its next step; start readers while the \
         program writes: {}", .path.display()
    )]
    WriterEnded {
        /// The stream.
        path: PathBuf,
    },
    /// Two streams state the same rank.
    #[error(
        "rank {rank} occurs twice by the contents of the files, so they are not of one run: {} and {}; give the files \
         of one run only, as a folder or by a pattern", .first.display(), .second.display()
    )]
    DuplicateRank {
        /// The rank.
        rank: RankId,
        /// One stream of the rank.
        first: PathBuf,
        /// The other stream of the rank.
        second: PathBuf,
    },
    /// The operating system returned an error.
    #[error("cannot be read: {}", .path.display())]
    Io {
        /// The error of the operating system.
        source: io::Error,
        /// The file or folder.
        path: PathBuf,
    },
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// An error that only one format has, with the file and the remedy.
    #[error(transparent)]
    Format(Box<dyn Error + Send + Sync>),
}

impl SourceError {
    /// Returns the error of one format, if it is of this type.
    pub fn of_format<E: Error + 'static>(&self) -> Option<&E> {
        match self {
            Self::Format(error) => error.downcast_ref(),
            _ => None,
        }
    }

    /// Returns the message followed by those of its causes, in one line.
    pub fn with_causes(&self) -> String {
        with_causes(self)
    }
}

/// Returns the message of an error followed by those of its causes, in one line.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
