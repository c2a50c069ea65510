//! The interface between the window and its host.

use callgrove_session::Command;
use callgrove_session::watch::WatchCommand;

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
    fn open(&self, named: &str) -> Command {
        command_for(named, PathKind::Trace)
    }

    /// Returns the command that opens the example trace; `None` without one.
    fn demo(&self) -> Option<Command> {
        None
    }

    /// Returns whether typed text can name a file: a browser can only open files that the user handed over.
    fn has_paths(&self) -> bool {
        true
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
    /// A recorded trace.
    Trace,
    /// Records of a run: a provenance database, or the server of a running job.
    Records,
    /// A saved session.
    Session,
}

/// Returns the command that opens a path or an address; `kind` applies to paths only.
pub fn command_for(named: &str, kind: PathKind) -> Command {
    let is_address = ["http://", "https://", "postgres://", "postgresql://"]
        .iter()
        .any(|scheme| named.starts_with(scheme));
    if is_address || kind == PathKind::Records {
        return Command::Watch(WatchCommand::Connect {
            address: named.to_owned(),
            token: None,
        });
    }
    match kind {
        PathKind::Session => Command::LoadSession {
            path: named.to_owned(),
        },
        PathKind::Trace | PathKind::Records => Command::OpenTrace {
            source: named.to_owned(),
            function: None,
        },
    }
}

/// A platform without native dialogs.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDialogs;

impl Platform for NoDialogs {
    fn pick(&self, _: FilePurpose, _: &str, _: Box<dyn FnOnce(Option<String>) + Send>) -> bool {
        false
    }
}

/// The purpose of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilePurpose {
    /// A run's folder, or one rank's file, to open.
    OpenTrace,
    /// A session to open.
    LoadSession,
    /// The file to save the session to.
    SaveSession,
    /// A CSV file with labels to import.
    ImportLabels,
    /// The CSV file to export the labels to.
    ExportLabels,
    /// A trained model to load.
    LoadModel,
    /// The file to save the trained model to.
    SaveModel,
}

impl FilePurpose {
    /// Returns the title of the dialog.
    pub fn title(self) -> &'static str {
        match self {
            Self::OpenTrace => "Open a trace",
            Self::LoadSession => "Open a session",
            Self::SaveSession => "Save the session",
            Self::ImportLabels => "Import labels",
            Self::ExportLabels => "Export labels",
            Self::LoadModel => "Load a model",
            Self::SaveModel => "Save the model",
        }
    }

    /// Returns the text of the button that confirms.
    pub fn verb(self) -> &'static str {
        match self {
            Self::OpenTrace | Self::LoadSession => "Open",
            Self::ImportLabels => "Import",
            Self::ExportLabels => "Export",
            Self::LoadModel => "Load",
            Self::SaveSession | Self::SaveModel => "Save",
        }
    }

    /// Returns a hint about valid paths.
    pub fn hint(self) -> &'static str {
        match self {
            Self::OpenTrace => "Folder of a run, one rank's file, or a pattern such as run/*.bp",
            Self::LoadSession | Self::SaveSession => "Session file (.json)",
            Self::ImportLabels => "CSV file with the columns rank,index,label",
            Self::ExportLabels => "CSV file; an existing one is replaced",
            Self::LoadModel | Self::SaveModel => "Model file (.json)",
        }
    }

    /// Returns whether the path is written.
    pub fn is_save(self) -> bool {
        matches!(
            self,
            Self::SaveSession | Self::ExportLabels | Self::SaveModel
        )
    }

    /// Returns whether the path is a folder; TAU's traces are folders.
    pub fn is_folder(self) -> bool {
        self == Self::OpenTrace
    }

    /// Returns the file name extension, without the dot.
    pub fn extension(self) -> Option<&'static str> {
        match self {
            Self::OpenTrace => None,
            Self::ImportLabels | Self::ExportLabels => Some("csv"),
            _ => Some("json"),
        }
    }

    /// Returns a name for a new file.
    pub fn suggested_name(self) -> &'static str {
        match self {
            Self::OpenTrace | Self::LoadSession | Self::ImportLabels | Self::LoadModel => "",
            Self::SaveSession => "callgrove-session.json",
            Self::ExportLabels => "labels.csv",
            Self::SaveModel => "callgrove-model.json",
        }
    }

    /// Returns the command for the path.
    pub fn command(self, path: String) -> Command {
        match self {
            Self::OpenTrace => Command::OpenTrace {
                source: path,
                function: None,
            },
            Self::LoadSession => Command::LoadSession { path },
            Self::SaveSession => Command::SaveSession {
                path,
                view: serde_json::Value::Null,
            },
            Self::ImportLabels => Command::ImportLabels { path },
            Self::ExportLabels => Command::ExportLabels { path },
            Self::LoadModel => Command::LoadModel { path },
            Self::SaveModel => Command::SaveModel { path },
        }
    }
}
