//! The Waits view: the matrix of waits between ranks, and the list of root causes, both of the selected time range, or
//! else of the whole run.

mod grid;
mod matrix;
mod order;
mod roots;
mod state;
#[cfg(test)]
mod tests;

use callgrove_actions::context::ViewContext;
use callgrove_session::{InspectCommand, Snapshot};
use callgrove_widgets::table::empty_ui;
use callgrove_widgets::{header_fact, view_header};
use egui::{Panel, Ui};

pub use state::WaitsState;

/// Width from which matrix and list are shown side by side, in points.
const BOTH_FROM: f32 = 620.0;
/// Maximum fraction of the width that the matrix takes.
const MATRIX_SHARE: f32 = 0.48;

/// Draws matrix and list.
pub fn waits_ui(ctx: &mut ViewContext<'_>, state: &mut WaitsState, ui: &mut Ui) {
    state.refresh(ctx.snapshot);
    let causes = ctx.snapshot.causes().cloned();
    let is_folded = ui.available_width() < BOTH_FROM;
    view_header(ui, "Waits", |ui| {
        if causes.is_none() {
            return;
        }
        if is_folded {
            let mut is_list = state.shows_roots;
            for (choice, name) in [(true, "Roots"), (false, "Matrix")] {
                if ui.selectable_label(is_list == choice, name).clicked() {
                    is_list = choice;
                }
            }
            state.shows_roots = is_list;
        }
        scope_ui(ctx, ui);
    });
    let Some(causes) = causes else {
        return placeholder_ui(ctx.snapshot, ui);
    };
    if is_folded {
        if state.shows_roots {
            roots::roots_ui(ctx, &causes, state, ui);
        } else {
            square_ui(ctx, state, ui);
        }
        return;
    }
    let available = ui.available_size();
    let width = (available.y + 30.0).min(available.x * MATRIX_SHARE);
    Panel::left("matrix of waits")
        .resizable(true)
        .default_size(width)
        .frame(egui::Frame::new())
        .show(ui, |ui| square_ui(ctx, state, ui));
    roots::roots_ui(ctx, &causes, state, ui);
}

/// Draws the time range of the waits, and a button that clears the selected one.
fn scope_ui(ctx: &mut ViewContext<'_>, ui: &mut Ui) {
    let Some(range) = ctx.snapshot.inspected.range else {
        header_fact(ui, "of the whole run")
            .on_hover_text("Shift+drag on the timeline to restrict this view to a time range.");
        return;
    };
    if ui
        .button("Whole run")
        .on_hover_text("Clear the selected time range")
        .clicked()
    {
        ctx.send(InspectCommand::Range(None));
    }
    header_fact(ui, format!("of {} selected", range.to.since(range.from)));
}

fn square_ui(ctx: &mut ViewContext<'_>, state: &mut WaitsState, ui: &mut Ui) {
    let max_groups = matrix::max_groups(ui.available_size());
    let Some((grid, cursor)) = state.grid(ctx.snapshot, max_groups) else {
        return empty_ui("…", ui);
    };
    if grid.len() == 0 || grid.longest().0 == 0 {
        let text = if ctx.snapshot.inspected.range.is_some() {
            "No waits between ranks in the selected time range."
        } else {
            "No waits between ranks in this trace."
        };
        return empty_ui(text, ui);
    }
    matrix::matrix_ui(ctx, grid, cursor, ui);
}

/// Draws why the view is empty.
fn placeholder_ui(snapshot: &Snapshot, ui: &mut Ui) {
    let Some(work) = &snapshot.work else {
        let text = "Wait states have not been computed. Reopen the trace to compute them.";
        return empty_ui(text, ui);
    };
    empty_ui("Computing wait states…", ui);
    let done = format!("{}, {:.0} %", work.stage, work.fraction * 100.0);
    ui.vertical_centered(|ui| ui.weak(done));
}
