//! The user's work on the forest of one root function: labels, and the choice of the model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_model::{Forest, Label, TreeIdx};

use crate::edit::{Edit, LabelChange, ModelFile, SavedLabel, SavedState};
use crate::label::{GivenLabel, LabelKey, LabelOrigin, LabelSet, by_tree};
use crate::model::ModelSettings;

/// The label state of one execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct LabelState {
    pub(super) given: Option<Label>,
    /// Who gave the label, and when.
    pub(super) origin: LabelOrigin,
    /// The label that the model was trained with.
    pub(super) learned: Option<Label>,
    /// True if the label applies to this execution only: the model is not trained with it.
    pub(super) is_held: bool,
}

/// The choice of the model that the scores come from.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ModelChoice {
    pub(super) auto_train: bool,
    pub(super) file: Option<ModelFile>,
    pub(super) settings: Option<ModelSettings>,
    /// True if the labels that wait to be trained wait for the answer to a question.
    pub(super) is_asking: bool,
}

/// The user's work on the forest of one root function.
#[derive(Clone, PartialEq, Debug)]
pub struct RootState {
    pub(super) label_states: BTreeMap<LabelKey, LabelState>,
    /// Keys whose labels wait to be trained.
    pub(super) untrained: BTreeSet<LabelKey>,
    pub(super) choice: ModelChoice,
}

/// Everything that determines the scores and the list of a forest. Equal inputs give equal lists.
#[derive(Clone, PartialEq, Debug)]
pub struct ModelInputs {
    /// Labels to train with, shape `[n_trees]`.
    pub labels: Vec<Option<Label>>,
    /// A model file whose scores are shown instead of those of the trained model.
    pub file: Option<ModelFile>,
    /// Settings of the trained model; `None` are the defaults.
    pub settings: Option<ModelSettings>,
    /// Labels that apply to their trees only, shape `[n_trees]`; empty without such labels.
    pub held: Vec<Option<Label>>,
}

/// Label states and a choice that replace others.
#[derive(Clone, Debug, Default)]
pub(super) struct RootValues {
    pub(super) label_states: Box<[(LabelKey, LabelState)]>,
    pub(super) choice: Option<Box<ModelChoice>>,
}

/// The state of a forest before the first edit.
pub(super) static UNEDITED: RootState = RootState {
    label_states: BTreeMap::new(),
    untrained: BTreeSet::new(),
    choice: ModelChoice {
        auto_train: true,
        file: None,
        settings: None,
        is_asking: false,
    },
};

impl LabelState {
    /// Returns whether the label waits to be trained.
    pub(super) fn is_waiting(&self) -> bool {
        self.given != self.learned && !self.is_held
    }

    /// Returns the label with its key and its origin.
    pub(super) fn given_to((key, state): (&LabelKey, &Self)) -> Option<GivenLabel> {
        Some(GivenLabel {
            key: *key,
            label: state.given?,
            origin: state.origin.clone(),
        })
    }
}

impl ModelInputs {
    /// Returns whether both inputs give the same model. The lists may differ.
    pub fn is_same_model(&self, other: &Self) -> bool {
        self.labels == other.labels && self.file == other.file && self.settings == other.settings
    }
}

impl Default for RootState {
    fn default() -> Self {
        UNEDITED.clone()
    }
}

impl RootState {
    /// Returns the label that a user gave.
    pub fn label(&self, key: LabelKey) -> Option<Label> {
        self.label_states.get(&key)?.given
    }

    /// Returns all labels that users gave.
    pub fn labels(&self) -> LabelSet {
        let given = self.label_states.iter().filter_map(LabelState::given_to);
        given.collect()
    }

    /// Returns the number of labels given, changed or removed since the last training, without those that are held.
    pub fn num_untrained(&self) -> usize {
        self.untrained.len()
    }

    /// Returns the number of labels that apply to their executions only.
    pub fn num_held(&self) -> usize {
        let label_states = self.label_states.values();
        label_states
            .filter(|label_state| label_state.is_held)
            .count()
    }

