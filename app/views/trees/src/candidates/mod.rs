//! The list of candidates, most abnormal first, with the summary structure of each (section 5.2).

mod card;
mod controls;
mod filter_and_order;
mod mini_tree;
mod state;
#[cfg(test)]
mod tests;

use callgrove_actions::context::ViewContext;
use callgrove_model::{TreeIdx, thousands};
use callgrove_session::Analysis;
use callgrove_widgets::text::short_name;
use callgrove_widgets::{header_fact, in_picture, picture_fact, view_header};
use egui::{Rect, ScrollArea, Ui};

use card::CARD_HEIGHT;
use controls::controls_ui;
pub use filter_and_order::{CandidateFilter, CandidateOrder};
pub use state::{CandidatesState, Step};

/// Draws the list and handles clicks on cards and buttons.
pub fn candidates_ui(ctx: &mut ViewContext<'_>, state: &mut CandidatesState, ui: &mut Ui) {
    let Some(analysis) = ctx.snapshot.analysis().cloned() else {
        return;
    };
    state.refresh(ctx.snapshot);
    let (num_shown, num_trees) = (state.shown().len(), analysis.forest.len());
    view_header(ui, "Candidates", |ui| {
        let text = if num_shown == num_trees {
            let unit = analysis.forest.unit();
            format!("{} {}", thousands(num_trees), unit.trees(num_trees as u64))
        } else {
            format!("{} of {}", thousands(num_shown), thousands(num_trees))
        };
        header_fact(ui, text).on_hover_text(state.choice.order.help());
    });
    if in_picture(ui) {
        picture_fact(ui, || format!("of {}", short_name(&analysis.root_name)));
        picture_fact(ui, || state.choice.summary());
        picture_fact(ui, || {
            "circles: area is time, colours are functions".to_owned()
        });
    } else {
        controls_ui(ctx, state, ui);
    }
    // Filters chosen or typed in this frame already apply.
    state.refresh(ctx.snapshot);
    if ctx.snapshot.detection().is_none() {
        ui.add_space(24.0);
        ui.vertical_centered(|ui| ui.weak("Computing scores…"));
    } else if state.shown().is_empty() {
        nothing_found_ui(state, ui);
    } else {
        if let Some(detection) = ctx.snapshot.detection() {
            for sentence in detection.dismissed.sentences(num_trees) {
                ui.weak(format!("{sentence}."));
            }
        }
        cards_ui(ctx, &analysis, state, ui);
    }
}

fn nothing_found_ui(state: &mut CandidatesState, ui: &mut Ui) {
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.vertical_centered(|ui| {
            ui.label("No executions");
            ui.weak(state.choice.when_empty());
            if ui.button("Show all").clicked() {
                state.show_all();
            }
        });
    });
}

/// Draws only the cards that are on the screen.
fn cards_ui(
    ctx: &mut ViewContext<'_>,
    analysis: &std::sync::Arc<Analysis>,
    state: &mut CandidatesState,
    ui: &mut Ui,
) {
    let pitch = CARD_HEIGHT + ui.spacing().item_spacing.y;
    let focus_row = state.row_to_reveal(ctx.snapshot);
    ScrollArea::vertical()
        .auto_shrink(false)
        .min_scrolled_height(0.0)
        .show_viewport(ui, |ui, viewport| {
            let num_rows = state.shown().len();
            ui.set_height(pitch * num_rows as f32);
            let first = ((viewport.min.y / pitch).floor().max(0.0) as usize).min(num_rows);
            let last = if in_picture(ui) {
                // Only whole cards; rounding must not hide the last one.
                ((viewport.max.y - CARD_HEIGHT + 1.0) / pitch).floor() + 1.0
            } else {
                (viewport.max.y / pitch).ceil()
            };
            let last = (last.max(0.0) as usize).min(num_rows);
            if last < num_rows {
                picture_fact(ui, || format!("the first {} are drawn", thousands(last)));
            }
            let origin = ui.max_rect().min;
            let size = egui::vec2(ui.available_width() - 6.0, CARD_HEIGHT);
            let card_rect = |row: usize| {
                let corner = egui::pos2(origin.x, origin.y + row as f32 * pitch);
                Rect::from_min_size(corner, size)
            };
            let rects: Vec<Rect> = (first..last).map(card_rect).collect();
            // A picture begins with the first card.
            if let Some(row) = focus_row.filter(|_| !in_picture(ui)) {
                // The neighbours are shown too if they fit.
                let margin = ((viewport.height() - CARD_HEIGHT) / 2.0).clamp(0.0, pitch);
                ui.scroll_to_rect(card_rect(row).expand2(egui::vec2(0.0, margin)), None);
            }
            let trees: Vec<TreeIdx> = state.shown()[first..last].to_vec();
            for (tree, rect) in trees.into_iter().zip(rects) {
                card::card_ui(ctx, analysis, state, tree, rect, ui);
            }
        });
}
