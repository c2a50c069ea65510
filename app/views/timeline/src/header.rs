//! The header of the timeline: the visible range, and the choice of ranks.

use callgrove_actions::context::ViewContext;
use callgrove_canvas::time::write_legend_ui;
use callgrove_model::count_of;
use callgrove_model::{DurationNs, ExecRef};
use callgrove_session::{RankFilter, RankSort};
use callgrove_widgets::text::round_duration;
use callgrove_widgets::view_header;
use egui::{ComboBox, TextEdit, Ui};

use super::cascade::cascade_ui;
use super::marks::marks_ui;
use super::search::search_ui;
use super::state::ShownRun;

/// Width next to the buttons from which the number of messages that are not drawn is shown, in points.
const MIN_WIDTH_FOR_MESSAGES: f32 = 230.0;
/// Width next to the buttons from which the legend of the hatching is shown, in points.
const MIN_WIDTH_FOR_LEGEND: f32 = 170.0;

/// Draws the header.
pub(crate) fn header_ui(ctx: &mut ViewContext<'_>, shown: &mut ShownRun, ui: &mut Ui) {
    view_header(ui, "Timeline", |ui| {
        if ui
            .button("Fit")
            .on_hover_text("Show the incident, the whole tree, then the whole run (F)")
            .clicked()
        {
            shown.fit();
        }
        history_ui(shown, ui);
        cascade_ui(&mut shown.cascade, ctx.theme, ui);
        if let Some(range) = marks_ui(ctx, shown.canvas.origin(), ui) {
            shown.canvas.view.reveal(range.from, range.to);
        }
        let keys = "Wheel or W and S zoom, drag or A and D pan, double-click fits a call. \
                    Shift+drag selects a time range.";
        let length = round_duration(DurationNs(shown.canvas.view.window().length_ns()));
        ui.weak(format!("{length} in view")).on_hover_text(keys);
        if let Some(found) = shown.canvas.messages() {
            let num_left_out = found.num_messages - found.arrows.len();
            if num_left_out > 0 && ui.available_width() > MIN_WIDTH_FOR_MESSAGES {
                ui.weak(format!("{} not drawn", count_of(num_left_out, "message")))
                    .on_hover_text(
                        "Shown are the messages of the selected call and tree, those that ended the longest waits, \
                         those with the longest transit times, and an even sample of the others. The band below the \
                         axis is darker where more messages are not drawn.",
                    );
            }
        }
        if shown.canvas.calls().is_remote() && shown.canvas.calls().is_waiting() {
            ui.weak("…").on_hover_text("Loading more");
        }
        if ui.available_width() > MIN_WIDTH_FOR_LEGEND {
            write_legend_ui(shown.canvas.trace(), ctx.theme, ui);
        }
    });
}

/// Draws the row below: the search, and the choice of ranks. Returns a call to show.
pub(crate) fn tools_ui(
    shown: &mut ShownRun,
    call: Option<ExecRef>,
    ui: &mut Ui,
) -> Option<ExecRef> {
    let size = egui::vec2(ui.available_width(), ui.spacing().interact_size.y);
    let layout = egui::Layout::left_to_right(egui::Align::Center);
    ui.allocate_ui_with_layout(size, layout, |ui| {
        let found = search_ui(&mut shown.search, shown.canvas.calls(), call, ui);
        ui.separator();
        ranks_ui(shown, ui);
        found
    })
    .inner
}

fn history_ui(shown: &mut ShownRun, ui: &mut Ui) {
    let (has_back, has_forward) = shown.canvas.view.can_go();
    let button = |ui: &mut Ui, is_enabled, text, name: &str, keys| {
        let button = ui.add_enabled(is_enabled, egui::Button::new(text));
        button
            .on_hover_text(format!("{name} ({keys})"))
            .accessible_name(name)
            .clicked()
    };
    if button(ui, has_forward, "›", "Next view", "] or Alt+→") {
        shown.canvas.view.go_forward();
    }
    if button(ui, has_back, "‹", "Previous view", "[ or Alt+←") {
        shown.canvas.view.go_back();
    }
}

fn ranks_ui(shown: &mut ShownRun, ui: &mut Ui) {
    let field = TextEdit::singleline(&mut shown.ranks_text)
        .hint_text("All ranks")
        .desired_width(90.0);
    let response = ui.add(field).accessible_name("Ranks to show");
    let response = response.on_hover_text("Numbers and ranges (0-3, 8), or part of a name (gpu)");
    if response.changed() {
        shown.ranks_error = match RankFilter::parse(&shown.ranks_text) {
            Ok(filter) => {
                shown.ranks.filter = filter;
                None
            }
            Err(error) => Some(error.to_string()),
        };
    }
    if let Some(error) = &shown.ranks_error {
        ui.colored_label(ui.visuals().warn_fg_color, error);
    }
    let sort = ComboBox::from_id_salt("sort")
        .width(110.0)
        .selected_text(shown.ranks.sort.name())
        .show_ui(ui, |ui| {
            for sort in RankSort::ALL {
                ui.selectable_value(&mut shown.ranks.sort, sort, sort.name());
            }
        });
    sort.response
        .on_hover_text("Order of the rows below the selected ones");
}
