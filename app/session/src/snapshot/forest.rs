//! The part of a snapshot that concerns the forest of the root function.

use std::sync::Arc;

use callgrove_judge::decision::ByDesign;
use callgrove_judge::detector::Cause;
use callgrove_learn::cause::WriteShare;
use callgrove_model::{DurationNs, Forest, Label, TreeIdx};
use callgrove_query::TreeCauses;
use callgrove_trees::explain::Difference;
use serde::{Deserialize, Serialize};

use crate::dismissed_alarms::DismissedAlarms;
use crate::tree_map::TreeMap;

/// The forest of the root function with its map and scores.
#[derive(Clone, Debug)]
pub struct ForestSnapshot {
    /// The embedded trees.
    pub analysis: Arc<Analysis>,
    /// Positions of the trees in the plane.
    pub map: Option<Arc<TreeMap>>,
    /// Scores of the trees by the newest model.
    pub detection: Option<Arc<Detection>>,
    /// Roles of the trees in the delays of the run, once the causes of these are known.
    pub tree_causes: Option<Arc<TreeCauses>>,
}

impl ForestSnapshot {
    /// Returns the snapshot of a forest without map and scores.
    pub fn new(analysis: Arc<Analysis>) -> Self {
        Self {
            analysis,
            map: None,
            detection: None,
            tree_causes: None,
        }
    }
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
    /// What the model calls abnormal and is not reported.
    pub dismissed: DismissedAlarms,
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
