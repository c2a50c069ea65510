//! The Patterns view: recurring call sequences of the run, their usual durations, and which of their occurrences took
//! too long.
//!
//! The durations of a pattern are a curve. The user drags q (the fastest share, which is usual) and s (an occurrence
//! longer than s times the usual duration is anomalous) on it; the timeline underlines the anomalous occurrences.

mod curve;
mod definition;
mod handles;
mod imbalance;
mod occurrence_rows;
mod occurrences;
mod part;
mod pattern_rows;
mod pattern_table;
mod picture;
mod scale;
mod selected_pattern;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_model::count_of;
use callgrove_session::{InspectCommand, PatternList, Snapshot};
use callgrove_widgets::table::empty_ui;
use callgrove_widgets::view_header;
use egui::{Key, Panel, Ui, Vec2};

use part::part_ui;
pub use picture::patterns_picture_ui;
pub use state::PatternsState;
use state::ShownPart;

/// Size from which all parts are shown together, in points.
const ALL_PARTS: Vec2 = Vec2::new(520.0, 400.0);
/// Height from which the strip of iterations is shown, in points.
const STRIP_FROM: f32 = 300.0;
/// Fraction of the height that the table has.
const TABLE_SHARE: f32 = 0.36;
/// Fraction of the width that the curve has next to the list.
const CURVE_SHARE: f32 = 0.48;

/// Draws the patterns and the selected one.
pub fn patterns_ui(ctx: &mut ViewContext<'_>, state: &mut PatternsState, ui: &mut Ui) {
    state.refresh(ctx.snapshot);
    let patterns = ctx.snapshot.patterns().cloned();
    let num_patterns = state.listed().map_or(0, pattern_rows::PatternRows::len);
    let available = ui.available_size();
    let is_folded = available.x < ALL_PARTS.x || available.y < ALL_PARTS.y;
    view_header(ui, "Patterns", |ui| {
        if num_patterns == 0 {
            return;
        }
        if is_folded {
            parts_ui(state, ui);
        } else {
            ui.weak(count_of(num_patterns, "pattern"))
                .on_hover_text("Sequences of calls that recur on a rank, from all ranks");
        }
    });
    match patterns {
        Some(patterns) if num_patterns > 0 => {
            keys(ctx, state, ui);
            if let Some(id) = pattern_table::first(ctx.snapshot, state) {
                ctx.send(InspectCommand::Pattern(Some(id)));
            }
            state.revealed = ctx.snapshot.inspected.pattern.or(state.revealed);
            shown_ui(ctx, &patterns, is_folded, state, ui);
        }
        known => placeholder_ui(ctx.snapshot, known.is_some(), ui),
    }
}

/// Draws the choice of the part that is shown when not all fit.
fn parts_ui(state: &mut PatternsState, ui: &mut Ui) {
    // The layout runs from right to left.
    for (part, name) in [
        (ShownPart::Anomalous, "Anomalous"),
        (ShownPart::Definition, "Definition"),
        (ShownPart::Curve, "Curve"),
        (ShownPart::Patterns, "All"),
    ] {
        if ui.selectable_label(state.part == part, name).clicked() {
            state.part = part;
        }
    }
}

/// Draws why the view is empty.
fn placeholder_ui(snapshot: &Snapshot, is_known: bool, ui: &mut Ui) {
    if is_known {
        return empty_ui(
            "No patterns: no sequence of calls occurs twice on a rank.",
            ui,
        );
    }
    let Some(work) = &snapshot.work else {
        return empty_ui(
            "Patterns have not been computed. Reopen the trace to compute them.",
            ui,
        );
    };
    empty_ui("Finding patterns…", ui);
    let done = format!("{}, {:.0} %", work.stage, work.fraction * 100.0);
    ui.vertical_centered(|ui| ui.weak(done));
}

fn shown_ui(
    ctx: &mut ViewContext<'_>,
    patterns: &Arc<PatternList>,
    is_folded: bool,
    state: &mut PatternsState,
    ui: &mut Ui,
) {
    let iterations = patterns.iterations.as_ref().filter(|known| known.num() > 0);
    if let Some(iterations) = iterations.filter(|_| ui.available_height() >= STRIP_FROM) {
        Panel::bottom("imbalance of iterations")
            .exact_size(imbalance::HEIGHT + 8.0)
            .frame(egui::Frame::new())
            .show(ui, |ui| {
                imbalance::imbalance_ui(ctx, (iterations, &mut state.uneven), ui);
            });
    }
    if is_folded {
        return part_ui(ctx, state.part, state, ui);
    }
    let height = ui.available_height();
    Panel::top("all patterns")
        .resizable(true)
        .default_size(height * TABLE_SHARE)
        .frame(egui::Frame::new())
        .show(ui, |ui| pattern_table::listed_ui(ctx, state, ui));
    let width = ui.available_width();
    Panel::left("curve of the pattern")
        .resizable(true)
        .default_size(width * CURVE_SHARE)
        .frame(egui::Frame::new())
        .show(ui, |ui| part_ui(ctx, ShownPart::Curve, state, ui));
    ui.horizontal(|ui| {
        for (is_definition, name) in [(false, "Anomalous occurrences"), (true, "Definition")] {
            let is_on = state.shows_definition == is_definition;
            if ui.selectable_label(is_on, name).clicked() {
                state.shows_definition = is_definition;
            }
        }
    });
    let part = if state.shows_definition {
        ShownPart::Definition
    } else {
        ShownPart::Anomalous
    };
    part_ui(ctx, part, state, ui);
}

/// Handles the arrow keys of the focused view: they select a pattern and unfold its definition, unless a handle has the
/// focus.
fn keys(ctx: &mut ViewContext<'_>, state: &mut PatternsState, ui: &Ui) {
    if !ctx.has_focus || ui.ctx().text_edit_focused() || handles::has_focus(ui) {
        return;
    }
    let pressed = |key| ui.input(|input| input.modifiers.is_none() && input.key_pressed(key));
    let step = if pressed(Key::ArrowDown) {
        state.step(ctx.snapshot, 1)
    } else if pressed(Key::ArrowUp) {
        state.step(ctx.snapshot, -1)
    } else {
        None
    };
    if step.is_some() {
        ctx.send(InspectCommand::Pattern(step));
    }
    if pressed(Key::ArrowRight) {
        definition::unfold_level(&mut state.unfolding, 1);
    } else if pressed(Key::ArrowLeft) {
        definition::unfold_level(&mut state.unfolding, -1);
    }
}
