//! What judges call stack trees: the interface between a detector, which grows them, and the learning code, which this
//! crate does not know.

use std::fmt::Debug;
use std::sync::Arc;

use callgrove_model::Forest;

/// What is said of a tree.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TreeVerdict {
    /// Signed decision value; negative = abnormal.
    pub score: f64,
    /// Share of normal trees that stand out as much or more, in (0, 1].
    pub p_value: f64,
    /// Whether the score is below 0 by more than rounding.
    pub is_abnormal: bool,
    /// Share of its time in functions that no tree of the training called, 0..=1.
    pub unseen_time_share: f64,
    /// Whether no tree of the training had its structure.
    pub is_new_structure: bool,
}

/// A tree model, ready to judge.
pub trait TreeJudge: Debug + Send + Sync {
    /// Names of the functions whose executions it judges, as traces have them.
    fn functions(&self) -> &[String];

    /// Judges trees, shape `[n_trees]`. The verdict on a tree does not depend on the trees beside it.
    ///
    /// # Errors
    /// Why they cannot be judged, in words.
    fn judge(&self, forest: &Forest) -> Result<Vec<TreeVerdict>, String>;
}

/// What makes judges of the bytes of models.
pub trait TreeModelReader: Debug + Send + Sync {
    /// The judge that `bytes` hold.
    ///
    /// # Errors
    /// Why this is no model that can be used, in words.
    fn read(&self, bytes: &[u8]) -> Result<Arc<dyn TreeJudge>, String>;
}
