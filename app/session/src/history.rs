//! What the person made of a run, with undo: for each edit the few values that it replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_model::{Forest, Label};

use crate::edit::{Edit, LabelChange, SavedLabel, SavedState};
use crate::label::by_tree;
use crate::{LabelKey, LabelSet, Mark, ModelSettings};

/// What is known of one execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Judgement {
    given: Option<Label>,
    /// The label that the model has learned.
    learned: Option<Label>,
}

/// Which model the scores come from.
#[derive(Clone, PartialEq, Debug)]
struct ModelChoice {
    auto_train: bool,
    file: Option<String>,
    settings: Option<ModelSettings>,
}

/// What the person made of the forest of one root function.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RootState {
    judgements: BTreeMap<LabelKey, Judgement>,
    /// Those whose label the model has not learned.
    untrained: BTreeSet<LabelKey>,
    choice: ModelChoice,
}

/// Everything that determines a model, for one forest: what is equal gives equal models.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ModelInputs {
    /// Labels to learn, shape `[n_trees]`.
    pub(crate) labels: Vec<Option<Label>>,
    /// A model file whose scores are shown instead of those of the own model.
    pub(crate) file: Option<String>,
    /// Settings of the own model; `None` are the defaults.
    pub(crate) settings: Option<ModelSettings>,
}

/// What the person made of a run, the way to it and the way on.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    roots: BTreeMap<Arc<str>, RootState>,
    marks: BTreeMap<u64, Mark>,
    past: Vec<Step>,
    future: Vec<Step>,
}

/// Something that is done to a history, and stands in the journal.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum HistoryStep {
    /// Something is changed.
    Edit {
        /// The root function that it is about, if it is about one.
        root: Option<String>,
        /// What is changed.
        edit: Edit,
    },
    /// The last edit is taken back.
    Undo,
    /// It is done again.
    Redo,
}

/// What an action changed.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Effects {
    /// The root function whose labels or model are others now.
    pub(crate) root: Option<Arc<str>>,
}

/// An edit, done or undone: what it was, and the values that it takes to turn it round.
#[derive(Clone, Debug)]
struct Step {
    what: Box<str>,
    root: Option<Arc<str>>,
    values: Values,
}

/// Values to be put in the place of others, which then are what puts all back.
#[derive(Clone, Debug, Default)]
struct Values {
    judgements: Box<[(LabelKey, Judgement)]>,
    choice: Option<Box<ModelChoice>>,
    marks: Box<[(u64, Option<Mark>)]>,
}

/// What is made of a forest that nobody has touched.
static UNTOUCHED: RootState = RootState {
    judgements: BTreeMap::new(),
    untrained: BTreeSet::new(),
    choice: ModelChoice {
        auto_train: true,
        file: None,
        settings: None,
    },
};

impl Default for RootState {
    fn default() -> Self {
        UNTOUCHED.clone()
    }
}

impl RootState {
    /// The label that a person gave.
    pub(crate) fn label(&self, key: LabelKey) -> Option<Label> {
        self.judgements.get(&key)?.given
    }

    /// All labels that a person gave.
    pub(crate) fn labels(&self) -> LabelSet {
        let given = |(key, judgement): (&LabelKey, &Judgement)| Some((*key, judgement.given?));
        self.judgements.iter().filter_map(given).collect()
    }

    /// Labels that were given, changed or taken away since the last training.
    pub(crate) fn num_untrained(&self) -> usize {
        self.untrained.len()
    }

    /// Whether every label trains at once.
    pub(crate) fn auto_train(&self) -> bool {
        self.choice.auto_train
    }

    /// Settings of the own model; `None` are the defaults.
    pub(crate) fn settings(&self) -> Option<ModelSettings> {
        self.choice.settings
    }

    /// What the model of a forest depends on.
    pub(crate) fn model_inputs(&self, forest: &Forest) -> ModelInputs {
        ModelInputs {
            labels: by_tree(forest, |key| self.judgements.get(&key)?.learned),
            file: self.choice.file.clone(),
            settings: self.choice.settings,
        }
    }

