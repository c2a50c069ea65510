//! The state to show: an immutable snapshot of the session, cheap to clone and to share.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_judge::active::{Doubt, QueryStrategy};
use callgrove_judge::decision::{ByDesign, DesignClass};
use callgrove_judge::detector::Cause;
use callgrove_learn::cause::WriteShare;
use callgrove_model::{DurationNs, ExecRef, Forest, FuncId, Label, TimeNs, Trace, TreeIdx};
use callgrove_query::{
    Calls, Cascade, DelayRole, PatternId, PatternList, PatternReference, RunCauses, RunTrends,
    TimeRange, TimesOf, TreeCause, TreeCauses,
};
use callgrove_trees::explain::Difference;
use callgrove_watch::{ExecutionDocument, Watch};
use serde::{Deserialize, Serialize};

use crate::command::Selection;
use crate::comparison::ComparedWith;
use crate::label::{LabelOrigin, LabelSet};
use crate::mark::Mark;
use crate::model::{ModelSettings, RunningModels};
use crate::question::{ModelQuestion, TrainingQuestion};
use crate::tree_map::TreeMap;
use crate::viewer::{PresentViewer, ViewerId};

/// The state of the session at one moment. Later snapshots share what has not changed.
///
/// Skipped fields are large and sent separately (by the crate `wire`), can be derived from others, or belong to a
/// viewer instead of the session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Revision number; increases with every snapshot.
    pub revision: u64,
    /// The work in progress, if any.
    pub work: Option<Work>,
    /// The source that is open or being opened, as the user named it.
    pub source: Option<String>,
    /// The trace. If its calls are remote ([`Calls::is_remote`]), its lanes are empty; views query `calls` instead.
    #[serde(skip)]
    pub trace: Option<Arc<Trace>>,
    /// Query interface to its calls; set together with the trace.
    #[serde(skip)]
    pub calls: Option<Arc<Calls>>,
    /// Causes of the delays of the run; computed some time after the trace was opened.
    #[serde(skip)]
    pub causes: Option<Arc<RunCauses>>,
    /// Roles of the forest's trees in those delays.
    #[serde(skip)]
    pub tree_causes: Option<Arc<TreeCauses>>,
    /// The selected incident, an index into [`RunCauses::incidents`].
    #[serde(skip)]
    pub incident: Option<usize>,
    /// Persistent and slow changes; computed some time after the trace was opened.
    #[serde(skip)]
    pub trends: Option<Arc<RunTrends>>,
    /// The selected trend, an index into [`RunTrends::all`].
    #[serde(skip)]
    pub trend: Option<usize>,
    /// The list of repeated patterns; computed some time after the trace was opened.
    #[serde(skip)]
    pub patterns: Option<Arc<PatternList>>,
    /// The selected pattern.
    #[serde(skip)]
    pub pattern: Option<PatternId>,
    /// Its reference: which value is usual, and which values are far from it.
    #[serde(skip)]
    pub reference: PatternReference,
    /// The comparison with an earlier run, until it is ended or another run is opened.
    #[serde(skip)]
    pub comparison: Option<Arc<ComparedWith>>,
    /// Root functions that are worth analysing, most promising first.
    pub suggestions: Arc<[Suggestion]>,
    /// The forest.
    #[serde(skip)]
    pub analysis: Option<Arc<Analysis>>,
    /// Positions of its trees in the plane.
    #[serde(skip)]
    pub map: Option<Arc<TreeMap>>,
    /// Scores of the forest's trees by the newest model.
    #[serde(skip)]
    pub detection: Option<Arc<Detection>>,
    /// Labels of the forest's trees.
    pub labels: Arc<LabelSet>,
    /// The same labels by tree, shape `[n_trees]`.
    #[serde(skip)]
    pub labels_by_tree: Arc<[Option<Label>]>,
    /// Labels of executions by their event labels: of all records, and of the forest's trees.
    pub record_labels: Arc<LabelSet>,
    /// Marks of the run, in order of their numbers.
    pub marks: Arc<[Mark]>,
    /// Location of the journal of labels and marks, as text; `None` if they are lost with the session.
    pub journal: Option<Arc<str>>,
    /// Layout of the window when the session that was opened last was saved, as passed to
    /// [`crate::Command::SaveSession`].
    pub restored_view: Option<Arc<serde_json::Value>>,
    /// Number of labels that wait to be trained.
    pub num_untrained: usize,
    /// Number of labels that apply to their executions only: the model is not trained with them.
    pub num_held: usize,
    /// The trees with such labels, ascending.
    pub held: Arc<[TreeIdx]>,
    /// The training that waits for an answer ([`crate::Command::Answer`]). The scores are those before it.
    pub question: Option<Arc<TrainingQuestion>>,
    /// The model file that waits for an answer ([`crate::Command::AnswerModel`]) because it does not fit.
    pub misfit: Option<Arc<ModelQuestion>>,
    /// The models of a running job, as fetched last.
    pub running_models: Option<Arc<RunningModels>>,
    /// True if the model is trained after every label.
    pub auto_train: bool,
    /// Settings of the model.
    pub settings: ModelSettings,
    /// Its default settings.
    pub default_settings: ModelSettings,
    /// Strategy that chooses the next tree to label.
    pub query: QueryStrategy,
    /// The next trees to label, by `query`; empty while scores come from a model file.
    pub queue: Arc<[TreeIdx]>,
    /// Labels that disagree with their neighbourhood, the most doubtful first.
    pub doubts: Arc<[Doubt]>,
    /// Which trees are selected.
    pub selection: Selection,
    /// The call of the trace whose details are shown.
    #[serde(skip)]
    pub call: Option<ExecRef>,
    /// The selected time range.
    #[serde(skip)]
    pub range: Option<TimeRange>,
    /// The state of the watched run.
    #[serde(skip)]
    pub watch: Arc<Watch>,
    /// Explanation of the focused tree's score; `None` until it is computed.
    pub explanation: Option<Arc<Explanation>>,
    /// Number of the viewer's newest command that was carried out; 0 if viewers are not distinguished.
    pub carried_out: u64,
    /// State of each viewer, if several viewers do not share `selection`.
    #[serde(skip)]
    pub viewer_states: Arc<BTreeMap<ViewerId, ViewerState>>,
    /// Name of the user who sees this, if known.
    pub name: Option<Arc<str>>,
    /// The connected viewers, including the one that sees this; empty if viewers are not distinguished.
    pub viewers: Arc<[PresentViewer]>,
    /// Description of the edit to undo.
    pub undo: Option<String>,
    /// Description of the edit to redo.
    pub redo: Option<String>,
    /// Messages to the user, oldest first.
    pub notices: Arc<[Notice]>,
}

