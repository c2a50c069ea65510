//! What there is to see: an immutable picture of the session, cheap to clone and to share.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use callgrove_judge::active::{Doubt, QueryStrategy};
use callgrove_judge::decision::{ByDesign, DesignClass};
use callgrove_judge::detector::Cause;
use callgrove_learn::cause::WriteShare;
use callgrove_model::{DurationNs, ExecRef, Forest, FuncId, TimeNs, Trace, TreeIdx};
use callgrove_trees::explain::Difference;

use crate::watch::{ExecutionDocument, Watch};
use crate::{
    Calls, Cascade, DelayRole, Label, LabelSet, Mark, ModelQuestion, ModelSettings, PatternId,
    PatternList, PatternReference, PresentViewer, RunCauses, RunTrends, RunningModels, Selection,
    TimeRange, TimesOf, TrainingQuestion, TreeCause, TreeCauses, TreeMap, ViewerId,
};

/// The state of the session at one moment. Later snapshots share what has not changed.
///
/// What is skipped in its serialised form is large and goes its own way ([`crate::wire`]), follows from what
/// is there, or is not of the session but of whoever looks at it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Grows with every snapshot.
    pub revision: u64,
    /// What is being worked on, if anything.
    pub work: Option<Work>,
    /// The source that is open or being opened, as the person named it.
    pub source: Option<String>,
    /// The trace. Where its calls are far ([`Calls::is_far`]) its lanes are empty; views ask `calls` for what is on them.
    #[serde(skip)]
    pub trace: Option<Arc<Trace>>,
    /// Its calls, to be asked for; comes with the trace.
    #[serde(skip)]
    pub calls: Option<Arc<Calls>>,
    /// Who made whom late; comes some time after the trace.
    #[serde(skip)]
    pub causes: Option<Arc<RunCauses>>,
    /// What the forest's trees were in that.
    #[serde(skip)]
    pub tree_causes: Option<Arc<TreeCauses>>,
    /// The incident that is looked at, a place in [`RunCauses::incidents`].
    #[serde(skip)]
    pub incident: Option<usize>,
    /// Persistent and slow changes; comes some time after the trace.
    #[serde(skip)]
    pub trends: Option<Arc<RunTrends>>,
    /// The trend that is looked at, an index into [`RunTrends::all`].
    #[serde(skip)]
    pub trend: Option<usize>,
    /// What is listed of what recurs; comes some time after the trace.
    #[serde(skip)]
    pub patterns: Option<Arc<PatternList>>,
    /// The pattern that is looked at.
    #[serde(skip)]
    pub pattern: Option<PatternId>,
    /// What is usual of it, and what far from that.
    #[serde(skip)]
    pub reference: PatternReference,
    /// Root functions worth looking at, most promising first.
    pub suggestions: Arc<[Suggestion]>,
    /// The forest.
    #[serde(skip)]
    pub analysis: Option<Arc<Analysis>>,
    /// Where its trees lie in the plane.
    #[serde(skip)]
    pub map: Option<Arc<TreeMap>>,
    /// Scores of the forest's trees by the newest model.
    #[serde(skip)]
    pub detection: Option<Arc<Detection>>,
    /// Labels of the forest's trees.
    pub labels: Arc<LabelSet>,
    /// The same by tree, shape `[n_trees]`.
    #[serde(skip)]
    pub labels_by_tree: Arc<[Option<Label>]>,
    /// Labels of executions by their event labels: of all records, and of the forest's trees.
    pub record_labels: Arc<LabelSet>,
    /// Marks of the run, in order of their numbers.
    pub marks: Arc<[Mark]>,
    /// Where labels and marks are kept, in words; `None` if they are lost with the session.
    pub journal: Option<Arc<str>>,
    /// How the window showed the session that was opened last, as it was given to
    /// [`crate::Command::SaveSession`].
    pub restored_view: Option<Arc<serde_json::Value>>,
    /// Labels that wait to be learned.
    pub num_untrained: usize,
    /// Labels that stand for their executions alone: the model does not learn from them.
    pub num_held: usize,
    /// The trees that have them, ascending.
    pub held: Arc<[TreeIdx]>,
    /// The training that waits for an answer ([`crate::Command::Answer`]); the scores are those before it.
    pub question: Option<Arc<TrainingQuestion>>,
    /// The model file that waits for an answer ([`crate::Command::AnswerModel`]), since it does not fit.
    pub misfit: Option<Arc<ModelQuestion>>,
    /// The models of a running job, as it was asked last.
    pub running_models: Option<Arc<RunningModels>>,
    /// Whether every label trains at once.
    pub auto_train: bool,
    /// Settings of the model.
    pub settings: ModelSettings,
    /// Those it would have by itself.
    pub default_settings: ModelSettings,
    /// How the next tree to judge is chosen.
    pub query: QueryStrategy,
    /// The next trees to judge, by that choice; empty while scores come from a model file.
    pub queue: Arc<[TreeIdx]>,
    /// Labels that disagree with their neighbourhood, the most doubtful first.
    pub doubts: Arc<[Doubt]>,
    /// Which trees are selected.
    pub selection: Selection,
    /// The call of the trace whose details are shown.
    #[serde(skip)]
    pub call: Option<ExecRef>,
    /// The stretch of time that is chosen.
    #[serde(skip)]
    pub range: Option<TimeRange>,
    /// What is known of the watched run.
    #[serde(skip)]
    pub watch: Arc<Watch>,
    /// Why the focused tree got its score; `None` until it is computed.
    pub explanation: Option<Arc<Explanation>>,
    /// Number of the viewer's newest command that was carried out; 0 where viewers are not told apart.
    pub carried_out: u64,
    /// What each of several viewers has selected who do not share `selection`.
    #[serde(skip)]
    pub looks: Arc<BTreeMap<ViewerId, Look>>,
    /// What the person is called who sees this, if that is known.
    pub name: Option<Arc<str>>,
    /// Those who look at the session at present, itself among them; none where viewers are not told apart.
    pub viewers: Arc<[PresentViewer]>,
    /// What Undo would take back, in words.
    pub undo: Option<String>,
    /// What Redo would do again, in words.
    pub redo: Option<String>,
    /// Messages to the person, oldest first.
    pub notices: Arc<[Notice]>,
}