    /// Returns whether the labels that wait to be trained wait for the answer to a question.
    pub fn is_asking(&self) -> bool {
        self.choice.is_asking
    }

    /// Returns whether the model is trained after every label.
    pub fn auto_train(&self) -> bool {
        self.choice.auto_train
    }

    /// Returns the settings of the trained model; `None` are the defaults.
    pub fn settings(&self) -> Option<ModelSettings> {
        self.choice.settings
    }

    /// Returns the inputs of the scores of a forest.
    pub fn model_inputs(&self, forest: &Forest) -> ModelInputs {
        ModelInputs {
            labels: by_tree(forest, |key| self.label_states.get(&key)?.learned),
            file: self.choice.file.clone(),
            settings: self.choice.settings,
            held: self.held(forest),
        }
    }

    /// Returns the inputs as they would be if all waiting labels were trained.
    pub fn inputs_if_learned(&self, forest: &Forest) -> ModelInputs {
        let label = |key| {
            let label_state = self.label_states.get(&key)?;
            if label_state.is_waiting() {
                label_state.given
            } else {
                label_state.learned
            }
        };
        ModelInputs {
            labels: by_tree(forest, label),
            file: None,
            settings: self.choice.settings,
            held: self.held(forest),
        }
    }

    /// Returns the trees with held labels, ascending.
    pub fn held_trees(&self, forest: &Forest) -> Arc<[TreeIdx]> {
        let held = self.held(forest);
        let held = held.iter().enumerate().filter(|(_, held)| held.is_some());
        held.map(|(tree, _)| TreeIdx::from_index(tree)).collect()
    }

    fn held(&self, forest: &Forest) -> Vec<Option<Label>> {
        let held = |key| {
            let label_state = self.label_states.get(&key)?;
            label_state.given.filter(|_| label_state.is_held)
        };
        if self.num_held() == 0 {
            Vec::new()
        } else {
            by_tree(forest, held)
        }
    }

    /// Returns the state in the form in which it is saved.
    pub fn save(&self) -> SavedState {
        let saved = |(key, label_state): (&LabelKey, &LabelState)| {
            Some(SavedLabel {
                key: *key,
                label: label_state.given?,
                trained: label_state.learned == label_state.given,
                held: label_state.is_held,
                by: label_state.origin.by.clone(),
                at_ns: label_state.origin.at,
            })
        };
        let file = self.choice.file.clone();
        SavedState {
            labels: self.label_states.iter().filter_map(saved).collect(),
            auto_train: self.choice.auto_train,
            model_use: file.as_ref().map(|file| file.fit).unwrap_or_default(),
            model: file.map(|file| file.path),
            settings: self.choice.settings,
            asking: self.choice.is_asking,
            marks: None,
        }
    }

    /// Returns the new values of everything that an edit changes.
    pub(super) fn after(&self, edit: &Edit, origin: &LabelOrigin) -> RootValues {
        let mut label_states = BTreeMap::new();
        let mut choice = self.choice.clone();
        match edit {
            Edit::SetLabels(changes) => {
                for LabelChange { key, label } in changes {
                    let mut label_state = self.label_states.get(key).cloned().unwrap_or_default();
                    label_state.given = *label;
                    label_state.origin = label.map(|_| origin.clone()).unwrap_or_default();
                    label_state.is_held = false;
                    label_states.insert(*key, label_state);
                }
                if choice.auto_train {
                    self.learn(&mut label_states, &mut choice);
                }
            }
            Edit::Train => self.learn(&mut label_states, &mut choice),
            Edit::AutoTrain(on) => {
                choice.auto_train = *on;
                if *on {
                    self.learn(&mut label_states, &mut choice);
                }
            }
            Edit::Hold => {
                for key in &self.untrained {
                    // If the label was removed, the model keeps the one that it was trained with.
                    let is_held = true;
                    let label_state = self.label_states[key].clone();
                    let held = LabelState {
                        is_held,
                        ..label_state
                    };
                    label_states.insert(*key, held);
                }
                choice.is_asking = false;
            }
            Edit::LearnHeld => {
                let held = self.label_states.iter().filter(|(_, it)| it.is_held);
                label_states.extend(held.map(|(key, label_state)| {
                    let is_held = false;
                    let label_state = label_state.clone();
                    let learning = LabelState {
                        is_held,
                        ..label_state
                    };
                    (*key, learning)
                }));
                self.learn(&mut label_states, &mut choice);
            }
            Edit::Tune(settings) => {
                choice.settings = *settings;
                choice.file = None;
            }
            Edit::LoadModel(path) => choice.file = Some(ModelFile::as_made(path.clone())),
            Edit::UseModel(file) => choice.file = Some(file.clone()),
            Edit::Restore(saved) => self.restore(saved, &mut label_states, &mut choice),
            Edit::SetMark(_) | Edit::DeleteMark(_) => {}
        }
        // There is nothing to ask about once no label waits.
        let mut others = self.untrained.iter();
        choice.is_asking &= others.any(|key| !label_states.contains_key(key))
            || label_states.values().any(LabelState::is_waiting);
        RootValues {
            label_states: label_states.into_iter().collect(),
            choice: (choice != self.choice).then(|| Box::new(choice)),
        }
    }