    /// The state as it is saved.
    pub(crate) fn save(&self) -> SavedState {
        let saved = |(key, judgement): (&LabelKey, &Judgement)| {
            Some(SavedLabel {
                key: *key,
                label: judgement.given?,
                trained: judgement.learned == judgement.given,
            })
        };
        SavedState {
            labels: self.judgements.iter().filter_map(saved).collect(),
            auto_train: self.choice.auto_train,
            model: self.choice.file.clone(),
            settings: self.choice.settings,
            marks: None,
        }
    }

    /// The values after an edit, of those that it changes.
    fn after(&self, edit: &Edit) -> Values {
        let mut judgements = BTreeMap::new();
        let mut choice = self.choice.clone();
        match edit {
            Edit::SetLabels(changes) => {
                for LabelChange { key, label } in changes {
                    let mut judgement = self.judgements.get(key).copied().unwrap_or_default();
                    judgement.given = *label;
                    judgements.insert(*key, judgement);
                }
                if choice.auto_train {
                    self.learn(&mut judgements, &mut choice);
                }
            }
            Edit::Train => self.learn(&mut judgements, &mut choice),
            Edit::AutoTrain(on) => {
                choice.auto_train = *on;
                if *on {
                    self.learn(&mut judgements, &mut choice);
                }
            }
            Edit::Tune(settings) => {
                choice.settings = *settings;
                choice.file = None;
            }
            Edit::LoadModel(path) => choice.file = Some(path.clone()),
            Edit::Restore(saved) => {
                judgements.extend(
                    self.judgements
                        .keys()
                        .map(|&key| (key, Judgement::default())),
                );
                judgements.extend(saved.labels.iter().map(|saved| {
                    let given = Some(saved.label);
                    let learned = given.filter(|_| saved.trained);
                    (saved.key, Judgement { given, learned })
                }));
                choice.auto_train = saved.auto_train;
                choice.file.clone_from(&saved.model);
                choice.settings = saved.settings;
            }
            Edit::SetMark(_) | Edit::DeleteMark(_) => {}
        }
        Values {
            judgements: judgements.into_iter().collect(),
            choice: (choice != self.choice).then(|| Box::new(choice)),
            marks: Box::default(),
        }
    }

    fn learn(&self, changed: &mut BTreeMap<LabelKey, Judgement>, choice: &mut ModelChoice) {
        for key in &self.untrained {
            changed.entry(*key).or_insert_with(|| self.judgements[key]);
        }
        for judgement in changed.values_mut() {
            judgement.learned = judgement.given;
        }
        choice.file = None;
    }

    /// Puts values in place; what they replaced stands in them afterwards.
    fn swap(&mut self, values: &mut Values) {
        for (key, judgement) in &mut values.judgements {
            let before = if *judgement == Judgement::default() {
                self.judgements.remove(key)
            } else {
                self.judgements.insert(*key, *judgement)
            };
            if judgement.given == judgement.learned {
                self.untrained.remove(key);
            } else {
                self.untrained.insert(*key);
            }
            *judgement = before.unwrap_or_default();
        }
        if let Some(choice) = &mut values.choice {
            std::mem::swap(&mut self.choice, choice);
        }
    }
}

impl History {
    /// What was made of the forest of a root function.
    pub(crate) fn of_root(&self, root: &str) -> &RootState {
        self.roots.get(root).unwrap_or(&UNTOUCHED)
    }

