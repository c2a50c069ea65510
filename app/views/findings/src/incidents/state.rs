//! The state of the list, and its next selection.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use callgrove_model::TreeIdx;
use callgrove_session::{
    CallsOutside, Command, Label, RunCauses, RunTrends, Snapshot, TreeCauses, UserCommand,
};
use callgrove_widgets::delay::{commands_to_show_incident, common_label, trees_hit};

use super::card_size;
use super::list::ListLines;
use super::trend::{self, commands_to_show_trend};

/// The unfolded incidents, and the resulting lines.
#[derive(Default)]
pub struct IncidentsState {
    unfolded: BTreeSet<usize>,
    lines: ListLines,
    /// Number of other calls that the unfolded incidents delayed, as far as known.
    others: BTreeMap<usize, usize>,
    made_from: Option<Inputs>,
    /// The incident and the trend that the list has scrolled to.
    revealed: (Option<usize>, Option<usize>),
    /// The incident that was unfolded last, until it is scrolled to.
    opened: Option<usize>,
    /// True if items by design are hidden.
    hides_by_design: bool,
}

/// The inputs of the lines. The Arcs are held so that their addresses are not reused.
#[derive(Clone)]
struct Inputs {
    causes: Option<Arc<RunCauses>>,
    trends: Option<Arc<RunTrends>>,
    trees: Option<Arc<TreeCauses>>,
    incident: Option<usize>,
    trend: Option<usize>,
    unfolded: BTreeSet<usize>,
    others: BTreeMap<usize, usize>,
    num_shown: usize,
    width: f32,
}

impl Inputs {
    fn is_same(&self, other: &Self) -> bool {
        let trees = |inputs: &Self| inputs.trees.as_ref().map(Arc::as_ptr);
        let trends = |inputs: &Self| inputs.trends.as_ref().map(Arc::as_ptr);
        self.is_of(other.causes.as_ref())
            && trees(self) == trees(other)
            && trends(self) == trends(other)
            && (self.incident, self.trend) == (other.incident, other.trend)
            && self.unfolded == other.unfolded
            && self.others == other.others
            && self.num_shown == other.num_shown
            && (self.width - other.width).abs() < 1.0
    }

    fn is_of(&self, causes: Option<&Arc<RunCauses>>) -> bool {
        self.causes.as_ref().map(Arc::as_ptr) == causes.map(Arc::as_ptr)
    }
}

impl IncidentsState {
    /// Rebuilds the lines, for cards of some width, if any of their inputs has changed.
    pub(super) fn refresh(&mut self, snapshot: &Snapshot, width: f32) {
        let hides_by_design = self.hides_by_design;
        let new = || Self {
            hides_by_design,
            ..Self::default()
        };
        let causes = snapshot.causes().cloned();
        let is_of_run = |made: &Inputs| made.is_of(causes.as_ref());
        if !self.made_from.as_ref().is_some_and(is_of_run) {
            *self = new();
        }
        let trees = snapshot.tree_causes().cloned();
        let made_of = self.made_from.as_ref().and_then(|made| made.trees.as_ref());
        if made_of.map(Arc::as_ptr) != trees.as_ref().map(Arc::as_ptr) {
            self.others.clear();
        }
        for &number in &self.unfolded {
            if !self.others.contains_key(&number)
                && let Some(causes) = &causes
                && let Some(num) = num_others(snapshot, causes, number)
            {
                self.others.insert(number, num);
            }
        }
        let inputs = Inputs {
            trees,
            trends: snapshot.trends().cloned(),
            incident: snapshot.inspected.incident,
            trend: snapshot.inspected.trend,
            unfolded: self.unfolded.clone(),
            others: self.others.clone(),
            num_shown: causes.as_deref().map_or(0, |causes| self.num_shown(causes)),
            causes,
            width,
        };
        let is_made = |made: &Inputs| made.is_same(&inputs);
        if self.made_from.as_ref().is_some_and(is_made) {
            return;
        }
        let trends = inputs.trends.iter().flat_map(|trends| {
            let numbers = 0..trends.all().len();
            numbers.map(|number| trend::height(snapshot, trends, number, width))
        });
        self.lines = ListLines::new(
            &trends.collect::<Vec<f32>>(),
            inputs.num_shown,
            &self.unfolded,
            |number| {
                let causes = inputs.causes.as_ref();
                causes.map_or(0.0, |it| card_size::height(snapshot, it, number, width))
            },
            |number| {
                let num_others = inputs.others.get(&number).copied();
                (trees_hit(snapshot, number), num_others)
            },
        );
        self.made_from = Some(inputs);
    }

    /// Returns the number of listed incidents; those by design are the last.
    pub fn num_shown(&self, causes: &RunCauses) -> usize {
        causes.incidents().len()
            - if self.hides_by_design {
                num_by_design(causes)
            } else {
                0
            }
    }

    /// Returns whether items by design are hidden.
    pub(super) fn hides_by_design_mut(&mut self) -> &mut bool {
        &mut self.hides_by_design
    }