    fn learn(&self, changed: &mut BTreeMap<LabelKey, LabelState>, choice: &mut ModelChoice) {
        for key in &self.untrained {
            changed
                .entry(*key)
                .or_insert_with(|| self.label_states[key].clone());
        }
        for label_state in changed.values_mut() {
            label_state.learned = label_state.given;
        }
        choice.file = None;
        choice.is_asking = false;
    }

    fn restore(
        &self,
        saved: &SavedState,
        changed: &mut BTreeMap<LabelKey, LabelState>,
        choice: &mut ModelChoice,
    ) {
        let known = self.label_states.keys();
        changed.extend(known.map(|&key| (key, LabelState::default())));
        changed.extend(saved.labels.iter().map(|saved| {
            let given = Some(saved.label);
            let label_state = LabelState {
                given,
                learned: given.filter(|_| saved.trained),
                is_held: saved.held,
                origin: LabelOrigin {
                    by: saved.by.clone(),
                    at: saved.at_ns,
                },
            };
            (saved.key, label_state)
        }));
        let file = saved.model.clone().map(|path| ModelFile {
            path,
            fit: saved.model_use,
        });
        *choice = ModelChoice {
            auto_train: saved.auto_train,
            file,
            settings: saved.settings,
            is_asking: saved.asking,
        };
    }

    /// Swaps values into place. Afterwards `values` holds the replaced ones.
    pub(super) fn swap(&mut self, values: &mut RootValues) {
        for (key, label_state) in &mut values.label_states {
            *label_state = self.put(*key, std::mem::take(label_state));
        }
        if let Some(choice) = &mut values.choice {
            std::mem::swap(&mut self.choice, choice);
        }
    }

    /// Makes labels that an edit trained wait again, and marks a question as open. `before` holds the values that the
    /// edit replaced, and still does afterwards. `false` if the edit trained no labels.
    pub(super) fn ask(&mut self, before: &mut RootValues) -> bool {
        let mut is_changed = false;
        for (key, before) in &before.label_states {
            let now = self.label_states.get(key).cloned().unwrap_or_default();
            if now.learned != before.learned {
                let learned = before.learned;
                self.put(*key, LabelState { learned, ..now });
                is_changed = true;
            }
        }
        if is_changed {
            let now = self.choice.clone();
            let choice_before = before.choice.get_or_insert_with(|| Box::new(now));
            self.choice.file.clone_from(&choice_before.file);
            self.choice.is_asking = true;
        }
        is_changed
    }

    /// Replaces the state of one label, and returns the one before.
    fn put(&mut self, key: LabelKey, label_state: LabelState) -> LabelState {
        if label_state.is_waiting() {
            self.untrained.insert(key);
        } else {
            self.untrained.remove(&key);
        }
        let before = if label_state == LabelState::default() {
            self.label_states.remove(&key)
        } else {
            self.label_states.insert(key, label_state)
        };
        before.unwrap_or_default()
    }
}
