//! What recurs: the patterns of the run, how long they usually take, and which of their occurrences took too long.
//!
//! A pattern's durations are a curve on which q (the fastest share that is usual) and s (from how many times that on
//! an occurrence is anomalous) are dragged; the timeline underlines the anomalous occurrences meanwhile.

mod chosen;
mod curve;
mod definition;
mod handles;
mod imbalance;
mod listed;
mod listing;
mod occurrences;
mod order;
mod scale;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use callgrove_session::{Command, PatternList, Snapshot};
use egui::{Key, Panel, Ui, Vec2};

use crate::context::ViewContext;
use crate::widgets::table::empty_ui;
use crate::widgets::{count_of, view_header};
pub(crate) use state::PatternsState;
use state::ShownPart;

/// From this size on all parts stand side by side, in points.
const ALL_PARTS: Vec2 = Vec2::new(520.0, 400.0);
/// From this height on the strip of iterations is below them.
const STRIP_FROM: f32 = 300.0;
/// Share of the table, and of the curve beside the list.
const TABLE_SHARE: f32 = 0.36;
const CURVE_SHARE: f32 = 0.48;

/// Draws the patterns and the selected one.
pub(crate) fn patterns_ui(ctx: &mut ViewContext<'_>, state: &mut PatternsState, ui: &mut Ui) {
    state.refresh(ctx.snapshot);
    let patterns = ctx.snapshot.patterns.clone();
    let num_patterns = state.listed().map_or(0, listing::Listed::len);
    let room = ui.available_size();
    let is_folded = room.x < ALL_PARTS.x || room.y < ALL_PARTS.y;
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
            if let Some(id) = listed::first(ctx.snapshot, state) {
                ctx.send(Command::SelectPattern(Some(id)));
            }
            state.revealed = ctx.snapshot.pattern.or(state.revealed);
            shown_ui(ctx, &patterns, is_folded, state, ui);
        }
        known => nothing_ui(ctx.snapshot, known.is_some(), ui),
    }
}

/// Which part is shown where there is no room for all.
fn parts_ui(state: &mut PatternsState, ui: &mut Ui) {
    // From the right.
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

/// Why there is nothing to see.
fn nothing_ui(snapshot: &Snapshot, is_known: bool, ui: &mut Ui) {
    if is_known {
        return empty_ui(
            "Nothing recurs: no sequence of calls came twice on a rank.",
            ui,
        );
    }
    let Some(work) = &snapshot.work else {
        return empty_ui(
            "Nobody has looked what recurs. Open the trace again to look.",
            ui,
        );
    };
    empty_ui("Looking for what recurs…", ui);
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
        .show(ui, |ui| listed::listed_ui(ctx, state, ui));
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

fn part_ui(ctx: &mut ViewContext<'_>, part: ShownPart, state: &mut PatternsState, ui: &mut Ui) {
    if part == ShownPart::Patterns {
        return listed::listed_ui(ctx, state, ui);
    }
    let listed = ctx.snapshot.pattern.zip(state.run.as_ref());
    let is_listed = listed.is_some_and(|(id, run)| run.listed.place_of(id).is_some());
    let Some((id, run)) = listed.filter(|_| is_listed) else {
        return empty_ui("Choose a pattern to see how long its occurrences took.", ui);
    };
    let Some(chosen) = run.listed.chosen(id) else {
        return empty_ui("…", ui);
    };
    match part {
        ShownPart::Patterns => {}
        ShownPart::Curve => curve::curve_ui(ctx, (chosen, &mut state.curve), ui),
        ShownPart::Definition => definition::definition_ui(ctx, (id, state), ui),
        ShownPart::Anomalous => {
            let list = (&mut state.rows, &mut state.listed_sort);
            occurrences::anomalous_ui(ctx, (run, chosen), list, ui);
        }
    }
}

/// In focus the arrows choose a pattern and unfold its definition, unless a handle has them.
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
        ctx.send(Command::SelectPattern(step));
    }
    if pressed(Key::ArrowRight) {
        definition::unfold_level(&mut state.unfolding, 1);
    } else if pressed(Key::ArrowLeft) {
        definition::unfold_level(&mut state.unfolding, -1);
    }
}
