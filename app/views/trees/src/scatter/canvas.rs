//! The map itself: points, keys of groups, and the card of the hovered point.

use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_canvas::points::{
    self, Aspect, PickedPoints, PointScene, PointsOutput, SelectionMode,
};
use callgrove_model::{TreeIdx, count_of};
use callgrove_session::{Analysis, Command, TreeMap};
use callgrove_widgets::hover;
use callgrove_widgets::{pointer_card, score_text};
use egui::{Key, Modifiers, PopupAnchor, Ui};

use super::legend;
use super::state::{self, ScatterState};

/// Number of neighbours on the map that `G` selects with a tree.
const NUM_NEIGHBOURS: usize = 12;

/// Draws the map alone.
pub(super) fn canvas_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut ScatterState,
    (analysis, map): (&Arc<Analysis>, &Arc<TreeMap>),
    ui: &mut Ui,
) {
    state.prepare(ctx, analysis, map);
    let selected = state::selected_points(ctx.snapshot);
    let focus = ctx.snapshot.focus();
    let scene = PointScene {
        theme: ctx.theme,
        label: canvas_label(ctx, analysis),
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
        .or_else(|| group_keys(ctx, state, analysis, &output, ui));
    if let Some(taken) = taken {
        ctx.send(Command::Select(state::joined(&selected, &taken)));
    }
    if let Some(tree) = focus
        && let Some(&place) = state.points.cloud().places().get(tree.index())
    {
        legend::paint_focus(
            ctx,
            (analysis, tree),
            place,
            &output.transform,
            &output.painter,
        );
    }
    if let Some(palette) = state.palette().filter(|_| !ctx.theme.is_for_picture()) {
        legend::paint_legend(ctx, palette, output.transform.rect(), &output.painter);
    }
    if let Some(tree) = hovered.filter(|tree| tree.index() < analysis.forest.len()) {
        hover::set(ui.ctx(), tree);
        hover_card(ctx, analysis, tree, &output, ui);
    }
}

fn canvas_label(ctx: &ViewContext<'_>, analysis: &Analysis) -> String {
    let abnormal = ctx
        .snapshot
        .detection()
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
    if let Some(detection) = ctx.snapshot.detection() {
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
            format!("Labelled {}{held}", label.name()),
        );
    }
}
