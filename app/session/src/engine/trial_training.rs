//! A training that has not taken effect yet.

use std::sync::Arc;

use callgrove_edits::ModelInputs;
use callgrove_model::{Label, TreeIdx};

use crate::learning::{TreeScores, Trial};
use crate::question::TrainingQuestion;
use crate::snapshot::Detection;

/// A trial training, computed without replacing the current model.
pub(super) struct TrialTraining {
    inputs: ModelInputs,
    trial: Trial,
    question: Arc<TrainingQuestion>,
    /// The scores with which it was compared.
    before: Option<Arc<Detection>>,
}

impl TrialTraining {
    /// Returns a trial training; `scores` are those of the trial with the named delays of the run. `shown` are the
    /// current scores, and the labels with which they were trained.
    pub(super) fn new(
        inputs: ModelInputs,
        trial: Trial,
        scores: TreeScores,
        shown: Option<(&Arc<Detection>, &[Option<Label>])>,
    ) -> Self {
        let question = shown.map(|(before, labels)| compare(before, labels, &inputs, scores));
        Self {
            inputs,
            trial,
            question: Arc::new(question.unwrap_or_default()),
            before: shown.map(|(before, _)| Arc::clone(before)),
        }
    }

    /// Returns the trees that it would reclassify.
    pub(super) fn question(&self) -> Arc<TrainingQuestion> {
        Arc::clone(&self.question)
    }

    /// Returns the parts that make it take effect.
    pub(super) fn into_parts(self) -> (ModelInputs, Trial) {
        (self.inputs, self.trial)
    }

    /// Returns whether it is the training of `inputs`.
    pub(super) fn is_of(&self, inputs: &ModelInputs) -> bool {
        self.inputs == *inputs
    }

    /// Returns whether it is the training of `inputs`, compared with the scores that are shown.
    pub(super) fn is_about(&self, inputs: &ModelInputs, shown: Option<&Arc<Detection>>) -> bool {
        let is_same = match (&self.before, shown) {
            (Some(before), Some(shown)) => Arc::ptr_eq(before, shown),
            (None, None) => true,
            _ => false,
        };
        is_same && self.is_of(inputs)
    }
}

/// Returns the trees that a training would reclassify, without those whose labels it is trained with.
fn compare(
    before: &Detection,
    labels_before: &[Option<Label>],
    inputs: &ModelInputs,
    scores: TreeScores,
) -> TrainingQuestion {
    let after = Detection::with_held(scores, inputs.held.clone(), Some(before));
    let change = after.change.unwrap_or_default();
    let trained = |tree: &TreeIdx| {
        let label = |labels: &[Option<Label>]| labels.get(tree.index()).copied().flatten();
        label(labels_before) != label(&inputs.labels)
    };
    let others = |trees: Vec<TreeIdx>| trees.into_iter().filter(|tree| !trained(tree)).collect();
    let all = (0..inputs.labels.len()).map(TreeIdx::from_index);
    TrainingQuestion {
        num_labels: all.filter(trained).count(),
        num_trees: inputs.labels.len(),
        would_be_abnormal: others(change.became_abnormal),
        would_be_normal: others(change.became_normal),
    }
}
