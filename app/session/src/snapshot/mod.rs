//! The state to show: an immutable snapshot of the session, cheap to clone and to share.

mod edits;
mod forest;
mod inspected;
mod model;
mod notice;
mod run;
mod viewers;

use std::sync::Arc;

use callgrove_edits::LabelOrigin;
use callgrove_judge::decision::DesignClass;
use callgrove_judge::detector::Cause;
use callgrove_model::{Label, TimeNs, Trace, TreeIdx};
use callgrove_query::{
    Calls, Cascade, DelayRole, PatternList, RunCauses, RunTrends, TimesOf, TreeCause, TreeCauses,
};
use callgrove_watch::{ExecutionDocument, Watch};
use serde::{Deserialize, Serialize};

use crate::command::Selection;
use crate::comparison::ComparedWith;
use crate::tree_map::TreeMap;
use crate::viewer::ViewerId;

pub use edits::EditsSnapshot;
pub use forest::{Analysis, Change, Detection, Explanation, ForestSnapshot, Move};
pub use inspected::Inspected;
pub use model::ModelSnapshot;
pub use notice::{Notice, Severity, Work};
pub use run::{RunSnapshot, Suggestion};
pub use viewers::{ViewerState, ViewersSnapshot};

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
    /// The open run.
    #[serde(skip)]
    pub run: Option<RunSnapshot>,
    /// The forest of the run's root function.
    #[serde(skip)]
    pub forest: Option<ForestSnapshot>,
    /// Labels and marks.
    pub edits: EditsSnapshot,
    /// The model and its questions.
    pub model: ModelSnapshot,
    /// Which trees are selected.
    pub selection: Selection,
    /// Explanation of the focused tree's score; `None` until it is computed.
    pub explanation: Option<Arc<Explanation>>,
    /// The call, incident and so on that the user inspects in this window.
    #[serde(skip)]
    pub inspected: Inspected,
    /// The state of the watched run.
    #[serde(skip)]
    pub watch: Arc<Watch>,
    /// The viewers of the session.
    pub viewers: ViewersSnapshot,
    /// Layout of the window when the session that was opened last was saved, as passed to
    /// [`crate::Command::SaveSession`].
    pub restored_view: Option<Arc<serde_json::Value>>,
    /// Messages to the user, oldest first.
    pub notices: Arc<[Notice]>,
}

impl Snapshot {
    /// Returns the snapshot as one of several viewers sees it.
    #[must_use]
    pub fn seen_by(&self, viewer: ViewerId) -> Self {
        let mut seen = self.clone();
        seen.viewers.present = self.viewers.present_for(viewer);
        if let Some(state) = self.viewers.states.get(&viewer) {
            seen.viewers.carried_out = state.carried_out;
            seen.viewers.name = state.name.clone().or(seen.viewers.name);
            if let Some((selection, explanation)) = &state.selected {
                seen.selection.clone_from(selection);
                seen.explanation.clone_from(explanation);
            }
        }
        seen
    }

    /// Deselects all trees, for all viewers.
    pub(crate) fn deselect(&mut self) {
        self.selection = Selection::None;
        self.explanation = None;
        for state in Arc::make_mut(&mut self.viewers.states).values_mut() {
            state.selected = None;
        }
    }

    /// Returns the query interface to the calls of the trace.
    pub fn calls(&self) -> Option<&Arc<Calls>> {
        Some(&self.run.as_ref()?.calls)
    }

    /// Returns the trace. If its calls are remote ([`Calls::is_remote`]), its lanes are empty; views query
    /// [`Snapshot::calls`] instead.
    pub fn trace(&self) -> Option<&Arc<Trace>> {
        Some(self.calls()?.trace())
    }

    /// Returns the trends of the run, once they are known.
    pub fn trends(&self) -> Option<&Arc<RunTrends>> {
        self.run.as_ref()?.trends.as_ref()
    }

    /// Returns the causes of the delays of the run, once they are known.
    pub fn causes(&self) -> Option<&Arc<RunCauses>> {
        self.run.as_ref()?.causes.as_ref()
    }

    /// Returns the repeated patterns of the run, once they are known.
    pub fn patterns(&self) -> Option<&Arc<PatternList>> {
        self.run.as_ref()?.patterns.as_ref()
    }

