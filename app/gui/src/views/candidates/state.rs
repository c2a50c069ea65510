//! What the list remembers, and where it leads next.

use std::collections::BTreeSet;
use std::sync::Arc;

use callgrove_model::TreeIdx;
use callgrove_session::{Analysis, Command, Detection, Label, LabelSet, Selection, Snapshot};

use super::list::{CandidateFilter, candidates, wanted_code};
use super::mini_tree::MiniTrees;

/// Choice, search and the list made of them.
#[derive(Default)]
pub struct CandidatesState {
    pub(super) filter: CandidateFilter,
    pub(super) search: String,
    pub(super) wants_search: bool,
    pub(super) minis: MiniTrees,
    shown: Vec<TreeIdx>,
    made_from: Option<Inputs>,
    /// The focused tree that the list has shown already.
    revealed: Option<TreeIdx>,
    /// Trees that the person has judged or passed over; the session may not know their labels yet.
    passed: BTreeSet<TreeIdx>,
}

/// A way through the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The next candidate.
    Next,
    /// The one before.
    Previous,
}

/// What the list depends on. The Arcs are held so that their addresses stay theirs.
struct Inputs {
    analysis: Option<Arc<Analysis>>,
    detection: Option<Arc<Detection>>,
    labels: Arc<LabelSet>,
    filter: CandidateFilter,
    search: String,
}

impl Inputs {
    fn is_same_forest(&self, snapshot: &Snapshot) -> bool {
        match (&self.analysis, &snapshot.analysis) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        }
    }

    fn is_same(&self, snapshot: &Snapshot, filter: CandidateFilter, search: &str) -> bool {
        let same_detection = match (&self.detection, &snapshot.detection) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        let same_labels = Arc::ptr_eq(&self.labels, &snapshot.labels);
        self.is_same_forest(snapshot)
            && same_detection
            && same_labels
            && self.filter == filter
            && self.search == search
    }
}

impl CandidatesState {
    /// The trees in the list, most abnormal first.
    pub fn shown(&self) -> &[TreeIdx] {
        &self.shown
    }

    /// Puts the cursor into the search field.
    pub fn begin_search(&mut self) {
        self.wants_search = true;
    }

    /// Takes filter and search away.
    pub fn show_all(&mut self) {
        self.filter = CandidateFilter::All;
        self.search.clear();
    }

    /// Makes the list again if anything it depends on has changed.
    pub fn refresh(&mut self, snapshot: &Snapshot) {
        if self
            .made_from
            .as_ref()
            .is_some_and(|inputs| inputs.is_same(snapshot, self.filter, &self.search))
        {
            return;
        }
        let is_other_forest = |inputs: &Inputs| !inputs.is_same_forest(snapshot);
        if self.made_from.as_ref().is_some_and(is_other_forest) {
            self.passed.clear();
        }
        self.shown = candidates(snapshot, self.filter, &self.search);
        self.made_from = Some(Inputs {
            analysis: snapshot.analysis.clone(),
            detection: snapshot.detection.clone(),
            labels: Arc::clone(&snapshot.labels),
            filter: self.filter,
            search: self.search.clone(),
        });
    }

    /// The tree that a step leads to from the focused one.
    pub fn step(&self, snapshot: &Snapshot, step: Step) -> Option<TreeIdx> {
        let place = &snapshot.detection.as_ref()?.place;
        let focus = snapshot.focus();
        let Some(here) = focus.and_then(|tree| place.get(tree.index())) else {
            return self.shown.first().copied();
        };
        let place_of = |tree: &TreeIdx| place[tree.index()];
        match step {
            Step::Next => {
                let after = self.shown.partition_point(|tree| place_of(tree) <= *here);
                self.shown.get(after).copied()
            }
            Step::Previous => {
                let before = self.shown.partition_point(|tree| place_of(tree) < *here);
                self.shown[..before].last().copied()
            }
        }
    }

    /// Passes over the focused tree; the answer is the next to judge.
    pub fn skip(&mut self, snapshot: &Snapshot) -> Option<TreeIdx> {
        self.passed.extend(snapshot.focus());
        self.next_to_judge(snapshot)
    }

