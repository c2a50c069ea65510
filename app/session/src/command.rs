//! Everything a person can ask for.

use callgrove_judge::active::QueryStrategy;
use callgrove_model::{ExecLabel, ExecRef, Forest, ProgramId, RunIdentity, TimeNs, TreeIdx};
use callgrove_pserver::ModelInForce;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::watch::{ExecutionDocument, WatchCommand};
use crate::{
    EventKey, Label, LabelKey, MapMethod, ModelAnswer, ModelSettings, PatternId, PatternReference,
    Presence, TrainingAnswer, ViewerId,
};

/// A wish of the person. Edits ([`Command::is_edit`]) are journalled and can be undone.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Command {
    /// Opens a trace: a run's folder, one rank's file or a pattern. Labels given to it before come back.
    OpenTrace {
        /// Path or pattern.
        source: String,
        /// Root function to start with; the most promising one if `None`.
        function: Option<String>,
    },
    /// Says which run the records are of, so that they can be labelled without its trace; the labels come
    /// back with either.
    KnowRun {
        /// Where the records come from, as the person named it.
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
    /// What one of several viewers asks for, who each have a selection and files of their own.
    Of {
        /// Who.
        viewer: ViewerId,
        /// Counts the viewer's commands from 1; see [`crate::Snapshot::carried_out`].
        number: u64,
        /// What.
        command: Box<Command>,
    },
    /// A viewer has come, is lost, or gone: whoever serves the viewers says so.
    Viewer {
        /// Who.
        viewer: ViewerId,
        /// What became of it.
        presence: Presence,
    },
    /// The person calls itself so; labels remember who gave them.
    SetName(String),
    /// Shows the details of a call of the trace, or no call's.
    SelectCall(Option<ExecRef>),
    /// Looks at an incident, a place in [`crate::RunCauses::incidents`], or at none.
    SelectIncident(Option<usize>),
    /// Looks at a trend, an index into [`crate::RunTrends::all`], or at none.
    SelectTrend(Option<usize>),
    /// Looks at a pattern, or at none.
    SelectPattern(Option<PatternId>),
    /// Says what is usual of a pattern, and what far from that.
    SetReference(PatternReference),
    /// Chooses a stretch of time, or none.
    SelectRange(Option<TimeRange>),
    /// Selects the execution with an event label, and the tree that holds it; where no tree does, the
    /// forest of its most promising caller is grown.
    OpenExecution {
        /// Program.
        program: ProgramId,
        /// Event label.
        label: ExecLabel,
    },
    /// Whatever concerns the watched run.
    #[serde(skip)]
    Watch(WatchCommand),
    /// Gives trees a label, or takes it away.
    SetLabel {
        /// The trees.
        trees: Vec<TreeIdx>,
        /// The label; `None` removes it.
        label: Option<Label>,
    },
    /// Gives an execution a label that was seen as a record, or takes it away; its trace need not show it.
    SetRecordLabel {
        /// Program.
        program: ProgramId,
        /// Event label of the execution.
        event: ExecLabel,
        /// Name of its function, as the record has it.
        func: String,
        /// The label; `None` removes it.
        label: Option<Label>,
    },
    /// Makes a mark on the time axis of the run, or changes one.
    SetMark {
        /// [`crate::Mark::id`]; `None` makes a new one.
        id: Option<u64>,
        /// Where it is.
        range: TimeRange,
        /// What the person wrote.
        text: String,
    },
    /// Takes a mark away.
    DeleteMark {
        /// [`crate::Mark::id`].
        id: u64,
    },
    /// Takes labels from a CSV file (`rank,index,label`).
    ImportLabels {
        /// File.
        path: String,
    },
    /// Trains the one-class SVM with the labels given so far.
    Train,
    /// Whether every label trains at once.
    SetAutoTrain(bool),
    /// Answers [`crate::Snapshot::question`].
    Answer(TrainingAnswer),
    /// The model learns the labels that stand for their executions alone.
    LearnHeld,
    /// Trains with other settings; `None` are the defaults.
    Tune(Option<ModelSettings>),
    /// Draws the map by another method; it can be seen while it forms.
    SetMap(MapMethod),
    /// Stops the map that forms, or lets it go on.
    PauseMap(bool),
    /// Which tree comes next after a label.
    SetQuery(QueryStrategy),
    /// Takes the last edit back.
    Undo,
    /// Does it again.
    Redo,
    /// Writes the labels as CSV.
    ExportLabels {
        /// File.
        path: String,
    },
    /// Writes the learned model.
    SaveModel {
        /// File.
        path: String,
    },
    /// Scores the forest with a model learned before, on this or another run. One that does not fit is asked
    /// about.
    LoadModel {
        /// File.
        path: String,
    },
    /// Answers [`crate::Snapshot::misfit`].
    AnswerModel(ModelAnswer),
    /// Reads what is open once more, with what its source has got since; labels and selection stay.
    Reload,
    /// Asks the server of a running job for its models, and tries the learned one out beside that in force
    /// ([`crate::Snapshot::running_models`]).
    LookAtRunningModels {
        /// Its address.
        server: String,
    },
    /// Has the detectors of a running job judge by the learned model.
    PublishModel {
        /// Its address.
        server: String,
        /// Why, in the person's words.
        note: String,
    },
    /// Puts a version of a running job's model in force again, or none.
    PutModelInForce {
        /// Its address.
        server: String,
        /// Which.
        wanted: ModelInForce,
    },
    /// Writes source, root function, labels, marks, settings, selection and view.
    SaveSession {
        /// File.
        path: String,
        /// How the window shows it, in its own words; it gets it back in
        /// [`crate::Snapshot::restored_view`].
        view: Value,
    },
    /// Opens what [`Command::SaveSession`] wrote.
    LoadSession {
        /// File.
        path: String,
    },
    /// Takes a notice off the screen.
    Dismiss {
        /// [`crate::Notice::id`].
        notice: u64,
    },
}