    /// Returns the comparison with an earlier run.
    pub fn comparison(&self) -> Option<&Arc<ComparedWith>> {
        self.run.as_ref()?.comparison.as_ref()
    }

    /// Returns root functions that are worth analysing, most promising first.
    pub fn suggestions(&self) -> &[Suggestion] {
        (self.run.as_ref()).map_or(&[], |run| &run.suggestions)
    }

    /// Returns the embedded forest.
    pub fn analysis(&self) -> Option<&Arc<Analysis>> {
        Some(&self.forest.as_ref()?.analysis)
    }

    /// Returns the positions of the trees in the plane.
    pub fn map(&self) -> Option<&Arc<TreeMap>> {
        self.forest.as_ref()?.map.as_ref()
    }

    /// Returns the scores of the trees.
    pub fn detection(&self) -> Option<&Arc<Detection>> {
        self.forest.as_ref()?.detection.as_ref()
    }

    /// Returns the roles of the trees in the delays of the run.
    pub fn tree_causes(&self) -> Option<&Arc<TreeCauses>> {
        self.forest.as_ref()?.tree_causes.as_ref()
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
        self.detection()?.cause(tree)
    }

    /// Returns why a tree is rare or long by design, if it is.
    pub fn by_design(&self, tree: TreeIdx) -> Option<&DesignClass> {
        self.detection()?.by_design(tree)
    }

    /// Returns the role of a tree in the delays of the run.
    pub fn tree_cause(&self, tree: TreeIdx) -> Option<TreeCause> {
        self.tree_causes()?.of(tree)
    }

    /// Returns a description of the delay of a tree; `None` for a tree that was on time.
    pub fn cause_sentence(&self, tree: TreeIdx) -> Option<String> {
        let (causes, analysis) = (self.causes()?, self.analysis()?);
        if self.tree_cause(tree)?.role == DelayRole::OnTime {
            return None;
        }
        let cause = causes.of_tree(&analysis.forest, tree);
        causes.sentence(analysis.forest.code(tree).rank, &cause)
    }

    /// Returns the selected delay as one path across ranks: that of the selected incident, otherwise that of the
    /// focused tree. `None` also while the calls of the incident are being fetched.
    pub fn cascade(&self) -> Option<Cascade> {
        let causes = self.causes()?;
        if let Some(incident) = self
            .inspected
            .incident
            .and_then(|number| causes.incident(number))
        {
            let members = TimesOf(incident.members.clone());
            let members = self.calls()?.ask(&members)?;
            return Some(causes.cascade_of(incident, &members));
        }
        let analysis = self.analysis()?;
        let tree = self
            .focus()
            .filter(|tree| tree.index() < analysis.forest.len())?;
        causes.cascade(&causes.of_tree(&analysis.forest, tree))
    }

    /// Returns the first entry and the last exit of the run.
    pub fn time_span(&self) -> Option<(TimeNs, TimeNs)> {
        self.calls()?.time_span()
    }

    /// Returns the label of an execution, in whichever source it was labelled.
    pub fn record_label(&self, record: &ExecutionDocument) -> Option<Label> {
        self.edits.record_labels.get(record.key()?)
    }

    /// Returns who gave a tree's label, and when; `None` if it has none.
    pub fn label_origin(&self, tree: TreeIdx) -> Option<&LabelOrigin> {
        let forest = &self.analysis()?.forest;
        (self.edits.labels).origin(self.edits.labels.key_of(forest, tree))
    }

    /// Returns the author of a tree's label, if known.
    pub fn label_author(&self, tree: TreeIdx) -> Option<&str> {
        self.label_origin(tree)?.by.as_deref()
    }

    /// Returns the author of an execution's label, in whichever source it was labelled.
    pub fn record_label_author(&self, record: &ExecutionDocument) -> Option<&str> {
        self.edits.record_labels.author(record.key()?)
    }

    /// Returns whether the label of a tree applies to that tree only.
    pub fn is_held(&self, tree: TreeIdx) -> bool {
        self.edits.held.binary_search(&tree).is_ok()
    }

    /// Returns the label of a tree.
    pub fn label(&self, tree: TreeIdx) -> Option<Label> {
        self.edits
            .labels_by_tree
            .get(tree.index())
            .copied()
            .flatten()
    }
}
