//! Questions to the user before a change takes effect: trainings that reclassify many executions, and models that
//! do not fit the run.

use serde::{Deserialize, Serialize};

use callgrove_judge::detector::Misfit;
use callgrove_model::TreeIdx;

use crate::model::ModelOrigin;

/// A training may reclassify one in this many trees without a question.
const UNASKED_ONE_IN: usize = 50;
/// Number of trees that may be reclassified without a question in a small forest.
const MAX_UNASKED: usize = 5;

/// A training that would reclassify many executions.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TrainingQuestion {
    /// Number of labels to train with.
    pub num_labels: usize,
    /// Number of trees in the forest.
    pub num_trees: usize,
    /// Unlabelled trees that would change from normal to abnormal, most abnormal first.
    pub would_be_abnormal: Vec<TreeIdx>,
    /// Unlabelled trees that would change from abnormal to normal, most abnormal first.
    pub would_be_normal: Vec<TreeIdx>,
}

/// A model file that does not fit the forest.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ModelQuestion {
    /// The file.
    pub path: String,
    /// The programs and functions that it was trained on.
    pub origin: ModelOrigin,
    /// Reason of the misfit.
    pub misfit: Misfit,
    /// Number of trees in the forest.
    pub num_trees: usize,
    /// Number of trees that it calls abnormal unchanged.
    pub num_abnormal: usize,
    /// Number of trees that it calls abnormal with p-values of this run.
    pub num_abnormal_refitted: usize,
}

/// The answer to a [`TrainingQuestion`]. The third possible answer is [`crate::Command::Undo`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TrainingAnswer {
    /// Train the model with the labels.
    Keep,
    /// Apply the labels to their executions only; the model is not trained with them.
    OnlyThese,
}

/// The answer to a [`ModelQuestion`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ModelAnswer {
    /// Use the scores of the model unchanged.
    UseAnyway,
    /// Use the scores of the model with p-values of this run.
    Refit,
    /// Change nothing.
    Cancel,
}

impl TrainingQuestion {
    /// Returns the number of trees that would be reclassified.
    pub fn num_moved(&self) -> usize {
        self.would_be_abnormal.len() + self.would_be_normal.len()
    }

    /// Returns whether enough trees would be reclassified to ask the user.
    pub(crate) fn is_needed(&self) -> bool {
        self.num_moved() > MAX_UNASKED && self.num_moved() * UNASKED_ONE_IN > self.num_trees
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_one_in_fifty_and_more_than_five_are_asked_about() {
        let is_needed = |num_moved, num_trees| {
            let question = TrainingQuestion {
                num_trees,
                would_be_normal: vec![TreeIdx(0); num_moved],
                ..TrainingQuestion::default()
            };
            question.is_needed()
        };
        assert!(!is_needed(5, 40), "few");
        assert!(is_needed(6, 40));
        assert!(!is_needed(20, 1_000), "one in fifty");
        assert!(is_needed(21, 1_000));
    }
}
