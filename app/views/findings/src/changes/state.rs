//! The state of the Changes view between frames.

use std::sync::Arc;

use callgrove_actions::{Action, View};
use callgrove_session::{ChangeRow, ComparedWith, Snapshot, UserCommand};
use callgrove_widgets::delay::commands_to_show_incident;
use callgrove_widgets::table::Sort;

/// Commands and the action by which other views show a change.
pub(crate) type ShownChange = (Vec<UserCommand>, Option<Action>);

/// The order of the list and its selection.
pub struct ChangesState {
    shown: Option<Arc<ComparedWith>>,
    sort: Sort,
    with_possible: bool,
    selected: Option<usize>,
}

impl Default for ChangesState {
    fn default() -> Self {
        Self {
            shown: None,
            sort: Sort {
                column: 0,
                is_descending: true,
            },
            with_possible: false,
            selected: None,
        }
    }
}

impl ChangesState {
    /// Drops the selection of another comparison.
    pub(super) fn follow(&mut self, comparison: &Arc<ComparedWith>) {
        let is_same = (self.shown.as_ref()).is_some_and(|known| known.is_same(comparison));
        if !is_same {
            (self.shown, self.selected) = (Some(Arc::clone(comparison)), None);
        }
    }

    pub(super) fn sort_mut(&mut self) -> &mut Sort {
        &mut self.sort
    }

    pub(super) fn with_possible_mut(&mut self) -> &mut bool {
        &mut self.with_possible
    }

    /// Returns the rows that can be listed.
    pub(super) fn rows<'a>(
        &self,
        comparison: &'a ComparedWith,
    ) -> impl Iterator<Item = &'a ChangeRow> + use<'a> {
        let num_possible = if self.with_possible {
            comparison.possible_rows().len()
        } else {
            0
        };
        let possible = &comparison.possible_rows()[..num_possible];
        comparison.rows().iter().chain(possible)
    }

    /// Returns the rows in the order of the list, for a file.
    pub fn listed(&self, comparison: &ComparedWith) -> Vec<ChangeRow> {
        let all: Vec<&ChangeRow> = self.rows(comparison).collect();
        let order = self.order(comparison).into_iter();
        order.map(|at| all[at].clone()).collect()
    }

    /// Returns the rows in the order of the list, as indices into [`Self::rows`].
    pub(super) fn order(&self, comparison: &ComparedWith) -> Vec<usize> {
        let all: Vec<&ChangeRow> = self.rows(comparison).collect();
        let mut rows: Vec<usize> = (0..all.len()).collect();
        let sort = self.sort;
        match sort.column {
            0 => sort.by_number(&mut rows, |at| all[at].cost_us.unsigned_abs() as f64),
            1 => sort.by_text(&mut rows, |at| {
                (all[at].aspect, all[at].after > all[at].before)
            }),
            2 => sort.by_text(&mut rows, |at| all[at].kind),
            3 => sort.by_text(&mut rows, |at| all[at].function.to_lowercase()),
            4 => sort.by_number(&mut rows, |at| all[at].ratio.unwrap_or(f64::INFINITY)),
            _ => sort.by_number(&mut rows, |at| all[at].corrected_p),
        }
        rows
    }

    pub(super) fn is_selected(&self, row: usize) -> bool {
        self.selected == Some(row)
    }

    /// Returns the selected change.
    pub(super) fn selected<'a>(&self, comparison: &'a ComparedWith) -> Option<&'a ChangeRow> {
        self.rows(comparison).nth(self.selected?)
    }

    /// Selects a change. Returns what shows its subject in the open run.
    pub(super) fn select(&mut self, snapshot: &Snapshot, row: usize) -> ShownChange {
        self.selected = Some(row);
        let comparison = snapshot.comparison();
        let row = comparison.and_then(|comparison| self.selected(comparison));
        row.map_or_else(Default::default, |row| shown(snapshot, row))
    }

    /// Selects the change `by` rows from the selected one.
    pub fn step(&mut self, snapshot: &Snapshot, by: isize) -> ShownChange {
        let Some(comparison) = snapshot.comparison() else {
            return ShownChange::default();
        };
        self.follow(comparison);
        let order = self.order(comparison);
        let at = order.iter().position(|&row| self.is_selected(row));
        let next = at.map_or(Some(0), |at| at.checked_add_signed(by));
        match next.and_then(|next| order.get(next)) {
            Some(&row) => self.select(snapshot, row),
            None => ShownChange::default(),
        }
    }
}

/// Returns what shows the subject of a change in the open run, if it exists there.
fn shown(snapshot: &Snapshot, row: &ChangeRow) -> ShownChange {
    if let Some(causes) = snapshot.causes()
        && let Some(incident) = ComparedWith::incident(row, causes)
    {
        let commands = commands_to_show_incident(snapshot, incident);
        return (commands.into(), None);
    }
    let trace = snapshot.trace();
    if let Some(func) = trace.and_then(|trace| ComparedWith::function(row, trace)) {
        return (Vec::new(), Some(Action::FindCalls(func)));
    }
    let has_iterations = row.kind == "iterations" && snapshot.patterns().is_some();
    let action = has_iterations.then_some(Action::Show(View::Patterns));
    (Vec::new(), action)
}
