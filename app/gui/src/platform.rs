//! The interface between the window and its host.

use callgrove_actions::FilePurpose;
use callgrove_model::{Progress, TimeNs};
use callgrove_report::{InputFile, ReportOrigin};
use callgrove_session::{Command, UserCommand};
use callgrove_watch::WatchCommand;

use crate::background::{ExportProgress, FileMaker};

/// Finds the input files of a report; an error is a sentence without its period.
pub type InputFinder = Box<dyn FnOnce(Progress<'_>) -> Result<Vec<InputFile>, String> + Send>;

/// Functions that differ between desktop and browser.
pub trait Platform {
    /// Opens a native dialog for a file or folder and returns at once; `reply` gets the path, or `None` if the user
    /// cancels. Returns `false` if there is no such dialog (`reply` is dropped): the window then asks for the path
    /// itself.
    fn pick(
        &self,
        purpose: FilePurpose,
        suggested: &str,
        reply: Box<dyn FnOnce(Option<String>) + Send>,
    ) -> bool;

    /// Returns the command that opens a path or an address; a path is a trace unless the platform can inspect it.
    fn open(&self, named: &str) -> UserCommand {
        command_for(named, PathKind::Trace)
    }

    /// Returns the command that opens the example trace; `None` without one.
    fn demo(&self) -> Option<UserCommand> {
        None
    }

    /// Returns whether typed text can name a file: a browser can only open files that the user handed over.
    fn has_paths(&self) -> bool {
        true
    }

    /// Writes a file that the user named in [`Platform::pick`]; an existing one is replaced. A browser downloads it.
    ///
    /// # Errors
    /// If the file cannot be written: a sentence with the cause.
    fn save(&self, path: &str, _content: &[u8]) -> Result<(), String> {
        Err(format!("cannot write {path}: this window writes no files"))
    }

    /// Makes a file and writes it as [`Platform::save`] does, in the background if there is one: a browser has none.
    fn make_file(&self, path: String, make: FileMaker, progress: ExportProgress) {
        progress.run(make, |content| self.save(&path, content));
    }

    /// Returns who makes a report, when, and with what.
    fn report_origin(&self) -> ReportOrigin;

    /// Returns what finds the input files of a source for a report; none are found where there are no files.
    fn input_files(&self, _source: &str) -> InputFinder {
        Box::new(|_| Ok(Vec::new()))
    }

    /// Returns the text stored last by [`Platform::store_preferences`].
    fn load_preferences(&self) -> Option<String> {
        None
    }

    /// Stores the preferences that the window keeps between starts.
    fn store_preferences(&self, _text: &str) {}
}

/// The kind of data at a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathKind {
    /// A recorded trace, or a saved session.
    Trace,
    /// Records of a run: a provenance database, or the server of a running job.
    Records,
}

/// Returns the command that opens a path or an address; `kind` applies to paths only.
pub fn command_for(named: &str, kind: PathKind) -> UserCommand {
    let is_address = ["http://", "https://", "postgres://", "postgresql://"]
        .iter()
        .any(|scheme| named.starts_with(scheme));
    if is_address || kind == PathKind::Records {
        let (address, token) = (named.to_owned(), None);
        return WatchCommand::Connect { address, token }.into();
    }
    let (source, function) = (named.to_owned(), None);
    Command::OpenTrace { source, function }.into()
}

/// A platform without native dialogs.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDialogs;

impl Platform for NoDialogs {
    fn pick(&self, _: FilePurpose, _: &str, _: Box<dyn FnOnce(Option<String>) + Send>) -> bool {
        false
    }

    fn report_origin(&self) -> ReportOrigin {
        ReportOrigin {
            at: TimeNs(0),
            by: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: String::new(),
        }
    }
}
