//! The map of all trees: near means alike (section 5.1 of the paper).
//!
//! All marks are sprites of one texture in one mesh, so the cost of a frame is four corners a point.

mod layout;
mod paint;
mod sprites;
mod state;

use callgrove_model::TreeIdx;
use callgrove_session::{Analysis, Command, MapMethod, Selection, TreeMap};
use egui::{PopupAnchor, Role, Sense, Tooltip, Ui, WidgetInfo};

use crate::context::ViewContext;
use crate::widgets::{count_of, score_text, view_header};
use layout::Transform;
pub use layout::{MapView, PointGrid, polygon_contains};
pub use state::ScatterState;

/// Room beside the buttons from which on the quality of the map is stated, in points.
const WIDTH_FOR_QUALITY: f32 = 280.0;
/// How far from a mark the pointer may be, in points.
const HIT_RADIUS: f32 = 10.0;

/// Draws the map and takes zoom, pan, click and lasso.
pub fn scatter_ui(ctx: &mut ViewContext<'_>, state: &mut ScatterState, ui: &mut Ui) {
    let (Some(analysis), Some(map)) = (ctx.snapshot.analysis.clone(), ctx.snapshot.map.clone())
    else {
        return;
    };
    view_header(ui, "Map of executions", |ui| {
        if ui
            .button("Fit")
            .on_hover_text("Show all executions (F)")
            .clicked()
        {
            state.fit();
        }
        let lasso = ui.add(egui::Button::new("Lasso").selected(state.is_lasso_tool));
        if lasso
            .on_hover_text(
                "Draw around executions to select them as a group (L, or Shift and drag)",
            )
            .clicked()
        {
            state.toggle_lasso();
        }
        method_ui(ctx, &map, ui);
    });
    state.prepare(&analysis, &map);
    let (response, painter) = ui.allocate_painter(ui.available_size(), Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, canvas_label(ctx, &analysis)));
    let bounds = state.bounds();
    let transform = Transform::new(response.rect, bounds, state.view);
    navigate(ui, &response, &transform, state, &bounds);
    let transform = Transform::new(response.rect, bounds, state.view);
    let hovered = response
        .hover_pos()
        .filter(|_| !response.dragged())
        .and_then(|pointer| state.hit(&transform, pointer, HIT_RADIUS));
    take_lasso(ctx, ui, &response, &transform, state);
    if let Some(tree) = hovered.filter(|_| response.clicked()) {
        ctx.select(tree);
    }
    paint::paint(ctx, (&analysis, &map), state, &transform, &painter, hovered);
    if let Some(tree) = hovered {
        Tooltip::always_open(
            ui.ctx().clone(),
            ui.layer_id(),
            response.id,
            PopupAnchor::Pointer,
        )
        .gap(12.0)
        .show(|ui| tooltip_ui(ctx, &analysis, tree, ui));
    }
}

/// The method, and how far the map is or how far it can be trusted.
fn method_ui(ctx: &mut ViewContext<'_>, map: &TreeMap, ui: &mut Ui) {
    let mut method = map.method;
    egui::ComboBox::from_id_salt("map method")
        .selected_text(method_name(method))
        .width(78.0)
        .show_ui(ui, |ui| {
            for choice in MapMethod::ALL {
                ui.selectable_value(&mut method, choice, method_name(choice))
                    .on_hover_text(method_help(choice));
            }
        })
        .response
        .accessible_name("Method of the map")
        .on_hover_text(method_help(map.method));
    if method != map.method {
        ctx.send(Command::SetMap(method));
    }
    if map.fraction < 1.0 {
        let name = if map.is_paused { "Go on" } else { "Pause" };
        if ui.button(name).clicked() {
            ctx.send(Command::PauseMap(!map.is_paused));
        }
        ui.weak(format!("{:.0} %", map.fraction * 100.0));
    } else if let Some(trust) = map.trustworthiness
        && ui.available_width() > WIDTH_FOR_QUALITY
    {
        ui.weak(format!("trustworthiness {trust:.2}"))
            .on_hover_text(
                "Share of the neighbours on this map that are neighbours by structure too. \
                 1 is a perfect map; below 0.8, trust the list more than the distances.",
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
        MapMethod::Mds => "Multidimensional scaling: keeps large distances; ready at once",
        MapMethod::Smacof => "The same, moved until all distances fit as well as they can",
        MapMethod::Tsne => "Keeps neighbours together; distances between groups mean little",
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

/// Wheel and pinch zoom to the pointer; drag moves the map, if it does not draw.
fn navigate(
    ui: &Ui,
    response: &egui::Response,
    transform: &Transform,
    state: &mut ScatterState,
    bounds: &layout::Bounds,
) {
    if let Some(pointer) = response.hover_pos() {
        let (wheel, pinch) = ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
        let factor = (wheel * 0.005).exp() * pinch;
        if (factor - 1.0).abs() > 1e-4 {
            state.view = state.view.zoomed(transform, pointer, factor, bounds);
        }
    }
    let draws =
        state.is_drawing() || state.is_lasso_tool || ui.input(|input| input.modifiers.shift);
    if response.dragged() && (!draws || response.dragged_by(egui::PointerButton::Middle)) {
        state.view = state.view.panned(transform, response.drag_delta());
    }
}

/// Collects the line of the lasso; on release, selects what is inside.
fn take_lasso(
    ctx: &mut ViewContext<'_>,
    ui: &Ui,
    response: &egui::Response,
    transform: &Transform,
    state: &mut ScatterState,
) {
    let (wants, origin) = ui.input(|input| (input.modifiers.shift, input.pointer.press_origin()));
    if let Some(origin) = origin.filter(|_| wants || state.is_lasso_tool)
        && response.drag_started_by(egui::PointerButton::Primary)
    {
        state.begin_lasso(transform.to_map(origin));
    }
    if !state.is_drawing() {
        return;
    }
    // All places that the pointer went through, since a frame may take long.
    ui.input(|input| {
        for event in &input.events {
            if let egui::Event::PointerMoved(place) = event {
                state.extend_lasso(transform.to_map(*place), 2.0 / transform.scale());
            }
        }
    });
    if response.drag_stopped() {
        match state.end_lasso()[..] {
            [] => {}
            [tree] => ctx.select(tree),
            ref trees => ctx.send(Command::Select(Selection::Group(trees.to_vec()))),
        }
    }
}

fn tooltip_ui(ctx: &ViewContext<'_>, analysis: &Analysis, tree: TreeIdx, ui: &mut Ui) {
    let forest = &analysis.forest;
    ui.monospace(forest.code(tree).to_string());
    ui.label(format!(
        "Took {} (median {})",
        forest.tree(tree).duration(),
        analysis.median_duration
    ));
    if let Some(detection) = &ctx.snapshot.detection {
        let verdict = if detection.is_abnormal(tree) {
            "abnormal"
        } else {
            "normal"
        };
        ui.label(format!(
            "Score {}, {verdict}",
            score_text(detection.scores[tree.index()])
        ));
        ui.label(format!(
            "Place {} of {}",
            detection.place[tree.index()] + 1,
            count_of(forest.len(), "execution")
        ));
    }
    if let Some(label) = ctx.snapshot.label(tree) {
        ui.colored_label(
            ctx.theme.label(label),
            format!("Labelled {}", crate::context::label_name(label)),
        );
    }
}
