//! All commands that a user can send.

use callgrove_edits::{LabelKey, ModelSettings};
use callgrove_judge::active::QueryStrategy;
use callgrove_model::{ExecLabel, ExecRef, Forest, Label, ProgramId, RunIdentity, TreeIdx};
use callgrove_pserver::ModelInForce;
use callgrove_query::{EventKey, PatternId, PatternReference, TimeRange};
use callgrove_watch::{ExecutionDocument, WatchCommand};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::question::{ModelAnswer, TrainingAnswer};
use crate::tree_map::MapMethod;
use crate::viewer::{Presence, ViewerId};

/// A command of the user of a window.
#[derive(Clone, PartialEq, Debug)]
pub enum UserCommand {
    /// For the engine, which the windows of several viewers can share.
    Engine(Command),
    /// Changes what the user inspects in this window.
    Inspect(InspectCommand),
    /// Concerns the watched run.
    Watch(WatchCommand),
    /// Selects the execution with an event label, and the tree that contains it. If no tree contains it, grows the
    /// forest of its most promising caller.
    OpenExecution {
        /// Program.
        program: ProgramId,
        /// Event label.
        label: ExecLabel,
    },
}

impl From<Command> for UserCommand {
    fn from(command: Command) -> Self {
        Self::Engine(command)
    }
}

impl From<InspectCommand> for UserCommand {
    fn from(command: InspectCommand) -> Self {
        Self::Inspect(command)
    }
}

impl From<WatchCommand> for UserCommand {
    fn from(command: WatchCommand) -> Self {
        Self::Watch(command)
    }
}

/// A change of what the user inspects in one window ([`crate::Inspected::apply`]). It is shown in the same frame.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum InspectCommand {
    /// Shows the details of a call of the trace; `None` closes them.
    Call(Option<ExecRef>),
    /// Selects an incident by its index in [`crate::RunCauses::incidents`]; `None` deselects it.
    Incident(Option<usize>),
    /// Selects a trend by its index in [`crate::RunTrends::all`]; `None` deselects it.
    Trend(Option<usize>),
    /// Selects a pattern; `None` deselects it.
    Pattern(Option<PatternId>),
    /// Sets the reference of patterns: which value is usual, and which values are far from it.
    Reference(PatternReference),
    /// Selects a time range; `None` deselects it.
    Range(Option<TimeRange>),
}

/// A command that the [`crate::Engine`] carries out. Edits ([`Command::is_edit`]) are journalled and can be undone.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Command {
    /// Opens a trace: a run's folder, one rank's file or a pattern. Its earlier labels are restored.
    OpenTrace {
        /// Path or pattern.
        source: String,
        /// Root function to start with; the most promising one if `None`.
        function: Option<String>,
    },
    /// Sets the run that the records belong to, so that they can be labelled without its trace. The labels are shared
    /// between the records and the trace of a run.
    #[serde(rename = "KnowRun")]
    SetRecordedRun {
        /// Source of the records as the user named it.
        source: String,
        /// The run.
        run: RunIdentity,
    },
    /// Grows the forest of another root function (see [`callgrove_model::FunctionPattern`]).
    SetRoot {
        /// Name or pattern.
        function: String,
    },
    /// Selects trees; the views show the first, or the centre of several.
    Select(Selection),
    /// A command of one of several viewers, each with its own selection and files.
    #[serde(rename = "Of")]
    ForViewer {
        /// The viewer that sent it.
        viewer: ViewerId,
        /// Counts the viewer's commands from 1; see [`crate::ViewersSnapshot::carried_out`].
        number: u64,
        /// The command itself.
        command: Box<Command>,
    },
    /// A viewer has connected, lost its connection, or left. Only the server of the viewers sends this.
    Viewer {
        /// The viewer.
        viewer: ViewerId,
        /// Its new state.
        presence: Presence,
    },
    /// Sets the user's name. Labels record the name of their author.
    SetName(String),
    /// Labels trees, or removes their labels.
    SetLabel {
        /// The trees.
        trees: Vec<TreeIdx>,
        /// The label; `None` removes it.
        label: Option<Label>,
    },
    /// Labels an execution that was seen as a record, or removes its label. Its trace need not be open.
    SetRecordLabel {
        /// Program.
        program: ProgramId,
        /// Event label of the execution.
        event: ExecLabel,
        /// Name of its function as in the record.
        func: String,
        /// The label; `None` removes it.
        label: Option<Label>,
    },
    /// Adds a mark to the time axis of the run, or changes one.
    SetMark {
        /// [`crate::Mark::id`]; `None` makes a new one.
        id: Option<u64>,
        /// Time range of the mark.
        range: TimeRange,
        /// Text that the user typed.
        text: String,
    },
    /// Deletes a mark.
    DeleteMark {
        /// [`crate::Mark::id`].
        id: u64,
    },
    /// Imports labels from a CSV file (`rank,index,label`).
    ImportLabels {
        /// File.
        path: String,
    },
    /// Trains the one-class SVM with the labels given so far.
    Train,
    /// Sets whether the model is trained after every label.
    SetAutoTrain(bool),
    /// Answers [`crate::ModelSnapshot::question`].
    Answer(TrainingAnswer),
    /// Trains the model with the labels that so far apply to their executions only.
    LearnHeld,
    /// Trains with other settings; `None` restores the defaults.
    Tune(Option<ModelSettings>),
    /// Recomputes the map with another method. The map is shown while it is being computed.
    SetMap(MapMethod),
    /// Pauses or resumes the computation of the map.
    PauseMap(bool),
    /// Sets how the next tree to label is chosen.
    SetQuery(QueryStrategy),
    /// Undoes the last edit.
    Undo,
    /// Redoes the last undone edit.
    Redo,
    /// Exports the labels as CSV.
    ExportLabels {
        /// File.
        path: String,
    },
    /// Saves the trained model.
    SaveModel {
        /// File.
        path: String,
    },
    /// Scores the forest with a saved model of this or another run. If the model does not fit, asks the user.
    LoadModel {
        /// File.
        path: String,
    },
    /// Answers [`crate::ModelSnapshot::misfit`].
    AnswerModel(ModelAnswer),
    /// Compares the open run (AFTER) with an earlier one (BEFORE): [`crate::RunSnapshot::comparison`].
    CompareWith {
        /// Path or pattern of BEFORE.
        source: String,
    },
    /// Ends the comparison with an earlier run.
    EndComparison,
    /// Reads the open source again, with the data that was added since. Labels and selection are kept.
    Reload,
    /// Fetches the models of a running job from its server, and compares the trained model with the active one
    /// ([`crate::ModelSnapshot::running_models`]).
    #[serde(rename = "LookAtRunningModels")]
    FetchRunningModels {
        /// Address of the server.
        server: String,
    },
    /// Publishes the trained model to the detectors of a running job.
    PublishModel {
        /// Address of the server.
        server: String,
        /// Reason that the user gave.
        note: String,
    },
    /// Activates a version of a running job's model again, or deactivates the model.
    PutModelInForce {
        /// Address of the server.
        server: String,
        /// Model and version.
        wanted: ModelInForce,
    },
    /// Saves source, root function, labels, marks, settings, selection and view.
    SaveSession {
        /// File.
        path: String,
        /// Layout of the window, in the window's own format. [`crate::Snapshot::restored_view`] returns it.
        view: Value,
    },
    /// Opens a file of [`Command::SaveSession`].
    LoadSession {
        /// File.
        path: String,
    },
    /// Removes a notice from the screen.
    Dismiss {
        /// [`crate::Notice::id`].
        notice: u64,
    },
}