/// The state of one viewer.
#[derive(Clone, Debug, Default)]
pub struct ViewerState {
    /// The selection, and why the focused tree got its score; `None` until the viewer selects something in the forest
    /// that is shown.
    pub selected: Option<(Selection, Option<Arc<Explanation>>)>,
    /// [`Snapshot::carried_out`].
    pub carried_out: u64,
    /// Name of the viewer.
    pub name: Option<Arc<str>>,
    /// True if it is connected.
    pub is_connected: bool,
}

impl Snapshot {
    /// Returns the snapshot as one of several viewers sees it.
    #[must_use]
    pub fn seen_by(&self, viewer: ViewerId) -> Self {
        let mut seen = self.clone();
        let here = self
            .viewer_states
            .iter()
            .filter(|(_, state)| state.is_connected);
        let here = here.filter_map(|(id, state)| {
            let name = state.name.clone()?;
            let is_you = *id == viewer;
            Some(PresentViewer { name, is_you })
        });
        seen.viewers = here.collect();
        if let Some(state) = self.viewer_states.get(&viewer) {
            seen.carried_out = state.carried_out;
            seen.name = state.name.clone().or(seen.name);
            if let Some((selection, explanation)) = &state.selected {
                seen.selection.clone_from(selection);
                seen.explanation.clone_from(explanation);
            }
        }
        seen
    }

    /// Returns the tree that the views show: the selected one, or the centre of the selected group.
    pub fn focus(&self) -> Option<TreeIdx> {
        match &self.selection {
            Selection::None => None,
            Selection::One(tree) => Some(*tree),
            Selection::Group(_) => self
                .explanation
                .as_ref()
                .map(|explanation| explanation.tree),
        }
    }

    /// Returns the cause that explains an abnormal tree, if known.
    pub fn cause(&self, tree: TreeIdx) -> Option<Cause> {
        self.detection.as_ref()?.cause(tree)
    }

