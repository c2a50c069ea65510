//! The map of all trees: close points are similar trees (section 5.1 of the paper).

mod canvas;
mod coloring;
mod delays;
mod legend;
mod method;
mod picture;
mod state;
#[cfg(test)]
mod tests;
mod values;

use callgrove_actions::context::ViewContext;
use callgrove_canvas::points::Tool;
use callgrove_session::{Command, MapMethod, TreeMap};
use callgrove_widgets::view_header;
use egui::Ui;

use canvas::canvas_ui;
use coloring::Coloring;
use method::{method_help, method_name};
pub use picture::map_picture_ui;
pub use state::ScatterState;

/// Header width below which all controls are in a menu, in points.
const WIDTH_FOR_CONTROLS: f32 = 430.0;
/// Width next to the buttons from which the quality of the map is shown, in points.
const WIDTH_FOR_QUALITY: f32 = 280.0;

/// Draws the map and handles zoom, pan, clicks and groups.
pub fn scatter_ui(ctx: &mut ViewContext<'_>, state: &mut ScatterState, ui: &mut Ui) {
    let (Some(analysis), Some(map)) = (
        ctx.snapshot.analysis().cloned(),
        ctx.snapshot.map().cloned(),
    ) else {
        return;
    };
    view_header(ui, "Map of executions", |ui| {
        if ui.available_width() < WIDTH_FOR_CONTROLS {
            ui.menu_button("Map options", |ui| controls_menu(ctx, state, &map, ui))
                .response
                .on_hover_text("Tools, colours and method of the map");
            forming_ui(ctx, &map, ui);
        } else {
            controls_ui(ctx, state, &map, ui);
        }
    });
    canvas_ui(ctx, state, (&analysis, &map), ui);
}

/// Draws the controls one by one, from the right.
fn controls_ui(ctx: &mut ViewContext<'_>, state: &mut ScatterState, map: &TreeMap, ui: &mut Ui) {
    if ui
        .button("Fit")
        .on_hover_text("Show all executions (F)")
        .clicked()
    {
        state.fit();
    }
    for (tool, name, help) in TOOLS {
        let button = egui::Button::new(name).selected(state.points.tool() == tool);
        if ui.add(button).on_hover_text(help).clicked() {
            state.points.toggle(tool);
        }
    }
    let mut method = map.method;
    egui::ComboBox::from_id_salt("map method")
        .selected_text(method_name(method))
        .width(70.0)
        .show_ui(ui, |ui| methods_ui(&mut method, ui))
        .response
        .accessible_name("Method of the map")
        .on_hover_text(method_help(map.method));
    egui::ComboBox::from_id_salt("map colours")
        .selected_text(state.coloring.name())
        .width(84.0)
        .show_ui(ui, |ui| colorings_ui(&mut state.coloring, ui))
        .response
        .accessible_name("Colour by")
        .on_hover_text("The property that colours show");
    if method != map.method {
        ctx.send(Command::SetMap(method));
    }
    forming_ui(ctx, map, ui);
}

/// Draws the controls in a menu.
fn controls_menu(ctx: &mut ViewContext<'_>, state: &mut ScatterState, map: &TreeMap, ui: &mut Ui) {
    if ui.button("Fit (F)").clicked() {
        state.fit();
    }
    for (tool, name, help) in TOOLS {
        let button = egui::Button::new(name).selected(state.points.tool() == tool);
        if ui.add(button).on_hover_text(help).clicked() {
            state.points.toggle(tool);
        }
    }
    ui.separator();
    ui.weak("Method");
    let mut method = map.method;
    methods_ui(&mut method, ui);
    if method != map.method {
        ctx.send(Command::SetMap(method));
    }
    ui.separator();
    ui.weak("Colour by");
    colorings_ui(&mut state.coloring, ui);
}

/// The tools with their buttons.
const TOOLS: [(Tool, &str, &str); 2] = [
    (
        Tool::Lasso,
        "Lasso",
        "Draw around executions to select them (L, or Shift and drag). Shift adds, Alt removes",
    ),
    (
        Tool::Rectangle,
        "Box",
        "Draw a box around executions to select them. Shift adds, Alt removes",
    ),
];

fn methods_ui(method: &mut MapMethod, ui: &mut Ui) {
    for choice in MapMethod::ALL {
        ui.selectable_value(method, choice, method_name(choice))
            .on_hover_text(method_help(choice));
    }
}

fn colorings_ui(coloring: &mut Coloring, ui: &mut Ui) {
    for choice in Coloring::ALL {
        ui.selectable_value(coloring, choice, choice.name());
    }
}

/// Draws the progress of the map, or its trustworthiness.
fn forming_ui(ctx: &mut ViewContext<'_>, map: &TreeMap, ui: &mut Ui) {
    if map.fraction < 1.0 {
        let name = if map.is_paused { "Resume" } else { "Pause" };
        if ui.button(name).clicked() {
            ctx.send(Command::PauseMap(!map.is_paused));
        }
        ui.weak(format!("{:.0} %", map.fraction * 100.0));
    } else if let Some(trust) = map.trustworthiness
        && ui.available_width() > WIDTH_FOR_QUALITY
    {
        ui.weak(format!("trustworthiness {trust:.2}"))
            .on_hover_text(
                "Fraction of neighbours on the map that are also neighbours by structure. \
                 1 is a perfect map; below 0.8, rely on the list rather than on distances.",
            );
    }
}
