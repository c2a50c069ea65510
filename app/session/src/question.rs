//! What the person is asked before it takes effect: trainings that move many executions, and models that are
//! not made for the run.

use serde::{Deserialize, Serialize};

use callgrove_judge::detector::Misfit;
use callgrove_model::TreeIdx;

use crate::ModelOrigin;

/// One in so many trees may change sides without a question.
const MANY_IN: usize = 50;
/// So many may in small forests.
const FEW: usize = 5;

/// A training that would move many executions from normal to abnormal or back.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TrainingQuestion {
    /// Labels that it would learn.
    pub num_labels: usize,
    /// Trees of the forest.
    pub num_trees: usize,
    /// Trees without such a label that are normal and would be abnormal, most abnormal first.
    pub would_be_abnormal: Vec<TreeIdx>,
    /// Trees without such a label that are abnormal and would be normal, most abnormal first.
    pub would_be_normal: Vec<TreeIdx>,
}

/// A model file that is not made for the forest.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ModelQuestion {
    /// The file.
    pub path: String,
    /// What it was made for.
    pub origin: ModelOrigin,
    /// Why it does not fit.
    pub misfit: Misfit,
    /// Trees of the forest.
    pub num_trees: usize,
    /// Those of them that it calls abnormal as it is.
    pub num_abnormal: usize,
    /// Those of them that it calls abnormal with p-values of the run itself.
    pub num_abnormal_refitted: usize,
}

/// The answer to a [`TrainingQuestion`]; a third is [`crate::Command::Undo`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TrainingAnswer {
    /// The model learns the labels.
    Keep,
    /// The labels stand for their executions alone; the model does not learn from them.
    OnlyThese,
}

/// The answer to a [`ModelQuestion`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ModelAnswer {
    /// The scores are those of the model as it is.
    UseAnyway,
    /// The same with p-values of the run itself.
    Refit,
    /// Nothing changes.
    Cancel,
}

impl TrainingQuestion {
    /// Trees that would change sides.
    pub fn num_moved(&self) -> usize {
        self.would_be_abnormal.len() + self.would_be_normal.len()
    }

    /// Whether so many would move that the person is asked.
    pub(crate) fn is_needed(&self) -> bool {
        self.num_moved() > FEW && self.num_moved() * MANY_IN > self.num_trees
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