impl Command {
    /// Gives the execution of a record a label, or takes it away; `None` if the record does not name it.
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

    /// The file that the command reads, if any; a trace is none.
    pub fn file_to_read(&self) -> Option<&str> {
        match self {
            Self::ImportLabels { path } | Self::LoadModel { path } | Self::LoadSession { path } => {
                Some(path)
            }
            _ => None,
        }
    }

    /// Whether only those who serve viewers may say it.
    pub fn is_of_server(&self) -> bool {
        matches!(self, Self::Of { .. } | Self::Viewer { .. })
    }

    /// Whether the command changes what the person made, and so is journalled and undoable.
    pub fn is_edit(&self) -> bool {
        if let Self::Of { command, .. } = self {
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

/// Which trees are selected. One selection links all views.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Selection {
    /// Nothing.
    #[default]
    None,
    /// One tree.
    One(TreeIdx),
    /// A group, in ascending order. Its centre is shown; of the executions of one incident the one in which it began.
    Group(Vec<TreeIdx>),
}

impl Selection {
    /// What names the selected trees.
    pub(crate) fn keys(&self, forest: &Forest) -> impl Iterator<Item = LabelKey> {
        let trees = match self {
            Self::None => &[][..],
            Self::One(tree) => std::slice::from_ref(tree),
            Self::Group(trees) => trees,
        };
        trees.iter().map(|&tree| LabelKey::of(forest, tree))
    }

    /// Ascending, without repetition, and only the first `num_trees` trees.
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

/// A stretch of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TimeRange {
    /// Start.
    pub from: TimeNs,
    /// End, not before the start.
    pub to: TimeNs,
}

impl TimeRange {
    /// The stretch between two moments, whichever comes first.
    pub fn between(a: TimeNs, b: TimeNs) -> Self {
        Self {
            from: a.min(b),
            to: a.max(b),
        }
    }
}