    /// Labels given to records, whatever their functions.
    pub(crate) fn record_labels(&self) -> impl Iterator<Item = (LabelKey, Label)> + '_ {
        let of_record = |(key, judgement): (&LabelKey, &Judgement)| match key {
            LabelKey::Tree(_) => None,
            LabelKey::Event(_) => Some((*key, judgement.given?)),
        };
        let judgements = self.roots.values().flat_map(|state| &state.judgements);
        judgements.filter_map(of_record)
    }

    /// Labels of all root functions.
    pub(crate) fn num_labels(&self) -> usize {
        let judgements = self
            .roots
            .values()
            .flat_map(|state| state.judgements.values());
        judgements
            .filter(|judgement| judgement.given.is_some())
            .count()
    }

    /// The marks, in order of their numbers.
    pub(crate) fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.marks.values()
    }

    /// Whether there is something to do, to undo or to redo.
    pub(crate) fn can(&self, action: &HistoryStep) -> bool {
        match action {
            HistoryStep::Edit { .. } => true,
            HistoryStep::Undo => !self.past.is_empty(),
            HistoryStep::Redo => !self.future.is_empty(),
        }
    }

    /// Carries out an action; a step back or forward without an edit to take does nothing.
    pub(crate) fn take(&mut self, action: &HistoryStep) -> Effects {
        match action {
            HistoryStep::Edit { root, edit } => {
                self.future.clear();
                self.edit(root.as_deref(), edit)
            }
            HistoryStep::Undo => self.undo(self.past.len().checked_sub(1)),
            HistoryStep::Redo => self.redo(self.future.len().checked_sub(1)),
        }
    }

    /// The same as journals of version 1 mean it: each root function has undo and redo of its own.
    pub(crate) fn take_in_root(&mut self, root: &str, action: &HistoryStep) {
        let is_in_root = |step: &Step| step.root.as_deref() == Some(root);
        match action {
            HistoryStep::Edit { edit, .. } => {
                self.future.retain(|step| !is_in_root(step));
                self.edit(Some(root), edit)
            }
            HistoryStep::Undo => self.undo(self.past.iter().rposition(is_in_root)),
            HistoryStep::Redo => self.redo(self.future.iter().rposition(is_in_root)),
        };
    }

    /// What Undo would take back, as a person reads it who looks at `root`.
    pub(crate) fn undo_text(&self, root: Option<&str>) -> Option<String> {
        self.past.last().map(|step| step.text(root))
    }

    /// What Redo would do again.
    pub(crate) fn redo_text(&self, root: Option<&str>) -> Option<String> {
        self.future.last().map(|step| step.text(root))
    }

    fn edit(&mut self, root: Option<&str>, edit: &Edit) -> Effects {
        let root: Option<Arc<str>> = root.map(|root| self.name(root));
        let mut values = root.as_deref().map_or_else(Values::default, |root| {
            self.roots.entry(root.into()).or_default().after(edit)
        });
        values.marks = self.marks_after(edit);
        let step = Step {
            what: edit.to_string().into(),
            root,
            values,
        };
        let (step, effects) = self.turn(step);
        self.past.push(step);
        effects
    }

    fn undo(&mut self, at: Option<usize>) -> Effects {
        let Some(at) = at else {
            return Effects::default();
        };
        let step = self.past.remove(at);
        let (step, effects) = self.turn(step);
        self.future.push(step);
        effects
    }

    fn redo(&mut self, at: Option<usize>) -> Effects {
        let Some(at) = at else {
            return Effects::default();
        };
        let step = self.future.remove(at);
        let (step, effects) = self.turn(step);
        self.past.push(step);
        effects
    }

    /// Puts the values of a step in place; it holds those that turn it round again.
    fn turn(&mut self, mut step: Step) -> (Step, Effects) {
        if let Some(root) = &step.root {
            let state = self.roots.entry(Arc::clone(root)).or_default();
            state.swap(&mut step.values);
        }
        for (id, mark) in &mut step.values.marks {
            *mark = match mark.take() {
                Some(mark) => self.marks.insert(*id, mark),
                None => self.marks.remove(id),
            };
        }
        let root = step.root.clone();
        (step, Effects { root })
    }

    fn marks_after(&self, edit: &Edit) -> Box<[(u64, Option<Mark>)]> {
        match edit {
            Edit::SetMark(mark) => Box::new([(mark.id, Some(mark.clone()))]),
            Edit::DeleteMark(id) => Box::new([(*id, None)]),
            Edit::Restore(SavedState {
                marks: Some(marks), ..
            }) => {
                let mut after: BTreeMap<_, _> = self.marks.keys().map(|&id| (id, None)).collect();
                after.extend(marks.iter().map(|mark| (mark.id, Some(mark.clone()))));
                after.into_iter().collect()
            }
            _ => Box::default(),
        }
    }

    /// One copy of a name serves all steps.
    fn name(&self, root: &str) -> Arc<str> {
        let known = self.roots.get_key_value(root);
        known.map_or_else(|| root.into(), |(name, _)| Arc::clone(name))
    }
}

