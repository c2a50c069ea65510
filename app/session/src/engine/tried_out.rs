//! A training that has no effect yet.

use std::sync::Arc;

use callgrove_model::{Label, TreeIdx};

use crate::history::ModelInputs;
use crate::learning::Trial;
use crate::{Detection, TrainingQuestion};

/// A training beside the model that is shown.
pub(super) struct TriedOut {
    inputs: ModelInputs,
    trial: Trial,
    question: Arc<TrainingQuestion>,
    /// The scores that it was compared with.
    before: Option<Arc<Detection>>,
}

impl TriedOut {
    /// `shown` are the scores that are shown, and the labels that they were learned with.
    pub(super) fn new(
        inputs: ModelInputs,
        trial: Trial,
        shown: Option<(&Arc<Detection>, &[Option<Label>])>,
    ) -> Self {
        let question = shown.map(|(before, labels)| compare(before, labels, &inputs, &trial));
        Self {
            inputs,
            trial,
            question: Arc::new(question.unwrap_or_default()),
            before: shown.map(|(before, _)| Arc::clone(before)),
        }
    }

    /// What it would move.
    pub(super) fn question(&self) -> Arc<TrainingQuestion> {
        Arc::clone(&self.question)
    }

    /// What it takes to let it take effect.
    pub(super) fn into_parts(self) -> (ModelInputs, Trial) {
        (self.inputs, self.trial)
    }

    /// Whether it is the training of `inputs`.
    pub(super) fn is_of(&self, inputs: &ModelInputs) -> bool {
        self.inputs == *inputs
    }

    /// The same, told against the scores that are shown.
    pub(super) fn is_about(&self, inputs: &ModelInputs, shown: Option<&Arc<Detection>>) -> bool {
        let is_same = match (&self.before, shown) {
            (Some(before), Some(shown)) => Arc::ptr_eq(before, shown),
            (None, None) => true,
            _ => false,
        };
        is_same && self.is_of(inputs)
    }
}

/// Which trees a training would move, without those whose labels it learns.
fn compare(
    before: &Detection,
    labels_before: &[Option<Label>],
    inputs: &ModelInputs,
    trial: &Trial,
) -> TrainingQuestion {
    let after = Detection::with_held(trial.judged.clone(), inputs.held.clone(), Some(before));
    let change = after.change.unwrap_or_default();
    let taught = |tree: &TreeIdx| {
        let label = |labels: &[Option<Label>]| labels.get(tree.index()).copied().flatten();
        label(labels_before) != label(&inputs.labels)
    };
    let others = |trees: Vec<TreeIdx>| trees.into_iter().filter(|tree| !taught(tree)).collect();
    let all = (0..inputs.labels.len()).map(TreeIdx::from_index);
    TrainingQuestion {
        num_labels: all.filter(taught).count(),
        num_trees: inputs.labels.len(),
        would_be_abnormal: others(change.became_abnormal),
        would_be_normal: others(change.became_normal),
    }
}
