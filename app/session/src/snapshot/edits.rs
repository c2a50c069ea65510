//! The part of a snapshot that concerns the user's edits.

use std::sync::Arc;

use callgrove_edits::{LabelSet, Mark};
use callgrove_model::{Label, TreeIdx};
use serde::{Deserialize, Serialize};

/// The labels and marks of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EditsSnapshot {
    /// Labels of the forest's trees.
    pub labels: Arc<LabelSet>,
    /// The same labels by tree, shape `[n_trees]`.
    #[serde(skip)]
    pub labels_by_tree: Arc<[Option<Label>]>,
    /// Labels of executions by their event labels: of all records, and of the forest's trees.
    pub record_labels: Arc<LabelSet>,
    /// Number of labels that wait to be trained.
    pub num_untrained: usize,
    /// Number of labels that apply to their executions only: the model is not trained with them.
    pub num_held: usize,
    /// The trees with such labels, ascending.
    pub held: Arc<[TreeIdx]>,
    /// Marks of the run, in order of their numbers.
    pub marks: Arc<[Mark]>,
    /// Location of the journal of labels and marks, as text; `None` if they are lost with the session.
    pub journal: Option<Arc<str>>,
    /// Description of the edit to undo.
    pub undo: Option<String>,
    /// Description of the edit to redo.
    pub redo: Option<String>,
}