    /// Returns why a tree is rare or long by design, if it is.
    pub fn by_design(&self, tree: TreeIdx) -> Option<&DesignClass> {
        self.detection.as_ref()?.by_design(tree)
    }

    /// Returns the role of a tree in the delays of the run.
    pub fn tree_cause(&self, tree: TreeIdx) -> Option<TreeCause> {
        self.tree_causes.as_ref()?.of(tree)
    }

    /// Returns a description of the delay of a tree; `None` for a tree that was on time.
    pub fn cause_sentence(&self, tree: TreeIdx) -> Option<String> {
        let (causes, analysis) = (self.causes.as_ref()?, self.analysis.as_ref()?);
        if self.tree_cause(tree)?.role == DelayRole::OnTime {
            return None;
        }
        let cause = causes.of_tree(&analysis.forest, tree);
        causes.sentence(analysis.forest.code(tree).rank, &cause)
    }

    /// Returns the selected delay as one path across ranks: that of the selected incident, otherwise that of the
    /// focused tree. `None` also while the calls of the incident are being fetched.
    pub fn cascade(&self) -> Option<Cascade> {
        let causes = self.causes.as_ref()?;
        if let Some(incident) = self.incident.and_then(|number| causes.incident(number)) {
            let members = TimesOf(incident.members.clone());
            let members = self.calls.as_ref()?.ask(&members)?;
            return Some(causes.cascade_of(incident, &members));
        }
        let analysis = self.analysis.as_ref()?;
        let tree = self
            .focus()
            .filter(|tree| tree.index() < analysis.forest.len())?;
        causes.cascade(&causes.of_tree(&analysis.forest, tree))
    }

    /// Returns the first entry and the last exit of the run.
    pub fn time_span(&self) -> Option<(TimeNs, TimeNs)> {
        self.calls.as_ref()?.time_span()
    }

    /// Returns the label of an execution, in whichever source it was labelled.
    pub fn record_label(&self, record: &ExecutionDocument) -> Option<Label> {
        self.record_labels.get(record.key()?)
    }

    /// Returns who gave a tree's label, and when; `None` if it has none.
    pub fn label_origin(&self, tree: TreeIdx) -> Option<&LabelOrigin> {
        let forest = &self.analysis.as_ref()?.forest;
        (self.labels).origin(self.labels.key_of(forest, tree))
    }

    /// Returns the author of a tree's label, if known.
    pub fn label_author(&self, tree: TreeIdx) -> Option<&str> {
        self.label_origin(tree)?.by.as_deref()
    }

    /// Returns the author of an execution's label, in whichever source it was labelled.
    pub fn record_label_author(&self, record: &ExecutionDocument) -> Option<&str> {
        self.record_labels.author(record.key()?)
    }

    /// Returns whether the label of a tree applies to that tree only.
    pub fn is_held(&self, tree: TreeIdx) -> bool {
        self.held.binary_search(&tree).is_ok()
    }

    /// Returns the label of a tree.
    pub fn label(&self, tree: TreeIdx) -> Option<Label> {
        self.labels_by_tree.get(tree.index()).copied().flatten()
    }
}

/// Long work in progress.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Work {
    /// The current step, as text: `Reading rank 3 of 16`.
    pub stage: String,
    /// Finished share, 0 to 1.
    pub fraction: f32,
}

/// A function that could be the root of a forest.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Suggestion {
    /// Function.
    pub func: FuncId,
    /// Name without arguments; works as a pattern.
    pub name: String,
    /// Number of executions.
    pub num_calls: usize,
    /// Median duration.
    pub median: DurationNs,
    /// Longest duration.
    pub longest: DurationNs,
    /// Mean number of calls in one execution, itself included.
    pub mean_calls: f64,
    /// Reason for the suggestion, as text.
    pub reason: String,
}

/// An embedded forest: the result of the slow part, made once per root function.
///
/// The serialised form has no trees.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Analysis {
    /// The trees.
    #[serde(skip)]
    pub forest: Forest,
    /// Name of the root function without arguments; a pattern if it matches several functions.
    pub root_name: String,
    /// Number of distinct subtree structures.
    pub num_subtrees: usize,
    /// Median duration of the trees.
    pub median_duration: DurationNs,
    /// The class of each tree, shape `[n_trees]`. Trees of one class have equal structure. Classes are numbered by
    /// descending size.
    pub structures: Vec<u32>,
    /// Share of each tree's duration that writes of the tracer explain, shape `[n_trees]`.
    pub write_shares: Vec<Option<WriteShare>>,
    /// Name of each tree, shape `[n_trees]`; empty if they are called by their codes.
    #[serde(skip)]
    pub tree_names: Vec<String>,
}

