//! What the session needs of the world outside, lent by its carrier.

use callgrove_model::{Cancelled, Progress, RunIdentity, TimeNs, Trace};

use callgrove_pserver::{ModelInForce, ModelPublication, TreeModelList};

use crate::{EventKey, ViewerId};

/// The outside refused. The text is for the person: cause, place, remedy.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The person asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// Everything else, in words that name the place and the remedy.
    #[error("{0}")]
    Failed(String),
}

impl From<Cancelled> for HostError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Files and traces, as the carrier can reach them.
pub trait Host: Send {
    /// Reads a trace.
    ///
    /// # Errors
    /// Cancelled, or what is wrong with the source and what to do.
    fn load_trace(&mut self, source: &str, progress: Progress<'_>) -> Result<Trace, HostError>;

    /// The root function that a source is about, where it is about one; asked once its trace was read.
    fn root_of(&self, _source: &str) -> Option<String> {
        None
    }

    /// Opens the journal of a run, wherever its trace lies now; [`crate::journal_run`] says which run a
    /// journal is about. A journal that does not say it belongs to the source. Nobody else can open it until it is dropped, but this
    /// host can, so that a trace is opened anew without losing what is open. A last line that a crash cut
    /// short is dropped for good.
    ///
    /// # Errors
    /// The journal exists but cannot be read or written.
    fn open_journal(&mut self, source: &str, run: &RunIdentity) -> Result<OpenJournal, HostError>;

    /// From now on a viewer's wishes are carried out, whose files are meant; with `None` nobody's in particular.
    fn turn_to(&mut self, _viewer: Option<ViewerId>) {}

    /// The time, since the epoch.
    fn now(&self) -> TimeNs;

    /// The login name of the person, if there is one.
    fn user(&self) -> Option<String>;

    /// A running job, by the address of its server.
    ///
    /// # Errors
    /// The carrier reaches none, or the address is none.
    fn running_job(&mut self, server: &str) -> Result<Box<dyn RunningJob>, HostError> {
        let text = format!("{server} cannot be reached from here: open it in a window of its own");
        Err(HostError::Failed(text))
    }

    /// Reads a file that the person named.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read_file(&mut self, path: &str) -> Result<Vec<u8>, HostError>;

    /// Writes a file that the person named; an existing one is replaced as a whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    fn write_file(&mut self, path: &str, content: &[u8]) -> Result<(), HostError>;
}

/// The models of a running job. All methods wait for its server.
pub trait RunningJob {
    /// All of them, and which AD instances have them.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses.
    fn tree_models(&mut self) -> Result<TreeModelList, HostError>;

    /// The newest abnormal trees of a function that the job has recorded, by name of the function as traces have it.
    ///
    /// # Errors
    /// As [`tree_models`](Self::tree_models).
    fn abnormal_trees(&mut self, function: &str) -> Result<Vec<EventKey>, HostError>;

    /// A version of a model: its file.
    ///
    /// # Errors
    /// As [`tree_models`](Self::tree_models), and if there is none.
    fn tree_model(&mut self, name: &str, version: u32) -> Result<String, HostError>;

    /// Publishes a model; the answer is its version.
    ///
    /// # Errors
    /// As [`tree_models`](Self::tree_models), and if the model is unfit.
    fn publish(&mut self, publication: &ModelPublication) -> Result<u32, HostError>;

    /// Puts a version in force again, or none.
    ///
    /// # Errors
    /// As [`tree_model`](Self::tree_model).
    fn put_in_force(&mut self, wanted: &ModelInForce) -> Result<(), HostError>;
}

/// A journal and what stands in it.
pub struct OpenJournal {
    /// Its complete lines, oldest first.
    pub lines: Vec<String>,
    /// Where it is, in words.
    pub place: String,
    /// Takes further lines.
    pub writer: Box<dyn JournalWriter>,
}

/// Takes the lines of one journal.
pub trait JournalWriter: Send {
    /// Appends one line; it is on disk when this returns.
    ///
    /// # Errors
    /// The line could not be stored; the edit is then not applied.
    fn append(&mut self, line: &str) -> Result<(), HostError>;
}
