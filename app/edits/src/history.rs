//! The user's work on a run, with undo: for each edit the few values that it replaced.

mod root_state;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_model::TimeNs;

use crate::edit::{Edit, SavedState};
use crate::label::{LabelKey, LabelOrigin, LabelSet};
use crate::mark::Mark;

use root_state::{LabelState, RootValues, UNEDITED};
pub use root_state::{ModelInputs, RootState};

/// The user's work on a run, with the edits to undo and to redo.
#[derive(Clone, Debug, Default)]
pub struct History {
    roots: BTreeMap<Arc<str>, RootState>,
    marks: BTreeMap<u64, Mark>,
    undo_steps: Vec<UndoStep>,
    redo_steps: Vec<UndoStep>,
    /// Authors of labels, each name once.
    authors: BTreeSet<Arc<str>>,
    /// Origin of the edits that follow.
    origin: LabelOrigin,
}

/// An action on a history, as stored in the journal.
#[derive(Clone, PartialEq, Debug)]
pub enum HistoryStep {
    /// An edit.
    Edit {
        /// The root function that it concerns, if any.
        root: Option<String>,
        /// The edit itself.
        edit: Edit,
    },
    /// Undoes the last edit.
    Undo,
    /// Redoes the last undone edit.
    Redo,
    /// Makes the training of the last edit wait for the user's answer. It is not an undoable step of its own.
    Ask,
}

/// The changes that an action made.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Effects {
    /// The root function whose labels or model changed.
    pub root: Option<Arc<str>>,
}

/// An edit, done or undone: its description, and the values that reverse it.
#[derive(Clone, Debug)]
struct UndoStep {
    description: Box<str>,
    root: Option<Arc<str>>,
    values: StepValues,
    /// True if it trained the model without asking the user.
    has_trained: bool,
}

/// Values that replace current ones. After the swap they hold the replaced values, which reverse it.
#[derive(Clone, Debug, Default)]
struct StepValues {
    of_root: RootValues,
    marks: Box<[(u64, Option<Mark>)]>,
}

impl History {
    /// Returns the work on the forest of a root function.
    pub fn of_root(&self, root: &str) -> &RootState {
        self.roots.get(root).unwrap_or(&UNEDITED)
    }

    /// Sets the author and the time of the edits that follow, as far as known.
    pub fn with_origin(&mut self, author: Option<&str>, at: Option<TimeNs>) -> &mut Self {
        let by = author.map(|author| match self.authors.get(author) {
            Some(known) => Arc::clone(known),
            None => Arc::from(author),
        });
        self.authors.extend(by.clone());
        self.origin = LabelOrigin { by, at };
        self
    }

    /// Returns the labels of records, whatever their functions.
    pub fn record_labels(&self) -> LabelSet {
        let label_states = self.roots.values().flat_map(|state| &state.label_states);
        let of_records = label_states.filter(|(key, _)| matches!(key, LabelKey::Event(_)));
        of_records.filter_map(LabelState::given_to).collect()
    }

    /// Returns the number of labels of all root functions.
    pub fn num_labels(&self) -> usize {
        let label_states = self
            .roots
            .values()
            .flat_map(|state| state.label_states.values());
        label_states
            .filter(|label_state| label_state.given.is_some())
            .count()
    }

