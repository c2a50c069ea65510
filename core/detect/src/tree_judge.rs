//! The interface of judges of call stack trees, between a detector, which builds the trees, and the learning code, on
//! which this crate does not depend.

use std::fmt::Debug;
use std::sync::Arc;

use callgrove_model::{Forest, Reason};

/// The verdict on a tree.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TreeVerdict {
    /// The score; smaller is more abnormal.
    pub score: f64,
    /// Share of normal trees that are at least as unusual, in (0, 1].
    pub p_value: f64,
    /// ln of the p-value that decides, including labels, up to 0; for streams see [`crate::RecentPValues`].
    pub decision_ln_p: f64,
    /// True if the tree is abnormal in the set of trees that are judged together.
    pub is_abnormal: bool,
    /// Share of the tree's time in functions that no tree of the training called, 0..=1.
    pub unseen_time_share: f64,
    /// True if no tree of the training had its structure.
    pub is_new_structure: bool,
    /// True if the training says little about the tree: its structure is new, or, where nearly every tree has its own
    /// structure, the functions that take most of its time are new.
    pub is_unlike_training: bool,
}

/// A tree model, ready to judge.
pub trait TreeJudge: Debug + Send + Sync {
    /// Returns the names of the functions whose executions it judges, as in traces.
    fn functions(&self) -> &[String];

    /// Returns the file names of the programs whose trees it was trained on; empty if unknown.
    fn programs(&self) -> &[String];

    /// Returns the share of alarms that may be false, above 0 and below 1.
    fn false_discovery_rate(&self) -> f64 {
        0.1
    }

    /// Returns the share of its training trees that it calls abnormal, 0..=1.
    fn abnormal_share(&self) -> f64 {
        0.0
    }

    /// Judges trees, shape `[n_trees]`. Only `is_abnormal` depends on the other trees.
    ///
    /// # Errors
    /// As text, if the trees cannot be judged.
    fn judge(&self, forest: &Forest) -> Result<Vec<TreeVerdict>, String>;

    /// Returns how each tree differs from the usual trees of the training, the most important reason first; shape
    /// `[n_trees]`. It is more expensive than a verdict and meant for the few abnormal trees.
    ///
    /// # Errors
    /// As text, if the trees cannot be explained.
    fn reasons(&self, forest: &Forest) -> Result<Vec<Vec<Reason>>, String>;
}

/// A reader that makes judges from the bytes of models.
pub trait TreeModelReader: Debug + Send + Sync {
    /// Returns the judge stored in `bytes`.
    ///
    /// # Errors
    /// As text, if this is not a usable model.
    fn read(&self, bytes: &[u8]) -> Result<Arc<dyn TreeJudge>, String>;
}