    /// Gives what is selected a label and moves on to the next to judge. What has the label already
    /// loses it. A group stays selected, so that one sees what the label did.
    pub fn label_selection(&mut self, snapshot: &Snapshot, label: Label) -> Vec<Command> {
        match &snapshot.selection {
            Selection::None => Vec::new(),
            Selection::One(tree) => self.label_tree(snapshot, *tree, label),
            Selection::Group(trees) => {
                self.passed.extend(trees);
                vec![toggle(snapshot, trees.clone(), label)]
            }
        }
    }

    /// Gives one tree a label; if it is the focused one, moves on.
    pub(super) fn label_tree(
        &mut self,
        snapshot: &Snapshot,
        tree: TreeIdx,
        label: Label,
    ) -> Vec<Command> {
        let mut commands = vec![toggle(snapshot, vec![tree], label)];
        if snapshot.label(tree) == Some(label) {
            self.passed.remove(&tree);
            return commands;
        }
        self.passed.insert(tree);
        if snapshot.selection == Selection::One(tree) {
            let next = self.next_to_judge(snapshot);
            commands.extend(next.map(|next| Command::Select(Selection::One(next))));
        }
        commands
    }

    /// The next tree that is neither labelled nor passed over: of those that the session asks about
    /// the first that the list shows, else the most abnormal. Training moves trees, so it is looked
    /// for from the top. When none is left, those passed over come again.
    fn next_to_judge(&mut self, snapshot: &Snapshot) -> Option<TreeIdx> {
        let focus = snapshot.focus();
        let is_open = |tree: &&TreeIdx| snapshot.label(**tree).is_none() && Some(**tree) != focus;
        let passed = &self.passed;
        let is_fresh = |tree: &&TreeIdx| is_open(tree) && !passed.contains(tree);
        let asked = snapshot.queue.iter().filter(is_fresh);
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

    /// What Enter in the search field leads to: the tree with that code, or the first in the list.
    pub(super) fn first_found(&self, snapshot: &Snapshot) -> Option<TreeIdx> {
        let forest = &snapshot.analysis.as_ref()?.forest;
        let wanted = format!("#{}", wanted_code(&self.search));
        let exact = self
            .shown
            .iter()
            .find(|&&tree| forest.code(tree).to_string() == wanted);
        exact.or(self.shown.first()).copied()
    }

    /// The row of the focused tree, once after the focus has moved.
    pub(super) fn row_to_reveal(&mut self, snapshot: &Snapshot) -> Option<usize> {
        let focus = snapshot.focus();
        if focus == self.revealed {
            return None;
        }
        self.revealed = focus;
        self.shown.iter().position(|&tree| Some(tree) == focus)
    }
}

fn toggle(snapshot: &Snapshot, trees: Vec<TreeIdx>, label: Label) -> Command {
    let have_it_all = trees
        .iter()
        .all(|&tree| snapshot.label(tree) == Some(label));
    Command::SetLabel {
        trees,
        label: (!have_it_all).then_some(label),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{demo_snapshot, with_label};

    fn state(snapshot: &Snapshot) -> CandidatesState {
        let mut state = CandidatesState::default();
        state.refresh(snapshot);
        state
    }

    fn focused(snapshot: &Snapshot, tree: TreeIdx) -> Snapshot {
        Snapshot {
            selection: Selection::One(tree),
            ..snapshot.clone()
        }
    }

    fn order(snapshot: &Snapshot) -> Vec<TreeIdx> {
        snapshot.detection.as_ref().unwrap().order.clone()
    }

    #[test]
    fn candidates_come_in_order_of_score() {
        let snapshot = demo_snapshot();
        assert_eq!(state(&snapshot).shown(), order(&snapshot));
    }

    #[test]
    fn filters_take_what_they_say() {
        let snapshot = demo_snapshot();
        let first = order(&snapshot)[0];
        let snapshot = with_label(&snapshot, first, Label::Abnormal);
        let mut state = state(&snapshot);
        let mut shown = |filter| {
            state.filter = filter;
            state.refresh(&snapshot);
            state.shown().to_vec()
        };
        assert_eq!(shown(CandidateFilter::Labelled), [first]);
        assert!(!shown(CandidateFilter::Unlabelled).contains(&first));
        let num_abnormal = snapshot.detection.as_ref().unwrap().num_abnormal;
        assert_eq!(
            shown(CandidateFilter::Abnormal),
            order(&snapshot)[..num_abnormal]
        );
    }

    #[test]
    fn a_search_finds_codes_and_enter_takes_the_exact_one() {
        let snapshot = demo_snapshot();
        let forest = &snapshot.analysis.as_ref().unwrap().forest;
        let mut state = state(&snapshot);
        state.search = " #1-1".to_owned();
        state.refresh(&snapshot);
        let codes: Vec<String> = state
            .shown()
            .iter()
            .map(|&tree| forest.code(tree).to_string())
            .collect();
        assert!(
            codes.len() > 1 && codes.iter().all(|code| code.starts_with("#1-1")),
            "{codes:?}"
        );
        let found = state.first_found(&snapshot).unwrap();
        assert_eq!(forest.code(found).to_string(), "#1-1");
    }

    #[test]
    fn steps_follow_the_list_and_stop_at_its_ends() {
        let snapshot = demo_snapshot();
        let order = order(&snapshot);
        let state = state(&snapshot);
        assert_eq!(
            state.step(&snapshot, Step::Next),
            Some(order[0]),
            "nothing is focused"
        );
        let at = |tree| focused(&snapshot, tree);
        assert_eq!(state.step(&at(order[3]), Step::Next), Some(order[4]));
        assert_eq!(state.step(&at(order[3]), Step::Previous), Some(order[2]));
        assert_eq!(state.step(&at(order[0]), Step::Previous), None);
        assert_eq!(state.step(&at(order[order.len() - 1]), Step::Next), None);
    }

    #[test]
    fn labelling_moves_on_to_the_most_abnormal_without_a_label() {
        let snapshot = demo_snapshot();
        let order = order(&snapshot);
        let labelled = with_label(&snapshot, order[1], Label::Normal);
        // Training may have moved the focused tree far down.
        for focus in [order[0], order[9]] {
            let snapshot = focused(&labelled, focus);
            let next = if focus == order[0] {
                order[2]
            } else {
                order[0]
            };
            let commands = state(&snapshot).label_selection(&snapshot, Label::Abnormal);
            let expected = [
                Command::SetLabel {
                    trees: vec![focus],
                    label: Some(Label::Abnormal),
                },
                Command::Select(Selection::One(next)),
            ];
            assert_eq!(commands, expected);
        }
    }

    #[test]
    fn what_was_judged_or_passed_over_comes_again_only_when_all_else_is_done() {
        let snapshot = demo_snapshot();
        let order = order(&snapshot);
        let mut state = state(&snapshot);
        let mut focus = order[0];
        let mut visited = vec![focus];
        for turn in 0..order.len() - 1 {
            let here = focused(&snapshot, focus);
            focus = if turn % 2 == 0 {
                state.skip(&here).unwrap()
            } else {
                // The session has not answered: the snapshot shows no label.
                match &state.label_selection(&here, Label::Normal)[..] {
                    [_, Command::Select(Selection::One(next))] => *next,
                    other => panic!("moves on, not {other:?}"),
                }
            };
            visited.push(focus);
        }
        assert_eq!(visited, order);
        assert_eq!(
            state.skip(&focused(&snapshot, focus)),
            Some(order[0]),
            "around again"
        );
    }

    #[test]
    fn the_same_label_again_takes_it_away_and_stays() {
        let snapshot = demo_snapshot();
        let first = order(&snapshot)[0];
        let snapshot = focused(&with_label(&snapshot, first, Label::Normal), first);
        let commands = state(&snapshot).label_selection(&snapshot, Label::Normal);
        assert_eq!(
            commands,
            [Command::SetLabel {
                trees: vec![first],
                label: None
            }]
        );
    }

    #[test]
    fn a_group_is_labelled_as_a_whole() {
        let snapshot = demo_snapshot();
        let group = vec![TreeIdx(1), TreeIdx(5), TreeIdx(6)];
        let snapshot = Snapshot {
            selection: Selection::Group(group.clone()),
            ..snapshot
        };
        let commands = state(&snapshot).label_selection(&snapshot, Label::Abnormal);
        assert_eq!(
            commands,
            [Command::SetLabel {
                trees: group,
                label: Some(Label::Abnormal)
            }]
        );
    }
}