/// What a viewer looks at.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// Which trees are selected and why the focused one got its score; `None` as long as the viewer has selected
    /// nothing since the forest was shown.
    pub selected: Option<(Selection, Option<Arc<Explanation>>)>,
    /// [`Snapshot::carried_out`].
    pub carried_out: u64,
    /// What the viewer calls itself.
    pub name: Option<Arc<str>>,
    /// Whether it is connected.
    pub is_here: bool,
}

impl Snapshot {
    /// The same as one of several viewers sees it.
    #[must_use]
    pub fn seen_by(&self, viewer: ViewerId) -> Self {
        let mut seen = self.clone();
        let here = self.looks.iter().filter(|(_, look)| look.is_here);
        let here = here.filter_map(|(id, look)| {
            let name = look.name.clone()?;
            let is_you = *id == viewer;
            Some(PresentViewer { name, is_you })
        });
        seen.viewers = here.collect();
        if let Some(look) = self.looks.get(&viewer) {
            seen.carried_out = look.carried_out;
            seen.name = look.name.clone().or(seen.name);
            if let Some((selection, explanation)) = &look.selected {
                seen.selection.clone_from(selection);
                seen.explanation.clone_from(explanation);
            }
        }
        seen
    }

    /// The tree that the views show: the selected one, or the centre of the selected group.
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

    /// What explains that a tree is abnormal, if that is known.
    pub fn cause(&self, tree: TreeIdx) -> Option<Cause> {
        self.detection.as_ref()?.cause(tree)
    }

    /// Why a tree is rare or long by design, if it is.
    pub fn by_design(&self, tree: TreeIdx) -> Option<&DesignClass> {
        self.detection.as_ref()?.by_design(tree)
    }

    /// What a tree was in the delays of the run.
    pub fn tree_cause(&self, tree: TreeIdx) -> Option<TreeCause> {
        self.tree_causes.as_ref()?.of(tree)
    }

    /// What happened to a tree, in words; `None` for one that was on time.
    pub fn cause_words(&self, tree: TreeIdx) -> Option<String> {
        let (causes, analysis) = (self.causes.as_ref()?, self.analysis.as_ref()?);
        if self.tree_cause(tree)?.role == DelayRole::OnTime {
            return None;
        }
        let cause = causes.of_tree(&analysis.forest, tree);
        causes.words(analysis.forest.code(tree).rank, &cause)
    }

    /// The delay that is looked at, as one path across ranks: that of the selected incident, else that of the
    /// focused tree. `None` also while the calls of the incident are on their way.
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

    /// First entry and last exit of the run.
    pub fn time_span(&self) -> Option<(TimeNs, TimeNs)> {
        self.calls.as_ref()?.time_span()
    }

    /// The label of an execution, in whatever source it was labelled.
    pub fn record_label(&self, record: &ExecutionDocument) -> Option<Label> {
        self.record_labels.get(record.key()?)
    }

    /// Who gave a tree its label, if that is known.
    pub fn label_author(&self, tree: TreeIdx) -> Option<&str> {
        let forest = &self.analysis.as_ref()?.forest;
        (self.labels).author(self.labels.key_of(forest, tree))
    }