impl Command {
    /// Returns the command that labels the execution of a record, or removes its label; `None` if the record does not
    /// identify its execution.
    pub fn label_record(record: &ExecutionDocument, label: Option<Label>) -> Option<Self> {
        let EventKey { program, event } = record.key()?;
        let func = record.func.clone();
        Some(Self::SetRecordLabel {
            program,
            event,
            func,
            label,
        })
    }

    /// Returns the file that the command reads, if any. Traces are not counted.
    pub fn file_to_read(&self) -> Option<&str> {
        match self {
            Self::ImportLabels { path } | Self::LoadModel { path } | Self::LoadSession { path } => {
                Some(path)
            }
            _ => None,
        }
    }

    /// Returns whether only the server of the viewers may send the command.
    pub fn is_server_only(&self) -> bool {
        matches!(self, Self::ForViewer { .. } | Self::Viewer { .. })
    }

    /// Returns whether the command changes the user's work, so that it is journalled and can be undone.
    pub fn is_edit(&self) -> bool {
        if let Self::ForViewer { command, .. } = self {
            return command.is_edit();
        }
        matches!(
            self,
            Self::SetLabel { .. }
                | Self::SetRecordLabel { .. }
                | Self::SetMark { .. }
                | Self::DeleteMark { .. }
                | Self::ImportLabels { .. }
                | Self::Train
                | Self::SetAutoTrain(_)
                | Self::Answer(_)
                | Self::LearnHeld
                | Self::Tune(_)
                | Self::LoadModel { .. }
                | Self::AnswerModel(ModelAnswer::UseAnyway | ModelAnswer::Refit)
        )
    }
}

/// The selected trees. All views share one selection.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Selection {
    /// Nothing.
    #[default]
    None,
    /// One tree.
    One(TreeIdx),
    /// A group, in ascending order. The views show its centre; for the executions of one incident, the one in which
    /// the incident began.
    Group(Vec<TreeIdx>),
}

impl Selection {
    /// Returns the keys of the selected trees.
    pub(crate) fn keys(&self, forest: &Forest) -> impl Iterator<Item = LabelKey> {
        let trees = match self {
            Self::None => &[][..],
            Self::One(tree) => std::slice::from_ref(tree),
            Self::Group(trees) => trees,
        };
        trees.iter().map(|&tree| LabelKey::of(forest, tree))
    }

    /// Returns the selection in ascending order, without duplicates, and limited to the first `num_trees` trees.
    pub(crate) fn within(self, num_trees: usize) -> Self {
        let exists = |tree: &TreeIdx| tree.index() < num_trees;
        match self {
            Self::One(tree) if exists(&tree) => Self::One(tree),
            Self::Group(mut trees) => {
                trees.retain(exists);
                trees.sort_unstable();
                trees.dedup();
                match trees[..] {
                    [] => Self::None,
                    [tree] => Self::One(tree),
                    _ => Self::Group(trees),
                }
            }
            Self::One(_) | Self::None => Self::None,
        }
    }
}
