//! The map of all trees: close points are similar trees (section 5.1 of the paper).

mod coloring;
mod delays;
mod legend;
mod state;
#[cfg(test)]
mod tests;
mod values;

use callgrove_model::TreeIdx;
use callgrove_session::{Analysis, Command, MapMethod, TreeMap};
use egui::{Key, Modifiers, PopupAnchor, Ui};

use crate::canvas::points::{
    self, Aspect, PickedPoints, PointScene, PointsOutput, SelectionMode, Tool,
};
use crate::context::ViewContext;
use crate::hover;
use crate::widgets::{count_of, pointer_card, score_text, view_header};
use coloring::Coloring;
pub use state::ScatterState;

/// Header width below which all controls are in a menu, in points.
const WIDTH_FOR_CONTROLS: f32 = 430.0;
/// Width next to the buttons from which the quality of the map is shown, in points.
const WIDTH_FOR_QUALITY: f32 = 280.0;
/// Number of neighbours on the map that `G` selects with a tree.
const NUM_NEIGHBOURS: usize = 12;

/// Draws the map and handles zoom, pan, clicks and groups.
pub fn scatter_ui(ctx: &mut ViewContext<'_>, state: &mut ScatterState, ui: &mut Ui) {
    let (Some(analysis), Some(map)) = (ctx.snapshot.analysis.clone(), ctx.snapshot.map.clone())
    else {
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
    state.prepare(ctx, &analysis, &map);
    let selected = state::selected_points(ctx.snapshot);
    let focus = ctx.snapshot.focus();
    let scene = PointScene {
        theme: ctx.theme,
        label: canvas_label(ctx, &analysis),
        aspect: Aspect::Equal,
        rulers: None,
        right: 0.0,
        selected: &selected,
        focus: focus.map(TreeIdx::index),
        has_focus: ctx.has_focus,
        pointed: hover::get(ui.ctx()).map(TreeIdx::index),
    };
    let output = points::points_ui(&scene, &mut state.points, ui);
    let hovered = output.hovered.map(TreeIdx::from_index);
    let taken = output
        .taken
        .clone()
        .or_else(|| group_keys(ctx, state, &analysis, &output, ui));
    if let Some(taken) = taken {
        ctx.send(Command::Select(state::joined(&selected, &taken)));
    }
    if let Some(tree) = focus
        && let Some(&place) = state.points.cloud().places().get(tree.index())
    {
        legend::paint_focus(
            ctx,
            (&analysis, tree),
            place,
            &output.transform,
            &output.painter,
        );
    }
    if let Some(palette) = state.palette() {
        legend::paint_legend(ctx, palette, output.transform.rect(), &output.painter);
    }
    if let Some(tree) = hovered.filter(|tree| tree.index() < analysis.forest.len()) {
        hover::set(ui.ctx(), tree);
        hover_card(ctx, &analysis, tree, &output, ui);
    }
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

fn method_name(method: MapMethod) -> &'static str {
    match method {
        MapMethod::Mds => "MDS",
        MapMethod::Smacof => "SMACOF",
        MapMethod::Tsne => "t-SNE",
    }
}

fn method_help(method: MapMethod) -> &'static str {
    match method {
        MapMethod::Mds => "Multidimensional scaling: preserves large distances; immediate",
        MapMethod::Smacof => {
            "MDS refined iteratively to preserve all distances as well as possible"
        }
        MapMethod::Tsne => "Preserves neighbourhoods; distances between groups are not meaningful",
    }
}

fn canvas_label(ctx: &ViewContext<'_>, analysis: &Analysis) -> String {
    let abnormal = ctx
        .snapshot
        .detection
        .as_ref()
        .map_or(0, |detection| detection.num_abnormal);
    format!(
        "Map of {}, {abnormal} abnormal",
        count_of(analysis.forest.len(), "execution")
    )
}