impl Step {
    fn text(&self, root: Option<&str>) -> String {
        match &self.root {
            Some(own) if root != Some(own) => format!("{} ({own})", self.what),
            _ => self.what.to_string(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use callgrove_model::{ProgramId, RankId, TimeNs};
    use proptest::prelude::*;

    use super::*;
    use crate::{TimeRange, TreeKey};

    fn label(index: u32, label: Option<Label>) -> Edit {
        let key = LabelKey::Tree(TreeKey {
            program: ProgramId(0),
            rank: RankId(0),
            index,
        });
        Edit::SetLabels(vec![LabelChange { key, label }])
    }

    fn mark(id: u64, text: &str) -> Edit {
        let range = TimeRange::between(TimeNs(1), TimeNs(2));
        Edit::SetMark(Mark {
            id,
            range,
            text: text.to_owned(),
        })
    }

    fn of(root: &str, edit: Edit) -> HistoryStep {
        HistoryStep::Edit {
            root: Some(root.to_owned()),
            edit,
        }
    }

    fn do_in(history: &mut History, root: &str, edit: Edit) {
        history.take(&of(root, edit));
    }

    /// All that a person can see of a history, without the way to it.
    pub(crate) fn state(history: &History) -> (BTreeMap<Arc<str>, RootState>, BTreeMap<u64, Mark>) {
        let mut roots = history.roots.clone();
        roots.retain(|_, state| *state != RootState::default());
        (roots, history.marks.clone())
    }

    fn edits() -> impl Strategy<Value = Edit> {
        let value = prop_oneof![
            Just(None),
            Just(Some(Label::Normal)),
            Just(Some(Label::Abnormal))
        ];
        let tune = Edit::Tune(Some(ModelSettings {
            nu: 0.1,
            gamma: 1.0,
            rate: 0.2,
        }));
        prop_oneof![
            4 => (0..4_u32, value).prop_map(|(index, value)| label(index, value)),
            1 => Just(Edit::Train),
            1 => any::<bool>().prop_map(Edit::AutoTrain),
            1 => Just(Edit::LoadModel("m.json".into())),
            1 => Just(tune),
            1 => (0..3_u64, "[ab]").prop_map(|(id, text)| mark(id, &text)),
            1 => (0..3_u64).prop_map(Edit::DeleteMark),
            1 => (0..4_u32, any::<bool>()).prop_map(|(index, trained)| {
                let mut saved = RootState::default();
                let LabelChange { key, .. } = changes(label(index, None)).remove(0);
                let given = Some(Label::Normal);
                let learned = given.filter(|_| trained);
                saved.judgements.insert(key, Judgement { given, learned });
                Edit::Restore(SavedState { marks: Some(Vec::new()), ..saved.save() })
            }),
        ]
    }

    fn changes(edit: Edit) -> Vec<LabelChange> {
        let Edit::SetLabels(changes) = edit else {
            panic!("{edit:?} sets no labels");
        };
        changes
    }

    pub(crate) fn actions() -> impl Strategy<Value = Vec<HistoryStep>> {
        let root = prop_oneof![Just("f"), Just("g")];
        let action = prop_oneof![
            5 => (root, edits()).prop_map(|(root, edit)| of(root, edit)),
            2 => Just(HistoryStep::Undo),
            1 => Just(HistoryStep::Redo),
        ];
        proptest::collection::vec(action, 0..30)
    }

    proptest! {
        #[test]
        fn undo_takes_an_edit_back_and_redo_does_it_again(before in actions(), edit in edits()) {
            let mut history = History::default();
            for action in &before {
                history.take(action);
            }
            let start = state(&history);
            do_in(&mut history, "f", edit);
            let end = state(&history);
            history.take(&HistoryStep::Undo);
            prop_assert_eq!(&state(&history), &start);
            history.take(&HistoryStep::Redo);
            prop_assert_eq!(&state(&history), &end);
        }

        #[test]
        fn undoing_everything_leads_back_to_nothing_and_redoing_it_to_the_end(before in actions()) {
            let mut history = History::default();
            for action in &before {
                history.take(action);
            }
            while history.can(&HistoryStep::Redo) {
                history.take(&HistoryStep::Redo);
            }
            let end = state(&history);
            let mut num_undone = 0;
            while history.can(&HistoryStep::Undo) {
                history.take(&HistoryStep::Undo);
                num_undone += 1;
            }
            prop_assert_eq!(state(&history), state(&History::default()));
            for _ in 0..num_undone {
                history.take(&HistoryStep::Redo);
            }
            prop_assert_eq!(state(&history), end);
        }

        #[test]
        fn untrained_labels_are_those_that_differ_from_the_learned_ones(before in actions()) {
            let mut history = History::default();
            for action in &before {
                history.take(action);
                for state in history.roots.values() {
                    let differ = state.judgements.iter().filter(|(_, it)| it.given != it.learned);
                    prop_assert!(differ.map(|(key, _)| key).eq(&state.untrained));
                }
            }
        }
    }

    #[test]
    fn without_auto_training_labels_wait_for_training() {
        let mut history = History::default();
        do_in(&mut history, "f", Edit::AutoTrain(false));
        do_in(&mut history, "f", label(1, Some(Label::Abnormal)));
        let counts = |history: &History| {
            let state = history.of_root("f");
            (state.labels().len(), state.num_untrained())
        };
        assert_eq!(counts(&history), (1, 1));
        do_in(&mut history, "f", Edit::Train);
        assert_eq!(counts(&history), (1, 0));
    }

    #[test]
    fn a_new_edit_forgets_what_was_undone() {
        let mut history = History::default();
        do_in(&mut history, "f", label(1, Some(Label::Abnormal)));
        history.take(&HistoryStep::Undo);
        do_in(&mut history, "f", label(2, Some(Label::Normal)));
        assert!(!history.can(&HistoryStep::Redo), "the undone label is gone");
        assert_eq!(
            history.undo_text(Some("f")).as_deref(),
            Some("label #0-2 normal")
        );
        assert_eq!(
            history.undo_text(Some("g")).as_deref(),
            Some("label #0-2 normal (f)")
        );
    }

    /// Bytes of the map entries and of the steps with all that hangs on them.
    fn num_bytes(history: &History) -> usize {
        let steps = history.past.iter().chain(&history.future);
        let of_steps: usize = steps
            .map(|step| {
                let values = &step.values;
                size_of::<Step>()
                    + step.what.len()
                    + size_of_val(&*values.judgements)
                    + size_of_val(&*values.marks)
                    + values
                        .choice
                        .as_ref()
                        .map_or(0, |_| size_of::<ModelChoice>())
            })
            .sum();
        let of_roots: usize = history
            .roots
            .values()
            .map(|state| {
                state.judgements.len() * size_of::<(LabelKey, Judgement)>()
                    + state.untrained.len() * size_of::<LabelKey>()
            })
            .sum();
        of_steps + of_roots
    }

    #[test]
    fn ten_thousand_labels_and_their_undo_take_few_megabytes() {
        let mut history = History::default();
        for index in 0..10_000 {
            do_in(&mut history, "f", label(index, Some(Label::Abnormal)));
        }
        let full = num_bytes(&history);
        assert!(full < 3 << 20, "{full} bytes with all labels");
        for _ in 0..10_000 {
            history.take(&HistoryStep::Undo);
        }
        assert_eq!(history.num_labels(), 0);
        let undone = num_bytes(&history);
        assert!(undone < 3 << 20, "{undone} bytes with all undone");
    }
}
