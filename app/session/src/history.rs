//! What the person made, with undo: a list of states, since states are small and shared.

use std::sync::Arc;

use crate::journal::Edit;
use crate::{LabelSet, ModelSettings};

/// Everything that determines the model, for one root function: equal states give equal models.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct EditState {
    /// Labels given.
    pub(crate) labels: Arc<LabelSet>,
    /// Labels that the model has learned.
    pub(crate) trained: Arc<LabelSet>,
    /// Whether every label trains at once.
    pub(crate) auto_train: bool,
    /// A model file whose scores are shown instead of those of the own model.
    pub(crate) model: Option<String>,
    /// Settings of the own model; `None` are the defaults.
    pub(crate) settings: Option<ModelSettings>,
}

/// A state and the way to it and from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    now: EditState,
    /// What was done, and the state before it.
    past: Vec<(String, EditState)>,
    /// What was undone, and the state after it.
    future: Vec<(String, EditState)>,
}

impl Default for EditState {
    fn default() -> Self {
        Self {
            labels: Arc::default(),
            trained: Arc::default(),
            auto_train: true,
            model: None,
            settings: None,
        }
    }
}

impl EditState {
    /// The state after `edit`.
    fn after(&self, edit: &Edit) -> Self {
        let mut next = self.clone();
        match edit {
            Edit::SetLabels(changes) => {
                let labels = Arc::make_mut(&mut next.labels);
                for change in changes {
                    labels.set(change.tree, change.label);
                }
                if next.auto_train {
                    next.learn();
                }
            }
            Edit::Train => next.learn(),
            Edit::AutoTrain(on) => {
                next.auto_train = *on;
                if *on {
                    next.learn();
                }
            }
            Edit::Tune(settings) => {
                next.settings = *settings;
                next.model = None;
            }
            Edit::LoadModel(path) => next.model = Some(path.clone()),
            Edit::Restore(saved) => next = saved.restore(),
        }
        next
    }

    /// Whether both states have the same model.
    pub(crate) fn has_same_model(&self, other: &Self) -> bool {
        self.trained == other.trained
            && self.model == other.model
            && self.settings == other.settings
    }

    fn learn(&mut self) {
        self.trained = Arc::clone(&self.labels);
        self.model = None;
    }
}

impl History {
    /// The state now.
    pub(crate) fn now(&self) -> &EditState {
        &self.now
    }

    /// Does `edit`; what had been undone is gone.
    pub(crate) fn apply(&mut self, edit: &Edit) {
        let next = self.now.after(edit);
        let before = std::mem::replace(&mut self.now, next);
        self.past.push((edit.to_string(), before));
        self.future.clear();
    }

    /// Goes back one edit; `false` if there is none.
    pub(crate) fn undo(&mut self) -> bool {
        let Some((what, before)) = self.past.pop() else {
            return false;
        };
        let after = std::mem::replace(&mut self.now, before);
        self.future.push((what, after));
        true
    }

    /// Goes forward again; `false` if nothing was undone.
    pub(crate) fn redo(&mut self) -> bool {
        let Some((what, after)) = self.future.pop() else {
            return false;
        };
        let before = std::mem::replace(&mut self.now, after);
        self.past.push((what, before));
        true
    }

    /// What Undo would take back.
    pub(crate) fn undo_text(&self) -> Option<&str> {
        self.past.last().map(|(what, _)| what.as_str())
    }

    /// What Redo would do again.
    pub(crate) fn redo_text(&self) -> Option<&str> {
        self.future.last().map(|(what, _)| what.as_str())
    }
}

#[cfg(test)]
mod tests {
    use callgrove_model::{Label, ProgramId, RankId};
    use proptest::prelude::*;

    use super::*;
    use crate::TreeKey;
    use crate::journal::LabelChange;

    fn label(index: u32, label: Option<Label>) -> Edit {
        let tree = TreeKey {
            program: ProgramId(0),
            rank: RankId(0),
            index,
        };
        Edit::SetLabels(vec![LabelChange { tree, label }])
    }

    fn edits() -> impl Strategy<Value = Vec<Edit>> {
        let labels = prop_oneof![
            Just(None),
            Just(Some(Label::Normal)),
            Just(Some(Label::Abnormal))
        ];
        let edit = prop_oneof![
            (0..4_u32, labels).prop_map(|(index, value)| label(index, value)),
            Just(Edit::Train),
            any::<bool>().prop_map(Edit::AutoTrain),
            Just(Edit::LoadModel("m.json".into())),
            Just(Edit::Tune(Some(ModelSettings {
                nu: 0.1,
                gamma: 1.0
            }))),
        ];
        proptest::collection::vec(edit, 0..20)
    }

    proptest! {
        #[test]
        fn undoing_everything_and_redoing_it_gives_the_same_states(edits in edits()) {
            let mut history = History::default();
            let mut states = vec![history.now().clone()];
            for edit in &edits {
                history.apply(edit);
                states.push(history.now().clone());
            }
            for state in states.iter().rev().skip(1) {
                prop_assert!(history.undo(), "as many undos as edits");
                prop_assert_eq!(history.now(), state);
            }
            prop_assert!(!history.undo(), "nothing is left to undo");
            for state in states.iter().skip(1) {
                prop_assert!(history.redo(), "as many redos as undos");
                prop_assert_eq!(history.now(), state);
            }
            prop_assert!(!history.redo(), "nothing is left to redo");
        }
    }

    #[test]
    fn without_auto_training_labels_wait_for_training() {
        let mut history = History::default();
        history.apply(&Edit::AutoTrain(false));
        history.apply(&label(1, Some(Label::Abnormal)));
        assert_eq!(
            (history.now().labels.len(), history.now().trained.len()),
            (1, 0)
        );
        history.apply(&Edit::Train);
        assert_eq!(history.now().trained, history.now().labels);
    }

    #[test]
    fn a_new_edit_forgets_what_was_undone() {
        let mut history = History::default();
        history.apply(&label(1, Some(Label::Abnormal)));
        history.undo();
        history.apply(&label(2, Some(Label::Normal)));
        assert!(!history.redo(), "the undone label is gone");
        assert_eq!(history.undo_text(), Some("label #0-2 normal"));
    }
}