impl Analysis {
    /// Returns the name of a tree: its own one, or its code `#rank-index`.
    pub fn tree_name(&self, tree: TreeIdx) -> String {
        let name = self.tree_names.get(tree.index()).cloned();
        name.unwrap_or_else(|| self.forest.code(tree).to_string())
    }

    /// All trees with the structure of `tree`, in ascending order.
    pub fn of_same_structure(&self, tree: TreeIdx) -> Vec<TreeIdx> {
        let structure = self.structures.get(tree.index());
        let is_same = |&(_, other): &(usize, &u32)| Some(other) == structure;
        self.structures
            .iter()
            .enumerate()
            .filter(is_same)
            .map(|(index, _)| TreeIdx::from_index(index))
            .collect()
    }
}

/// Scores by one model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Detection {
    /// Score of each tree, shape `[n_trees]`; the smallest is the most abnormal. Scores order the trees;
    /// [`Detection::is_abnormal`] returns which of them are abnormal.
    pub scores: Vec<f64>,
    /// True for each tree that the model calls abnormal, ignoring causes and held labels; shape `[n_trees]`.
    pub abnormal: Vec<bool>,
    /// Share of normal trees that are at least as unusual, shape `[n_trees]`; `None` if there were
    /// too few executions to score any.
    pub p_values: Option<Vec<f64>>,
    /// The cause that explains the score of each abnormal tree, if known; shape `[n_trees]`. For trees with held labels
    /// see [`Detection::cause`].
    pub causes: Vec<Option<Cause>>,
    /// The trees that are rare or long by design.
    pub design: ByDesign,
    /// Labels that apply to their trees only, shape `[n_trees]`; empty without such labels.
    pub held: Vec<Option<Label>>,
    /// Trees by descending abnormality. Explained trees follow the other abnormal ones.
    pub order: Vec<TreeIdx>,
    /// Index of each tree in `order`, shape `[n_trees]`.
    pub place: Vec<u32>,
    /// Number of abnormal trees without a cause.
    pub num_abnormal: usize,
    /// Number of abnormal trees with a cause.
    pub num_explained: usize,
    /// Changes by the last training; `None` after the first.
    pub change: Option<Change>,
}

/// The changes that a training made.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Change {
    /// Trees that changed from normal to abnormal.
    pub became_abnormal: Vec<TreeIdx>,
    /// Trees that changed from abnormal to normal.
    pub became_normal: Vec<TreeIdx>,
    /// Index of each tree in the list before, shape `[n_trees]`.
    pub place_before: Vec<u32>,
    /// The trees of the new top list that moved most, largest move first.
    pub moves: Vec<Move>,
}

/// A tree whose index in the list changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Move {
    /// Tree.
    pub tree: TreeIdx,
    /// Index before, from 0.
    pub from: u32,
    /// Index now, from 0.
    pub to: u32,
}

/// The explanation of a tree's score.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Explanation {
    /// The tree.
    pub tree: TreeIdx,
    /// Its nearest neighbours in the space of the model, nearest first.
    pub neighbours: Vec<TreeIdx>,
    /// Its differences from the usual tree of its kind, the most important first.
    pub findings: Vec<Difference>,
    /// The tree in the middle of those that it was compared with; the tree itself if there are none.
    pub usual: TreeIdx,
    /// Number of trees that it was compared with; 0 if there is no other normal one.
    pub num_usual: usize,
    /// True if those call the same functions along the same paths as the tree.
    pub is_same_shape: bool,
}

/// A message to the user.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Notice {
    /// Number of the notice, for [`crate::Command::Dismiss`].
    pub id: u64,
    /// Severity.
    pub severity: Severity,
    /// Cause and remedy, as text.
    pub text: String,
}

/// The severity of a notice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Severity {
    /// A command succeeded.
    Info,
    /// The result has a limitation that the user should know.
    Warning,
    /// A command failed.
    Error,
}
