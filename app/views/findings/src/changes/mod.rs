//! The Changes view: what changed from an earlier run to the open one, the costliest change first.

mod cells;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_actions::{Action, FilePurpose};
use callgrove_model::count_of;
use callgrove_model::thousands;
use callgrove_session::ComparedWith;
use callgrove_widgets::table::{Clicked, Column, Table, empty_ui};
use callgrove_widgets::view_header;
use egui::{Label, RichText, ScrollArea, Ui};

use cells::{cells, sentence};
pub use state::ChangesState;

/// Height from which the whole sentence of the selected change is shown, in points.
const SENTENCE_FROM: f32 = 160.0;
/// Maximum height of the sentence, in points.
const SENTENCE_HEIGHT: f32 = 56.0;

const COLUMNS: [Column; 6] = [
    Column::number("Cost", 76.0),
    Column::text("Change", 100.0),
    Column::text("Kind", 74.0),
    Column::text("What", 0.0),
    Column::text("Ratio (95 %)", 116.0),
    Column::number("p", 64.0),
];

/// Draws the changes; a click on one shows what it is about in the other views.
pub fn changes_ui(ctx: &mut ViewContext<'_>, state: &mut ChangesState, ui: &mut Ui) {
    let Some(comparison) = ctx.snapshot.comparison().cloned() else {
        return missing_ui(ctx, ui);
    };
    state.follow(&comparison);
    header_ui(ctx, &comparison, state, ui);
    facts_ui(ctx, &comparison, ui);
    let rows = state.order(&comparison);
    if rows.is_empty() {
        return empty_ui(&nothing_text(&comparison), ui);
    }
    if let Some(row) = state.selected(&comparison)
        && ui.available_height() >= SENTENCE_FROM
    {
        ScrollArea::vertical()
            .id_salt("sentence of the change")
            .max_height(SENTENCE_HEIGHT)
            .auto_shrink([false, true])
            .show(ui, |ui| ui.add(Label::new(sentence(row)).wrap()));
    }
    let table = Table {
        salt: "changes",
        columns: &COLUMNS,
        num_rows: rows.len(),
        selected: rows.iter().position(|&at| state.is_selected(at)),
    };
    let all: Vec<_> = state.rows(&comparison).collect();
    let drawn = |row: usize| cells(all[rows[row]]);
    let clicked = table.ui(ctx.theme, state.sort_mut(), ui, drawn);
    if let Some(Clicked::Row(row) | Clicked::Link(row)) = clicked {
        let (commands, action) = state.select(ctx.snapshot, rows[row]);
        ctx.commands.extend(commands);
        ctx.actions.extend(action);
    }
}

fn missing_ui(ctx: &mut ViewContext<'_>, ui: &mut Ui) {
    view_header(ui, "Changes", |_| {});
    let text = "What changed since an earlier run: functions, call paths, structures, iterations, waits and incidents, \
                the costliest first. The open run is AFTER, the chosen one is BEFORE.";
    empty_ui(text, ui);
    ui.vertical_centered(|ui| {
        if ui.button("Compare with an earlier run…").clicked() {
            ctx.actions.push(Action::File(FilePurpose::CompareWith));
        }
    });
}

fn header_ui(
    ctx: &mut ViewContext<'_>,
    comparison: &ComparedWith,
    state: &mut ChangesState,
    ui: &mut Ui,
) {
    let title = format!("{} changed", count_of(comparison.rows().len(), "feature"));
    view_header(ui, &title, |ui| {
        let end = ui.button("End").on_hover_text("End the comparison");
        if end.clicked() {
            ctx.actions.push(Action::EndComparison);
        }
        let num_possible = comparison.possible_rows().len();
        if num_possible > 0 {
            let text = format!("{} possible", thousands(num_possible));
            ui.checkbox(state.with_possible_mut(), text)
                .on_hover_text("List the changes that may be chance, too");
        }
    });
}

/// Draws what was compared, and what limits the comparison.
fn facts_ui(ctx: &ViewContext<'_>, comparison: &Arc<ComparedWith>, ui: &mut Ui) {
    let after = ctx.snapshot.source.as_deref().unwrap_or("the open run");
    let text = format!("BEFORE {} · AFTER {after}", comparison.source());
    ui.add(Label::new(RichText::new(text).color(ctx.theme.weak_text())).truncate());
    for limit in comparison.limits() {
        let text = RichText::new(format!("Note: {limit}")).color(ctx.theme.warning());
        ui.add(Label::new(text).wrap());
    }
}

/// Returns the sentence of a comparison without a change.
fn nothing_text(comparison: &ComparedWith) -> String {
    let tests = thousands(comparison.num_tests());
    let extent = match comparison.num_iterations() {
        Some([before, after]) => format!(
            "{} and {} iterations were compared in {tests} ways",
            thousands(before),
            thousands(after)
        ),
        None => format!("the runs were compared in {tests} ways"),
    };
    let possible = match comparison.possible_rows().len() {
        0 => String::new(),
        num => format!(" {} may be chance.", count_of(num, "difference")),
    };
    format!("Nothing changed: {extent}.{possible}")
}
