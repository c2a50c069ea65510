//! The state of the list, and the next execution to label.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_model::{RankId, TreeIdx};
use callgrove_session::{Analysis, Command, Detection, Label, LabelSet, Selection, Snapshot};

use super::filter_and_order::CandidateListing;
use super::mini_tree::MiniTrees;

/// Filter, search and the resulting list.
#[derive(Default)]
pub struct CandidatesState {
    pub(super) choice: CandidateListing,
    pub(super) wants_search: bool,
    pub(super) minis: MiniTrees,
    shown: Vec<TreeIdx>,
    /// The ranks of the forest, each with the number of its trees.
    ranks: BTreeMap<RankId, usize>,
    /// The last group that was selected, in ascending order.
    group: Vec<TreeIdx>,
    made_from: Option<Inputs>,
    /// The focused tree that the list has scrolled to.
    revealed: Option<TreeIdx>,
    /// Trees that the user has labelled or skipped; the session may not know their labels yet.
    passed: BTreeSet<TreeIdx>,
}

/// A step in the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// To the next candidate.
    Next,
    /// To the previous candidate.
    Previous,
}

/// The inputs of the list. The Arcs are held so that their addresses are not reused.
struct Inputs {
    analysis: Option<Arc<Analysis>>,
    detection: Option<Arc<Detection>>,
    labels: Arc<LabelSet>,
    group: Vec<TreeIdx>,
    choice: CandidateListing,
}

impl Inputs {
    fn is_same_forest(&self, snapshot: &Snapshot) -> bool {
        is_same(self.analysis.as_ref(), snapshot.analysis())
    }

    fn is_same(&self, snapshot: &Snapshot, choice: &CandidateListing, group: &[TreeIdx]) -> bool {
        self.is_same_forest(snapshot)
            && is_same(self.detection.as_ref(), snapshot.detection())
            && Arc::ptr_eq(&self.labels, &snapshot.edits.labels)
            && self.choice == *choice
            && self.group == group
    }
}

fn is_same<T>(a: Option<&Arc<T>>, b: Option<&Arc<T>>) -> bool {
    a.map(Arc::as_ptr) == b.map(Arc::as_ptr)
}

impl CandidatesState {
    /// Returns the trees in the list, in its order.
    pub fn shown(&self) -> &[TreeIdx] {
        &self.shown
    }

    /// Puts the cursor into the search field.
    pub fn begin_search(&mut self) {
        self.wants_search = true;
    }

    /// Clears all filters of the list; its order stays.
    pub fn show_all(&mut self) {
        self.choice = CandidateListing {
            order: self.choice.order,
            ..CandidateListing::default()
        };
        self.revealed = None;
    }

    /// Clears search, rank and group. Returns whether any was set.
    pub fn widen(&mut self) -> bool {
        let wide = CandidateListing {
            filter: self.choice.filter,
            order: self.choice.order,
            ..CandidateListing::default()
        };
        let was_narrow = self.choice != wide;
        self.choice = wide;
        if was_narrow {
            self.revealed = None;
        }
        was_narrow
    }

    /// Returns the ranks of the forest, each with the number of its trees.
    pub(super) fn ranks(&self) -> &BTreeMap<RankId, usize> {
        &self.ranks
    }

    /// Returns the number of trees in the last group that was selected.
    pub(super) fn num_in_group(&self) -> usize {
        self.group.len()
    }

    /// Rebuilds the list if any of its inputs has changed.
    pub fn refresh(&mut self, snapshot: &Snapshot) {
        let is_known = |inputs: &Inputs| inputs.is_same_forest(snapshot);
        if !self.made_from.as_ref().is_some_and(is_known) {
            self.begin_forest(snapshot);
        }
        if let Selection::Group(group) = &snapshot.selection
            && self.group != *group
        {
            self.group.clone_from(group);
        }
        let is_made = |inputs: &Inputs| inputs.is_same(snapshot, &self.choice, &self.group);
        if self.made_from.as_ref().is_some_and(is_made) {
            return;
        }
        self.shown = self.choice.candidates(snapshot, &self.group);
        self.made_from = Some(Inputs {
            analysis: snapshot.analysis().cloned(),
            detection: snapshot.detection().cloned(),
            labels: Arc::clone(&snapshot.edits.labels),
            group: self.group.clone(),
            choice: self.choice.clone(),
        });
    }

    /// Clears the state of the previous forest.
    fn begin_forest(&mut self, snapshot: &Snapshot) {
        self.passed.clear();
        self.group.clear();
        self.choice.only_group = false;
        self.ranks.clear();
        let trees = snapshot
            .analysis()
            .into_iter()
            .flat_map(|known| known.forest.trees());
        for tree in trees {
            *self.ranks.entry(tree.code.rank).or_default() += 1;
        }
        if self
            .choice
            .rank
            .is_some_and(|rank| !self.ranks.contains_key(&rank))
        {
            self.choice.rank = None;
        }
    }

    /// Returns the tree that a step leads to from the focused one.
    pub fn step(&self, snapshot: &Snapshot, step: Step) -> Option<TreeIdx> {
        let (analysis, detection) = (snapshot.analysis()?, snapshot.detection()?);
        let Some(here) = snapshot.focus() else {
            return self.shown.first().copied();
        };
        let order = self.choice.order;
        let is_before = |tree: TreeIdx| order.compare(analysis, detection, tree, here).is_lt();
        let before = self.shown.partition_point(|&tree| is_before(tree));
        match step {
            Step::Next => {
                let is_here = self.shown.get(before) == Some(&here);
                self.shown.get(before + usize::from(is_here)).copied()
            }
            Step::Previous => self.shown[..before].last().copied(),
        }
    }

