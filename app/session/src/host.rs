//! The services that a session needs from the host application.

use callgrove_model::{Cancelled, Progress, RunIdentity, TimeNs, Trace};
use callgrove_pserver::{ModelInForce, ModelPublication, TreeModelList};
use callgrove_query::EventKey;

use crate::viewer::ViewerId;

/// An error of the host application. The text is for the user: cause, place, remedy.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The user cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Any other error, as text with place and remedy.
    #[error("{0}")]
    Failed(String),
}

impl From<Cancelled> for HostError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Access to files and traces.
pub trait Host: Send {
    /// Reads a trace.
    ///
    /// # Errors
    /// Cancelled, or the source cannot be read; the text says why and what to do.
    fn load_trace(&mut self, source: &str, progress: Progress<'_>) -> Result<Trace, HostError>;

    /// Opens the journal of a run, wherever its trace is stored; [`crate::journal_run`] returns the run of a
    /// journal. A journal without a run belongs to the source. The journal is locked against other hosts until it is
    /// dropped; this host can open it again, so that a trace is reopened without losing what is open. A last line that
    /// a crash cut short is removed permanently.
    ///
    /// # Errors
    /// The journal exists but cannot be read or written.
    fn open_journal(&mut self, source: &str, run: &RunIdentity) -> Result<OpenJournal, HostError>;

    /// Returns the first bytes of a file, at most `limit`, which show what it is; none if they cannot be read.
    fn file_start(&mut self, path: &str, limit: usize) -> Vec<u8> {
        let _ = (path, limit);
        Vec::new()
    }

    /// Sets the viewer whose files subsequent commands refer to; `None` means no particular viewer.
    fn set_viewer(&mut self, _viewer: Option<ViewerId>) {}

    /// Returns the time since the epoch.
    fn now(&self) -> TimeNs;

    /// Returns the login name of the user, if there is one.
    fn user(&self) -> Option<String>;

    /// Connects to a running job by the address of its server.
    ///
    /// # Errors
    /// This host reaches no running jobs, or the address is invalid.
    fn running_job(&mut self, server: &str) -> Result<Box<dyn RunningJob>, HostError> {
        let text = format!("{server} cannot be reached from here: open it in a window of its own");
        Err(HostError::Failed(text))
    }

    /// Reads a file that the user named.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read_file(&mut self, path: &str) -> Result<Vec<u8>, HostError>;

    /// Writes a file that the user named. An existing file is replaced completely or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    fn write_file(&mut self, path: &str, content: &[u8]) -> Result<(), HostError>;
}

/// The models of a running job. All methods block until its server answers.
pub trait RunningJob {
    /// Returns all models, and which AD instances have them.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses.
    fn tree_models(&mut self) -> Result<TreeModelList, HostError>;

    /// Returns the newest abnormal trees of a function that the job has recorded. The function is named as in traces.
    ///
    /// # Errors
    /// As [`tree_models`](Self::tree_models).
    fn abnormal_trees(&mut self, function: &str) -> Result<Vec<EventKey>, HostError>;

    /// Returns the file of a version of a model.
    ///
    /// # Errors
    /// As [`tree_models`](Self::tree_models), and if the version does not exist.
    fn tree_model(&mut self, name: &str, version: u32) -> Result<String, HostError>;

    /// Publishes a model and returns its version.
    ///
    /// # Errors
    /// As [`tree_models`](Self::tree_models), and if the model is unfit.
    fn publish(&mut self, publication: &ModelPublication) -> Result<u32, HostError>;

    /// Activates a version again, or deactivates the model.
    ///
    /// # Errors
    /// As [`tree_model`](Self::tree_model).
    fn put_in_force(&mut self, wanted: &ModelInForce) -> Result<(), HostError>;
}

/// A journal and its content.
pub struct OpenJournal {
    /// Its complete lines, oldest first.
    pub lines: Vec<String>,
    /// Location of the journal, as text.
    pub place: String,
    /// Takes further lines.
    pub writer: Box<dyn JournalWriter>,
}

/// Appends to one journal.
pub trait JournalWriter: Send {
    /// Appends one line. The line is on disk when this returns.
    ///
    /// # Errors
    /// The line could not be stored; the edit is then not applied.
    fn append(&mut self, line: &str) -> Result<(), HostError>;
}
