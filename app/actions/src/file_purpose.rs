//! The purposes for which the user names a file or folder.

use callgrove_session::Command;

use super::picture_view::PictureView;
use super::window_table::WindowTable;

/// The purpose of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilePurpose {
    /// A run's folder, or one rank's file, to open.
    OpenTrace,
    /// An earlier run to compare the open one with.
    CompareWith,
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
    /// The file to export a view to, as a picture.
    ExportView(PictureView),
    /// The file to export a table to.
    ExportTable(WindowTable),
    /// The file to export a report to.
    ExportReport(ReportScope),
}

/// The subject of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportScope {
    /// The costliest incidents and the most unusual executions.
    Run,
    /// The selected incident and executions.
    Selection,
}

impl FilePurpose {
    /// Returns the title of the dialog.
    pub fn title(self) -> &'static str {
        match self {
            Self::OpenTrace => "Open a trace",
            Self::CompareWith => "Compare with an earlier run",
            Self::LoadSession => "Open a session",
            Self::SaveSession => "Save the session",
            Self::ImportLabels => "Import labels",
            Self::ExportLabels => "Export labels",
            Self::LoadModel => "Load a model",
            Self::SaveModel => "Save the model",
            Self::ExportView(view) => view.texts().title,
            Self::ExportTable(table) => table.texts().title,
            Self::ExportReport(scope) => match scope {
                ReportScope::Run => "Export a report of the run",
                ReportScope::Selection => "Export a report of the selection",
            },
        }
    }

    /// Returns the text of the button that confirms.
    pub fn verb(self) -> &'static str {
        match self {
            Self::OpenTrace | Self::LoadSession => "Open",
            Self::CompareWith => "Compare",
            Self::ImportLabels => "Import",
            Self::ExportLabels
            | Self::ExportView(_)
            | Self::ExportTable(_)
            | Self::ExportReport(_) => "Export",
            Self::LoadModel => "Load",
            Self::SaveSession | Self::SaveModel => "Save",
        }
    }

    /// Returns a hint about valid paths.
    pub fn hint(self) -> &'static str {
        match self {
            Self::OpenTrace => "Folder of a run, one rank's file, or a pattern such as run/*.bp",
            Self::CompareWith => {
                "The earlier run is BEFORE, the open run is AFTER. Folder of a run, one rank's file, or a pattern"
            }
            Self::LoadSession | Self::SaveSession => "Session file (.json)",
            Self::ImportLabels => "CSV file with the columns rank,index,label",
            Self::ExportLabels => "CSV file; an existing one is replaced",
            Self::LoadModel | Self::SaveModel => "Model file (.json)",
            Self::ExportView(_) => "Picture (.svg or .png); an existing one is replaced",
            Self::ExportTable(_) => WindowTable::HINT,
            Self::ExportReport(_) => "HTML file (.html); an existing one is replaced",
        }
    }

    /// Returns whether the path is written.
    pub fn is_save(self) -> bool {
        matches!(
            self,
            Self::SaveSession
                | Self::ExportLabels
                | Self::SaveModel
                | Self::ExportView(_)
                | Self::ExportTable(_)
                | Self::ExportReport(_)
        )
    }

    /// Returns whether the path is a folder; TAU's traces are folders.
    pub fn is_folder(self) -> bool {
        matches!(self, Self::OpenTrace | Self::CompareWith)
    }

    /// Returns the possible file name extensions, without the dot; none if any will do.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::OpenTrace | Self::CompareWith => &[],
            Self::ImportLabels | Self::ExportLabels => &["csv"],
            Self::ExportView(_) => &["svg", "png"],
            Self::ExportTable(_) => WindowTable::EXTENSIONS,
            Self::ExportReport(_) => &["html"],
            _ => &["json"],
        }
    }

    /// Returns a name for a new file.
    pub fn suggested_name(self) -> &'static str {
        match self {
            Self::OpenTrace
            | Self::CompareWith
            | Self::LoadSession
            | Self::ImportLabels
            | Self::LoadModel => "",
            Self::SaveSession => "callgrove-session.json",
            Self::ExportLabels => "labels.csv",
            Self::SaveModel => "callgrove-model.json",
            Self::ExportView(view) => view.texts().file_name,
            Self::ExportTable(table) => table.texts().file_name,
            Self::ExportReport(_) => "report.html",
        }
    }

    /// Returns the command for the path; `None` if the window itself writes the file.
    pub fn command(self, path: String) -> Option<Command> {
        Some(match self {
            Self::OpenTrace => Command::OpenTrace {
                source: path,
                function: None,
            },
            Self::CompareWith => Command::CompareWith { source: path },
            Self::LoadSession => Command::LoadSession { path },
            Self::SaveSession => Command::SaveSession {
                path,
                view: serde_json::Value::Null,
            },
            Self::ImportLabels => Command::ImportLabels { path },
            Self::ExportLabels => Command::ExportLabels { path },
            Self::LoadModel => Command::LoadModel { path },
            Self::SaveModel => Command::SaveModel { path },
            Self::ExportView(_) | Self::ExportTable(_) | Self::ExportReport(_) => return None,
        })
    }
}
