//! What the window needs of its carrier.

use callgrove_session::Command;
use callgrove_session::watch::WatchCommand;

/// Things that a desktop and a browser do differently.
pub trait Platform {
    /// Opens a native dialog for a file or folder and returns at once; `reply` gets the path, or
    /// `None` if the person thinks better of it. `false` means that there is no such dialog (`reply`
    /// is dropped): the window then asks for the path itself.
    fn pick(
        &self,
        purpose: FilePurpose,
        suggested: &str,
        reply: Box<dyn FnOnce(Option<String>) + Send>,
    ) -> bool;

    /// What opening something that a person named (a path, an address) means; paths are traces unless the
    /// platform can look at them.
    fn open(&self, named: &str) -> Command {
        command_for(named, PathKind::Trace)
    }

    /// Opens the example trace; `None` where there is none.
    fn demo(&self) -> Option<Command> {
        None
    }

    /// Whether what a person types can name files: a browser knows only those that it was handed.
    fn has_paths(&self) -> bool {
        true
    }

    /// What [`Platform::store_preferences`] stored last.
    fn load_preferences(&self) -> Option<String> {
        None
    }

    /// Stores what the window remembers between starts.
    fn store_preferences(&self, _text: &str) {}
}

/// What a path names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathKind {
    /// A recorded trace.
    Trace,
    /// Records of a run: a provenance database, or the server of a running job.
    Records,
    /// A session that was saved.
    Session,
}

/// What opening something that a person named means; `kind` is asked for paths only.
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

/// A carrier without native dialogs.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDialogs;

impl Platform for NoDialogs {
    fn pick(&self, _: FilePurpose, _: &str, _: Box<dyn FnOnce(Option<String>) + Send>) -> bool {
        false
    }
}

/// What a path is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilePurpose {
    /// A run's folder, or one rank's file.
    OpenTrace,
    /// A session to go on with.
    LoadSession,
    /// Where the session goes.
    SaveSession,
    /// Labels as CSV.
    ImportLabels,
    /// Where the labels go as CSV.
    ExportLabels,
    /// A learned model.
    LoadModel,
    /// Where the learned model goes.
    SaveModel,
}

impl FilePurpose {
    /// Title of the dialog.
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

    /// The word on the button that confirms.
    pub fn verb(self) -> &'static str {
        match self {
            Self::OpenTrace | Self::LoadSession => "Open",
            Self::ImportLabels => "Import",
            Self::ExportLabels => "Export",
            Self::LoadModel => "Load",
            Self::SaveSession | Self::SaveModel => "Save",
        }
    }

    /// What may be named.
    pub fn hint(self) -> &'static str {
        match self {
            Self::OpenTrace => "Folder of a run, one rank's file, or a pattern such as run/*.bp",
            Self::LoadSession | Self::SaveSession => "Session file (.json)",
            Self::ImportLabels => "CSV file with the columns rank,index,label",
            Self::ExportLabels => "CSV file; an existing one is replaced",
            Self::LoadModel | Self::SaveModel => "Model file (.json)",
        }
    }

    /// Whether something is written.
    pub fn is_save(self) -> bool {
        matches!(
            self,
            Self::SaveSession | Self::ExportLabels | Self::SaveModel
        )
    }

    /// Whether a folder is meant; TAU's traces are folders.
    pub fn is_folder(self) -> bool {
        self == Self::OpenTrace
    }

    /// File name extension, without the dot.
    pub fn extension(self) -> Option<&'static str> {
        match self {
            Self::OpenTrace => None,
            Self::ImportLabels | Self::ExportLabels => Some("csv"),
            _ => Some("json"),
        }
    }

    /// A name for a new file.
    pub fn suggested_name(self) -> &'static str {
        match self {
            Self::OpenTrace | Self::LoadSession | Self::ImportLabels | Self::LoadModel => "",
            Self::SaveSession => "callgrove-session.json",
            Self::ExportLabels => "labels.csv",
            Self::SaveModel => "callgrove-model.json",
        }
    }

    /// What the session shall do with the path.
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
