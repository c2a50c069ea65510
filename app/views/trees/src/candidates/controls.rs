//! Filter and order of the list.

use callgrove_actions::context::ViewContext;
use callgrove_model::thousands;
use egui::{CollapsingHeader, ComboBox, Key, RichText, TextEdit, Ui};

use super::filter_and_order::{CandidateFilter, CandidateOrder};
use super::state::CandidatesState;

/// Size of a pane, in points, below which the choices are folded behind one line.
const FOLD_BELOW: egui::Vec2 = egui::vec2(330.0, 280.0);

/// Draws the choices and the search field.
pub(super) fn controls_ui(ctx: &mut ViewContext<'_>, state: &mut CandidatesState, ui: &mut Ui) {
    let available = ui.available_size();
    let is_small = available.x < FOLD_BELOW.x || available.y < FOLD_BELOW.y;
    if !is_small {
        ui.horizontal_wrapped(|ui| {
            use_tight_spacing(ui);
            filter_ui(state, ui);
            search_ui(ctx, state, ui);
        });
        ui.horizontal(|ui| order_ui(state, ui));
        return;
    }
    ui.horizontal_top(|ui| {
        let summary = state.choice.summary();
        let width = ui.available_width() * 0.6;
        ui.vertical(|ui| {
            ui.set_width(width);
            CollapsingHeader::new(summary)
                .id_salt("choice of candidates")
                .show(ui, |ui| {
                    ui.horizontal_wrapped(|ui| {
                        use_tight_spacing(ui);
                        filter_ui(state, ui);
                    });
                    ui.horizontal_wrapped(|ui| order_ui(state, ui));
                });
        });
        search_ui(ctx, state, ui);
    });
}

fn use_tight_spacing(ui: &mut Ui) {
    ui.spacing_mut().item_spacing.x = 2.0;
    ui.spacing_mut().button_padding.x = 6.0;
}

fn filter_ui(state: &mut CandidatesState, ui: &mut Ui) {
    for filter in CandidateFilter::ALL {
        let text = RichText::new(filter.name()).size(13.0);
        ui.selectable_value(&mut state.choice.filter, filter, text)
            .on_hover_text(filter.help());
    }
}

/// Draws the choice of order and rank, and of the group if there is one.
fn order_ui(state: &mut CandidatesState, ui: &mut Ui) {
    let order = &mut state.choice.order;
    ComboBox::from_id_salt("order of the list")
        .selected_text(order.name())
        .width(104.0)
        .show_ui(ui, |ui| {
            for other in CandidateOrder::ALL {
                ui.selectable_value(order, other, other.name())
                    .on_hover_text(other.help());
            }
        })
        .response
        .accessible_name("Order of the list");
    let mut rank = state.choice.rank;
    let name = rank.map_or("all ranks".to_owned(), |rank| format!("rank {rank}"));
    ComboBox::from_id_salt("rank of the list")
        .selected_text(name)
        .width(84.0)
        .show_ui(ui, |ui| {
            ui.selectable_value(&mut rank, None, "all ranks");
            for (&other, &num_trees) in state.ranks() {
                let text = format!("rank {other} ({})", thousands(num_trees));
                ui.selectable_value(&mut rank, Some(other), text);
            }
        })
        .response
        .accessible_name("Rank of the list");
    state.choice.rank = rank;
    let num_in_group = state.num_in_group();
    if num_in_group > 0 {
        let text = format!("Only the group of {}", thousands(num_in_group));
        ui.toggle_value(&mut state.choice.only_group, text)
            .on_hover_text("List only the selected group; Esc lists all again");
    }
}

/// Draws the field that finds a code. Enter selects the match, Esc clears the search.
fn search_ui(ctx: &mut ViewContext<'_>, state: &mut CandidatesState, ui: &mut Ui) {
    let field = TextEdit::singleline(&mut state.choice.search)
        .hint_text("Find 4-40")
        .desired_width((ui.available_width() - 10.0).max(40.0));
    let field = ui
        .add(field)
        .on_hover_text("Find an execution by its code rank-index (/); Enter selects it");
    let field = field.accessible_name("Find a candidate");
    if std::mem::take(&mut state.wants_search) {
        field.request_focus();
    }
    if !field.lost_focus() {
        return;
    }
    let is_pressed = |key| ui.input(|input| input.key_pressed(key));
    if is_pressed(Key::Escape) {
        state.choice.search.clear();
    } else if is_pressed(Key::Enter) {
        state.refresh(ctx.snapshot);
        if let Some(tree) = state.end_search(ctx.snapshot) {
            ctx.select(tree);
        }
    }
}
