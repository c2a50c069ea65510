//! What judges call stack trees: the interface between a detector, which grows them, and the learning code, which this
//! crate does not know.

use std::fmt::Debug;
use std::sync::Arc;

use callgrove_model::{Forest, Reason};

/// What is said of a tree.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TreeVerdict {
    /// The smaller, the more abnormal.
    pub score: f64,
    /// Share of normal trees that stand out as much or more, in (0, 1].
    pub p_value: f64,
    /// ln of the p-value that decides, labels included, up to 0: a stream asks [`crate::RecentPValues`].
    pub decision_ln_p: f64,
    /// Whether it is called abnormal in the set of trees that are judged together.
    pub is_abnormal: bool,
    /// Share of its time in functions that no tree of the training called, 0..=1.
    pub unseen_time_share: f64,
    /// Whether no tree of the training had its structure.
    pub is_new_structure: bool,
    /// Whether the training says little of it: its structure is new, or, where nearly every tree has a structure of its
    /// own, the functions that take most of its time are.
    pub is_unlike_training: bool,
}

/// A tree model, ready to judge.
pub trait TreeJudge: Debug + Send + Sync {
    /// Names of the functions whose executions it judges, as traces have them.
    fn functions(&self) -> &[String];

    /// File names of the programs whose trees it was trained on; empty where it does not say.
    fn programs(&self) -> &[String];

    /// Share of the alarms that may be false, above 0 and below 1.
    fn false_discovery_rate(&self) -> f64 {
        0.1
    }

    /// Share of the trees of its training that it calls abnormal, 0..=1.
    fn abnormal_share(&self) -> f64 {
        0.0
    }

    /// Judges trees, shape `[n_trees]`. Only whether a tree is called abnormal depends on the trees beside it.
    ///
    /// # Errors
    /// Why they cannot be judged, in words.
    fn judge(&self, forest: &Forest) -> Result<Vec<TreeVerdict>, String>;

    /// Why each tree stands out from what is usual in the training, the most important reason first; shape
    /// `[n_trees]`. It costs more than a verdict and is meant for the few trees that are abnormal.
    ///
    /// # Errors
    /// Why they cannot be explained, in words.
    fn reasons(&self, forest: &Forest) -> Result<Vec<Vec<Reason>>, String>;
}

/// What makes judges of the bytes of models.
pub trait TreeModelReader: Debug + Send + Sync {
    /// The judge that `bytes` hold.
    ///
    /// # Errors
    /// Why this is no model that can be used, in words.
    fn read(&self, bytes: &[u8]) -> Result<Arc<dyn TreeJudge>, String>;
}
