//! The list of candidates, most abnormal first, with the summary structure of each (section 5.2).

mod card;
mod list;
mod mini_tree;
mod state;

use callgrove_model::TreeIdx;
use egui::{RichText, ScrollArea, Ui};

use crate::context::ViewContext;
use crate::widgets::{count_of, thousands, view_header};
use card::CARD_HEIGHT;
pub use list::CandidateFilter;
pub use state::{CandidatesState, Step};

/// Draws the list and takes clicks on cards and buttons.
pub fn candidates_ui(ctx: &mut ViewContext<'_>, state: &mut CandidatesState, ui: &mut Ui) {
    let Some(analysis) = ctx.snapshot.analysis.clone() else {
        return;
    };
    state.refresh(ctx.snapshot);
    let (num_shown, num_trees) = (state.shown().len(), analysis.forest.len());
    view_header(ui, "Candidates", |ui| {
        let text = if num_shown == num_trees {
            count_of(num_trees, "execution")
        } else {
            format!("{} of {}", thousands(num_shown), thousands(num_trees))
        };
        ui.weak(text).on_hover_text("Most abnormal first");
    });
    filter_ui(ctx, state, ui);
    if ctx.snapshot.detection.is_none() {
        ui.add_space(24.0);
        ui.vertical_centered(|ui| ui.weak("Scores are on their way…"));
        return;
    }
    if num_shown == 0 {
        nothing_found_ui(state, ui);
        return;
    }
    cards_ui(ctx, &analysis, state, ui);
}

fn filter_ui(ctx: &mut ViewContext<'_>, state: &mut CandidatesState, ui: &mut Ui) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        ui.spacing_mut().button_padding.x = 6.0;
        for filter in CandidateFilter::ALL {
            let text = RichText::new(filter.name()).size(13.0);
            if ui
                .selectable_label(state.filter == filter, text)
                .on_hover_text(filter.help())
                .clicked()
            {
                state.filter = filter;
            }
        }
        let field = egui::TextEdit::singleline(&mut state.search)
            .hint_text("Find 4-40")
            .desired_width(ui.available_width() - 10.0);
        let field = ui.add(field).accessible_name("Find a candidate");
        let field = field
            .on_hover_text("Find an execution by its code rank-index (/); Enter selects the first");
        if std::mem::take(&mut state.wants_search) {
            field.request_focus();
        }
        if field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter)) {
            state.refresh(ctx.snapshot);
            if let Some(tree) = state.first_found(ctx.snapshot) {
                ctx.select(tree);
            }
        }
    });
}

fn nothing_found_ui(state: &mut CandidatesState, ui: &mut Ui) {
    ui.add_space(24.0);
    ui.vertical_centered(|ui| {
        ui.label("No execution is in this list.");
        ui.weak(if state.search.is_empty() {
            state.filter.when_empty()
        } else {
            "No code begins with what you typed."
        });
        ui.add_space(6.0);
        if ui.button("Show all").clicked() {
            state.show_all();
        }
    });
}

/// Only the cards that are on the screen are made.
fn cards_ui(
    ctx: &mut ViewContext<'_>,
    analysis: &std::sync::Arc<callgrove_session::Analysis>,
    state: &mut CandidatesState,
    ui: &mut Ui,
) {
    let pitch = CARD_HEIGHT + ui.spacing().item_spacing.y;
    let focus_row = state.row_to_reveal(ctx.snapshot);
    ScrollArea::vertical()
        .auto_shrink(false)
        .show_viewport(ui, |ui, viewport| {
            let num_rows = state.shown().len();
            ui.set_height(pitch * num_rows as f32);
            let first = ((viewport.min.y / pitch).floor().max(0.0) as usize).min(num_rows);
            let last = ((viewport.max.y / pitch).ceil().max(0.0) as usize).min(num_rows);
            let origin = ui.max_rect().min;
            let card_rect = |row: usize| {
                let corner = egui::pos2(origin.x, origin.y + row as f32 * pitch);
                egui::Rect::from_min_size(
                    corner,
                    egui::vec2(ui.available_width() - 6.0, CARD_HEIGHT),
                )
            };
            let rects: Vec<egui::Rect> = (first..last).map(card_rect).collect();
            if let Some(row) = focus_row {
                ui.scroll_to_rect(card_rect(row).expand2(egui::vec2(0.0, pitch)), None);
            }
            let trees: Vec<TreeIdx> = state.shown()[first..last].to_vec();
            for (tree, rect) in trees.into_iter().zip(rects) {
                card::card_ui(ctx, analysis, state, tree, rect, ui);
            }
        });
}