    /// Returns the marks, in order of their numbers.
    pub fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.marks.values()
    }

    /// Returns whether an action is possible.
    pub fn can_apply(&self, action: &HistoryStep) -> bool {
        match action {
            HistoryStep::Edit { .. } => true,
            HistoryStep::Undo => !self.undo_steps.is_empty(),
            HistoryStep::Redo => !self.redo_steps.is_empty(),
            HistoryStep::Ask => self.redo_steps.is_empty() && !self.undo_steps.is_empty(),
        }
    }

    /// Carries out an action. Undo and redo without an edit to apply do nothing.
    pub fn apply(&mut self, action: &HistoryStep) -> Effects {
        match action {
            HistoryStep::Edit { root, edit } => {
                self.redo_steps.clear();
                self.edit(root.as_deref(), edit)
            }
            HistoryStep::Undo => self.undo(self.undo_steps.len().checked_sub(1)),
            HistoryStep::Redo => self.redo(self.redo_steps.len().checked_sub(1)),
            HistoryStep::Ask => self.ask(),
        }
    }

    /// Carries out an action of a journal of version 1, in which each root function has its own undo and redo.
    pub fn apply_in_root(&mut self, root: &str, action: &HistoryStep) {
        let is_in_root = |step: &UndoStep| step.root.as_deref() == Some(root);
        match action {
            HistoryStep::Edit { edit, .. } => {
                self.redo_steps.retain(|step| !is_in_root(step));
                self.edit(Some(root), edit)
            }
            HistoryStep::Undo => self.undo(self.undo_steps.iter().rposition(is_in_root)),
            HistoryStep::Redo => self.redo(self.redo_steps.iter().rposition(is_in_root)),
            // Version 1 never asked.
            HistoryStep::Ask => Effects::default(),
        };
    }

    /// Returns the state of a root function before the last edit, if that edit trained the model without an answer.
    pub fn before_training(&self, root: &str) -> Option<RootState> {
        let last = self
            .undo_steps
            .last()
            .filter(|_| self.redo_steps.is_empty())?;
        if !last.has_trained || last.root.as_deref() != Some(root) {
            return None;
        }
        let mut state = self.of_root(root).clone();
        state.swap(&mut last.values.of_root.clone());
        Some(state)
    }

    /// Marks the last edit as one of a version that did not ask.
    pub fn clear_training(&mut self) {
        if let Some(last) = self.undo_steps.last_mut() {
            last.has_trained = false;
        }
    }

    /// Returns a description of the edit to undo, for a user who views `root`.
    pub fn undo_text(&self, root: Option<&str>) -> Option<String> {
        self.undo_steps.last().map(|step| step.text(root))
    }

    /// Returns a description of the edit to redo.
    pub fn redo_text(&self, root: Option<&str>) -> Option<String> {
        self.redo_steps.last().map(|step| step.text(root))
    }

    fn edit(&mut self, root: Option<&str>, edit: &Edit) -> Effects {
        let root: Option<Arc<str>> = root.map(|root| self.name(root));
        let is_answer = *edit == Edit::Train
            && root
                .as_deref()
                .is_some_and(|root| self.of_root(root).is_asking());
        let has_trained = edit.trains() && !is_answer;
        let values = StepValues {
            of_root: root.as_deref().map_or_else(RootValues::default, |root| {
                let state = self.roots.entry(root.into()).or_default();
                state.after(edit, &self.origin)
            }),
            marks: self.marks_after(edit),
        };
        let step = UndoStep {
            description: edit.to_string().into(),
            root,
            values,
            has_trained,
        };
        let (step, effects) = self.swap_in(step);
        self.undo_steps.push(step);
        effects
    }

    fn undo(&mut self, at: Option<usize>) -> Effects {
        let Some(at) = at else {
            return Effects::default();
        };
        let step = self.undo_steps.remove(at);
        let (step, effects) = self.swap_in(step);
        self.redo_steps.push(step);
        effects
    }

    fn redo(&mut self, at: Option<usize>) -> Effects {
        let Some(at) = at else {
            return Effects::default();
        };
        let step = self.redo_steps.remove(at);
        let (step, effects) = self.swap_in(step);
        self.undo_steps.push(step);
        effects
    }

    /// Makes the labels of the last edit wait for an answer. Undo still reverses the whole edit.
    fn ask(&mut self) -> Effects {
        let last = self
            .undo_steps
            .last_mut()
            .filter(|_| self.redo_steps.is_empty());
        let asked = last.and_then(|step| {
            let root = step.root.clone()?;
            let state = self.roots.get_mut(&root)?;
            state.ask(&mut step.values.of_root).then_some(root)
        });
        Effects { root: asked }
    }

    /// Applies the values of a step. The returned step reverses it.
    fn swap_in(&mut self, mut step: UndoStep) -> (UndoStep, Effects) {
        if let Some(root) = &step.root {
            let state = self.roots.entry(Arc::clone(root)).or_default();
            state.swap(&mut step.values.of_root);
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

    /// Returns a shared copy of a name, one for all steps.
    fn name(&self, root: &str) -> Arc<str> {
        let known = self.roots.get_key_value(root);
        known.map_or_else(|| root.into(), |(name, _)| Arc::clone(name))
    }
}

impl UndoStep {
    fn text(&self, root: Option<&str>) -> String {
        match &self.root {
            Some(own) if root != Some(own) => format!("{} ({own})", self.description),
            _ => self.description.to_string(),
        }
    }
}