    /// Skips the focused tree. Returns the next tree to label.
    pub fn skip(&mut self, snapshot: &Snapshot) -> Option<TreeIdx> {
        self.passed.extend(snapshot.focus());
        self.next_to_label(snapshot)
    }

    /// Labels the selection and moves on to the next tree to label; if the selection has this label already, only moves
    /// on. A group stays selected, so that the effect of the label is visible.
    pub fn label_selection(&mut self, snapshot: &Snapshot, label: Label) -> Vec<Command> {
        match &snapshot.selection {
            Selection::None => Vec::new(),
            Selection::One(tree) => self.label_tree(snapshot, *tree, label),
            Selection::Group(trees) => {
                self.passed.extend(trees);
                set_label(snapshot, trees, Some(label))
                    .into_iter()
                    .collect()
            }
        }
    }

    /// Removes the labels of the selection, which stays.
    pub fn unlabel_selection(&mut self, snapshot: &Snapshot) -> Option<Command> {
        let trees = match &snapshot.selection {
            Selection::None => &[][..],
            Selection::One(tree) => std::slice::from_ref(tree),
            Selection::Group(trees) => trees,
        };
        for tree in trees {
            self.passed.remove(tree);
        }
        set_label(snapshot, trees, None)
    }

    /// Labels one tree; if it is the selected one, moves on.
    fn label_tree(&mut self, snapshot: &Snapshot, tree: TreeIdx, label: Label) -> Vec<Command> {
        let mut commands: Vec<Command> = set_label(snapshot, &[tree], Some(label))
            .into_iter()
            .collect();
        self.passed.insert(tree);
        if snapshot.selection == Selection::One(tree) {
            let next = self.next_to_label(snapshot);
            commands.extend(next.map(|next| Command::Select(Selection::One(next))));
        }
        commands
    }

    /// Handles a press of a button that shows whether its label is set: removes the label if it is set, else sets it
    /// and moves on.
    pub(super) fn press_label(
        &mut self,
        snapshot: &Snapshot,
        tree: TreeIdx,
        label: Label,
    ) -> Vec<Command> {
        if snapshot.label(tree) != Some(label) {
            return self.label_tree(snapshot, tree, label);
        }
        self.passed.remove(&tree);
        set_label(snapshot, &[tree], None).into_iter().collect()
    }

    /// Handles a press of a label button for the selection.
    pub fn press_selection(&mut self, snapshot: &Snapshot, label: Label) -> Vec<Command> {
        match snapshot.selection {
            Selection::One(tree) => self.press_label(snapshot, tree, label),
            _ => self.label_selection(snapshot, label),
        }
    }

    /// Returns the next tree that is neither labelled nor skipped: the first query of the session that is in the list,
    /// else the most abnormal tree. Training reorders trees, so the search starts at the top. If none is left, the
    /// skipped ones come again.
    fn next_to_label(&mut self, snapshot: &Snapshot) -> Option<TreeIdx> {
        let focus = snapshot.focus();
        let is_open = |tree: &&TreeIdx| snapshot.label(**tree).is_none() && Some(**tree) != focus;
        let passed = &self.passed;
        let is_fresh = |tree: &&TreeIdx| is_open(tree) && !passed.contains(tree);
        let asked = snapshot.model.queue.iter().filter(is_fresh);
        let fresh = asked
            .into_iter()
            .find(|tree| self.shown.contains(tree))
            .or_else(|| self.shown.iter().find(is_fresh));
        if let Some(&tree) = fresh {
            return Some(tree);
        }
        self.passed.clear();
        self.shown.iter().find(is_open).copied()
    }

    /// Handles Enter in the search field: returns the tree with that code, or the first in the list. The search ends,
    /// and the list shows the tree among the others.
    pub(super) fn end_search(&mut self, snapshot: &Snapshot) -> Option<TreeIdx> {
        let forest = &snapshot.analysis()?.forest;
        let wanted = format!("#{}", self.choice.wanted_code());
        let is_exact = |tree: &&TreeIdx| forest.code(**tree).to_string() == wanted;
        let exact = self.shown.iter().find(is_exact);
        let found = exact.or(self.shown.first()).copied()?;
        self.choice.search.clear();
        self.revealed = None;
        Some(found)
    }

    /// Returns the row of the focused tree, once after the focus has moved.
    pub(super) fn row_to_reveal(&mut self, snapshot: &Snapshot) -> Option<usize> {
        let focus = snapshot.focus();
        if focus == self.revealed {
            return None;
        }
        self.revealed = focus;
        self.shown.iter().position(|&tree| Some(tree) == focus)
    }
}

/// Returns the command that labels trees, unless all have the label.
fn set_label(snapshot: &Snapshot, trees: &[TreeIdx], label: Option<Label>) -> Option<Command> {
    let is_new = trees.iter().any(|&tree| snapshot.label(tree) != label);
    is_new.then(|| Command::SetLabel {
        trees: trees.to_vec(),
        label,
    })
}