    pub(super) fn lines(&self) -> &ListLines {
        &self.lines
    }

    /// Folds an incident, or unfolds it to the executions that it delayed.
    pub(super) fn fold(&mut self, number: usize, is_folded: bool) {
        if is_folded {
            self.unfolded.remove(&number);
        } else {
            self.unfolded.insert(number);
            self.opened = Some(number);
        }
    }

    pub(super) fn is_unfolded(&self, number: usize) -> bool {
        self.unfolded.contains(&number)
    }

    /// Returns the lines of the selected incident or trend once after the selection changed, or those of an incident
    /// that was just unfolded.
    pub(super) fn lines_to_reveal(&mut self, snapshot: &Snapshot) -> Option<RangeInclusive<usize>> {
        let opened = self.opened.take();
        let (incident, trend) = (snapshot.inspected.incident, snapshot.inspected.trend);
        let before = std::mem::replace(&mut self.revealed, (incident, trend));
        if let Some(number) = trend.filter(|_| before.1 != trend) {
            let line = self.lines.line_of_trend(number)?;
            return Some(line..=line);
        }
        let selected = incident.filter(|_| before.0 != incident);
        let number = opened.or(selected)?;
        let card = self.lines.place_of(number)?;
        Some(card..=opened.map_or(card, |_| self.lines.end_of(number)))
    }

    /// Selects the trend or incident `by` rows from the selected one; the first if there is no selection.
    pub fn step(snapshot: &Snapshot, by: isize) -> Option<[UserCommand; 2]> {
        let num_trends = num_trends(snapshot);
        let place =
            (snapshot.inspected.trend).or_else(|| Some(num_trends + snapshot.inspected.incident?));
        let next = match place {
            Some(place) => place.checked_add_signed(by)?,
            None => 0,
        };
        let Some(incident) = next.checked_sub(num_trends) else {
            return Some(commands_to_show_trend(next));
        };
        snapshot.causes()?.incident(incident)?;
        Some(commands_to_show_incident(snapshot, incident))
    }

    /// Selects the next incident that delayed any execution.
    pub fn next_hit(snapshot: &Snapshot) -> Option<[UserCommand; 2]> {
        let causes = snapshot.causes()?;
        let mut numbers =
            snapshot.inspected.incident.map_or(0, |number| number + 1)..causes.incidents().len();
        let next = numbers.find(|&number| !trees_hit(snapshot, number).is_empty())?;
        Some(commands_to_show_incident(snapshot, next))
    }

    /// Labels all executions of the selected incident, or removes their labels, with one command and so one step of
    /// Undo. `None` if they have the label already, or there is no execution to label.
    pub fn label(snapshot: &Snapshot, label: Option<Label>) -> Option<Command> {
        let trees = trees_to_label(snapshot, snapshot.inspected.incident?, label);
        let is_new = trees.iter().any(|&tree| snapshot.label(tree) != label);
        is_new.then_some(Command::SetLabel { trees, label })
    }

    /// Handles a press of a button that shows whether its label is set: removes the label if it is.
    pub(super) fn press_label(snapshot: &Snapshot, label: Label) -> Option<Command> {
        let trees = trees_to_label(snapshot, snapshot.inspected.incident?, Some(label));
        let is_on = common_label(snapshot, &trees) == Some(label);
        Self::label(snapshot, Some(label).filter(|_| !is_on))
    }
}

/// Returns the number of known trends.
pub(super) fn num_trends(snapshot: &Snapshot) -> usize {
    snapshot.trends().map_or(0, |trends| trends.all().len())
}

/// Returns the number of incidents by design.
pub(super) fn num_by_design(causes: &RunCauses) -> usize {
    let incidents = causes.incidents().iter();
    incidents.filter(|it| it.kind.is_by_design()).count()
}

/// Returns the executions of an incident that a label applies to: for "abnormal" those classified as abnormal, if there
/// are any, since not every execution that waited a little is abnormal; for any other label all.
fn trees_to_label(snapshot: &Snapshot, incident: usize, label: Option<Label>) -> Vec<TreeIdx> {
    let hit = trees_hit(snapshot, incident);
    let detection = snapshot.detection();
    let (Some(Label::Abnormal), Some(detection)) = (label, detection) else {
        return hit;
    };
    let is_abnormal = |tree: &TreeIdx| detection.is_abnormal(*tree);
    let abnormal: Vec<TreeIdx> = hit.iter().copied().filter(is_abnormal).collect();
    if abnormal.is_empty() { hit } else { abnormal }
}

/// Returns the number of calls of an incident that are in no execution of the root function; `None` while it is
/// unknown.
fn num_others(snapshot: &Snapshot, causes: &RunCauses, number: usize) -> Option<usize> {
    let functions = (snapshot.analysis()).map_or(&[][..], |known| known.forest.functions());
    let outside = CallsOutside {
        calls: causes.incident(number)?.members.clone(),
        functions: functions.to_vec(),
    };
    snapshot.calls()?.ask(&outside).as_deref().copied()
}