    /// Who gave an execution its label, in whatever source that was.
    pub fn record_label_author(&self, record: &ExecutionDocument) -> Option<&str> {
        self.record_labels.author(record.key()?)
    }

    /// Whether the label of a tree stands for it alone.
    pub fn is_held(&self, tree: TreeIdx) -> bool {
        self.held.binary_search(&tree).is_ok()
    }

    /// The label of a tree.
    pub fn label(&self, tree: TreeIdx) -> Option<Label> {
        self.labels_by_tree.get(tree.index()).copied().flatten()
    }
}

/// Long work in progress.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Work {
    /// What is done now, in words: `Reading rank 3 of 16`.
    pub stage: String,
    /// Done so far, 0 to 1.
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
    /// Why it is suggested, in words.
    pub reason: String,
}

/// A forest and what is known of it: the result of the slow part, made once per root function.
///
/// Its serialised form is without the trees.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Analysis {
    /// The trees.
    #[serde(skip)]
    pub forest: Forest,
    /// Name of the root function without arguments, or the pattern where it names several.
    pub root_name: String,
    /// Number of distinct subtree structures.
    pub num_subtrees: usize,
    /// Median duration of the trees.
    pub median_duration: DurationNs,
    /// The class of each tree, shape `[n_trees]`: trees of one class have equal structure. Numbered
    /// from the largest class on.
    pub structures: Vec<u32>,
    /// What the tracer's writes explain of each tree, shape `[n_trees]`.
    pub write_shares: Vec<Option<WriteShare>>,
}

impl Analysis {
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
    /// Score of each tree, shape `[n_trees]`: the smallest is the most abnormal. It orders trees; which are
    /// abnormal, [`Detection::is_abnormal`] says.
    pub scores: Vec<f64>,
    /// Whether each tree is called abnormal, causes and held labels aside; shape `[n_trees]`.
    pub abnormal: Vec<bool>,
    /// Share of normal trees that stand out as much or more, shape `[n_trees]`; `None` where there were
    /// too few executions to judge any.
    pub p_values: Option<Vec<f64>>,
    /// What explains the score of each abnormal tree, where that is known; shape `[n_trees]`. Of held labels see
    /// [`Detection::cause`].
    pub causes: Vec<Option<Cause>>,
    /// Which trees are rare or long by design.
    pub design: ByDesign,
    /// Labels that stand for their trees alone, shape `[n_trees]`; empty if there are none.
    pub held: Vec<Option<Label>>,
    /// Trees from the most abnormal on; those that are explained come behind the other abnormal ones.
    pub order: Vec<TreeIdx>,
    /// Place of each tree in `order`, shape `[n_trees]`.
    pub place: Vec<u32>,
    /// Number of abnormal trees that nothing explains.
    pub num_abnormal: usize,
    /// Number of abnormal trees that a cause explains.
    pub num_explained: usize,
    /// What the last training changed; `None` after the first.
    pub change: Option<Change>,
}

/// What a training changed.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Change {
    /// Trees that were normal and are abnormal now.
    pub became_abnormal: Vec<TreeIdx>,
    /// Trees that were abnormal and are normal now.
    pub became_normal: Vec<TreeIdx>,
    /// The place of each tree before, shape `[n_trees]`.
    pub place_before: Vec<u32>,
    /// The trees of the new top list that moved most, largest move first.
    pub moves: Vec<Move>,
}

/// A tree that changed its place in the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Move {
    /// Tree.
    pub tree: TreeIdx,
    /// Place before, from 0.
    pub from: u32,
    /// Place now, from 0.
    pub to: u32,
}

/// Why a tree has its score.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Explanation {
    /// The tree.
    pub tree: TreeIdx,
    /// Its nearest neighbours in the space of the model, nearest first.
    pub neighbours: Vec<TreeIdx>,
    /// What sets it apart from the usual tree of its kind, the most important first.
    pub findings: Vec<Difference>,
    /// The tree in the middle of those it was compared with.
    pub usual: TreeIdx,
    /// Number of these.
    pub num_usual: usize,
    /// Whether they call the same functions along the same paths as the tree.
    pub is_same_shape: bool,
}

/// A message to the person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Notice {
    /// Names the notice for [`crate::Command::Dismiss`].
    pub id: u64,
    /// How serious it is.
    pub severity: Severity,
    /// What happened and what to do about it.
    pub text: String,
}

/// How serious a notice is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Severity {
    /// Something went as wished.
    Info,
    /// Something to know about the result.
    Warning,
    /// A wish could not be fulfilled.
    Error,
}
