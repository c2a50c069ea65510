//! The table of patterns: usual duration, and the cost of slow occurrences.

use callgrove_actions::context::ViewContext;
use callgrove_session::{InspectCommand, PatternId, Snapshot};
use callgrove_widgets::table::{Clicked, Column, Table};
use egui::Ui;

use super::state::PatternsState;

/// The columns of the table.
const COLUMNS: [Column; 8] = [
    Column::text("Pattern", 0.0),
    Column::number("Times", 62.0),
    Column::number("Ranks", 56.0),
    Column::number("Total", 68.0),
    Column::number("Usual d", 70.0),
    Column::number("Anomalous", 88.0),
    Column::number("Excess", 70.0),
    Column::number("Longest", 72.0),
];

/// Draws the table; a click selects a pattern, a second one clears the selection.
pub(super) fn listed_ui(ctx: &mut ViewContext<'_>, state: &mut PatternsState, ui: &mut Ui) {
    let Some(listed) = state.listed() else { return };
    let selected = ctx
        .snapshot
        .inspected
        .pattern
        .and_then(|id| listed.place_of(id));
    let table = Table {
        salt: "patterns",
        columns: &COLUMNS,
        num_rows: listed.len(),
        selected,
    };
    let mut sort = state.sort;
    let clicked = ui
        .scope(|ui| table.ui(ctx.theme, &mut sort, ui, |row| listed.cells(ctx.theme, row)))
        .inner;
    if let Some(Clicked::Row(row)) = clicked {
        let id = listed.at(row).filter(|_| selected != Some(row));
        ctx.send(InspectCommand::Pattern(id));
    }
    state.sort = sort;
}

/// Returns the pattern to select if the user has not chosen one: the one whose slow occurrences cost most.
pub(super) fn first(snapshot: &Snapshot, state: &PatternsState) -> Option<PatternId> {
    let is_none = snapshot.inspected.pattern.is_none() && state.revealed.is_none();
    state.listed().filter(|_| is_none)?.costliest()
}