/// Handles keys: `G` selects the neighbours of the hovered or focused tree, `U` all trees of its structure; Shift adds
/// them to the selection.
fn group_keys(
    ctx: &ViewContext<'_>,
    state: &ScatterState,
    analysis: &Analysis,
    output: &PointsOutput,
    ui: &Ui,
) -> Option<PickedPoints> {
    let tree = output
        .hovered
        .map(TreeIdx::from_index)
        .or(ctx.snapshot.focus())
        .filter(|tree| output.has_keys && tree.index() < state.points.cloud().len())?;
    let pressed = |key| {
        let modifiers = [Modifiers::SHIFT, Modifiers::NONE];
        modifiers
            .into_iter()
            .find(|&modifiers| ui.input_mut(|input| input.consume_key(modifiers, key)))
    };
    let (trees, modifiers) = if let Some(modifiers) = pressed(Key::G) {
        (neighbours(ctx, state, &output.transform, tree), modifiers)
    } else {
        (analysis.of_same_structure(tree), pressed(Key::U)?)
    };
    let mut points: Vec<usize> = trees.into_iter().map(TreeIdx::index).collect();
    points.sort_unstable();
    Some(PickedPoints {
        points,
        mode: SelectionMode::of(modifiers),
        is_drawn: false,
    })
}

/// Returns a tree and its nearest ones: in the space of the model if they are known, else on the map.
fn neighbours(
    ctx: &ViewContext<'_>,
    state: &ScatterState,
    transform: &points::Transform,
    tree: TreeIdx,
) -> Vec<TreeIdx> {
    let explanation = ctx.snapshot.explanation.as_ref();
    if let Some(explanation) = explanation.filter(|explanation| explanation.tree == tree) {
        let neighbours = explanation.neighbours.iter().copied();
        return std::iter::once(tree).chain(neighbours).collect();
    }
    let cloud = state.points.cloud();
    let nearest = cloud.grid().nearest_to(
        cloud.places(),
        tree.index(),
        transform.scale(),
        NUM_NEIGHBOURS,
    );
    nearest.into_iter().map(TreeIdx::from_index).collect()
}

/// Draws the card of the tree under the pointer, or of the one at the keyboard cursor next to its mark.
fn hover_card(
    ctx: &ViewContext<'_>,
    analysis: &Analysis,
    tree: TreeIdx,
    output: &PointsOutput,
    ui: &Ui,
) {
    let anchor = match output.hovered_at {
        Some(at) if !output.response.hovered() => PopupAnchor::Position(at),
        _ => PopupAnchor::Pointer,
    };
    pointer_card(&output.response, anchor, ui, |ui| {
        tooltip_ui(ctx, analysis, tree, ui);
    });
}

fn tooltip_ui(ctx: &ViewContext<'_>, analysis: &Analysis, tree: TreeIdx, ui: &mut Ui) {
    let forest = &analysis.forest;
    ui.monospace(forest.code(tree).to_string());
    let unit = forest.unit();
    ui.label(format!(
        "{} (median {})",
        unit.took(forest.tree(tree).duration()),
        unit.amount(analysis.median_duration)
    ));
    if let Some(detection) = &ctx.snapshot.detection {
        let verdict = match detection.cause(tree) {
            Some(cause) => cause.name(),
            None if detection.is_abnormal(tree) => "abnormal",
            None if detection.by_design(tree).is_some() => "by design",
            None => "normal",
        };
        ui.label(format!(
            "Score {}, {verdict}",
            score_text(detection.scores[tree.index()])
        ));
        ui.label(format!(
            "Rank {} of {} by score",
            detection.place[tree.index()] + 1,
            count_of(forest.len(), "execution")
        ));
    }
    let num_alike = analysis.of_same_structure(tree).len();
    ui.label(format!("Structure of {}", count_of(num_alike, "execution")));
    if let Some(label) = ctx.snapshot.label(tree) {
        let held = if ctx.snapshot.is_held(tree) {
            ", held"
        } else {
            ""
        };
        ui.colored_label(
            ctx.theme.label_text(label),
            format!("Labelled {}{held}", crate::text::label_name(label)),
        );
    }
}
