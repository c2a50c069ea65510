//! The tree as a picture: the drawing, and as many differences as fit.

use std::collections::BTreeMap;

use callgrove_actions::context::ViewContext;
use callgrove_model::{DurationNs, FuncId};
use callgrove_session::{Difference, DifferenceKind, Explanation};
use callgrove_widgets::text::short_name;
use callgrove_widgets::theme::Theme;
use callgrove_widgets::{LegendItem, ViewNotes, score_text};
use egui::{Frame, Margin, Painter, Panel, Rect, RichText, Ui, UiBuilder, Vec2};

use super::findings::{card_ui, compared_text, listed, no_differences_text};
use super::sign::{paint_sign, sign_color};
use super::state::{Shown, TreeState};
use super::ui::canvas_ui;

/// Width of the list of differences, in points.
const LIST_WIDTH: f32 = 280.0;
/// Width of the picture from which it has the list, in points.
const MIN_WIDTH_FOR_LIST: f32 = 560.0;
/// Height of the line that counts the differences that do not fit, in points.
const REST_HEIGHT: f32 = 20.0;
/// Maximum number of functions that are named.
const MAX_FUNCTIONS: usize = 10;
/// Radius of a sign in the legend, in points.
const SIGN: f32 = 4.5;

/// Draws the focused tree.
pub fn tree_picture_ui(ctx: &mut ViewContext<'_>, state: &mut TreeState, ui: &mut Ui) -> ViewNotes {
    state.explain(ctx.snapshot.explanation.as_ref());
    state.show(ctx.snapshot);
    let mut kinds = Vec::new();
    if ui.available_width() >= MIN_WIDTH_FOR_LIST {
        let margin = Margin {
            left: 10,
            ..Margin::ZERO
        };
        kinds = Panel::right("differences")
            .exact_size(LIST_WIDTH)
            .resizable(false)
            .show_separator_line(false)
            .frame(Frame::NONE.inner_margin(margin))
            .show(ui, |ui| findings_ui(ctx, state, ui))
            .inner;
    }
    canvas_ui(ctx, state, None, ui);
    let Some(shown) = &state.shown else {
        return ViewNotes::default();
    };
    ViewNotes {
        title: format!(
            "Execution {} of {}",
            shown.focus.name(),
            short_name(&shown.focus.analysis.root_name)
        ),
        facts: facts(ctx, shown),
        legend: legend(ctx.theme, shown, &kinds),
    }
}

fn facts(ctx: &ViewContext<'_>, shown: &Shown) -> Vec<String> {
    let (analysis, tree) = (&shown.focus.analysis, shown.focus.tree);
    let unit = analysis.forest.unit();
    let mut facts = vec![format!(
        "{} (median {})",
        unit.took(analysis.forest.tree(tree).duration()),
        unit.amount(analysis.median_duration)
    )];
    if let Some(detection) = ctx.snapshot.detection() {
        let verdict = match detection.cause(tree) {
            Some(cause) => cause.name(),
            None if detection.is_abnormal(tree) => "abnormal",
            None if detection.by_design(tree).is_some() => "by design",
            None => "normal",
        };
        let score = score_text(detection.scores[tree.index()]);
        facts.push(format!("{verdict}, score {score}"));
    }
    facts.extend(ctx.snapshot.cause_sentence(tree));
    facts
}

/// Draws the differences that fit. Returns the kinds that are shown.
fn findings_ui(ctx: &mut ViewContext<'_>, state: &TreeState, ui: &mut Ui) -> Vec<DifferenceKind> {
    let Some(shown) = &state.shown else {
        return Vec::new();
    };
    ui.label(RichText::new("Differences from usual").strong());
    let explanation = ctx.snapshot.explanation.clone();
    let is_of_tree = |known: &&Explanation| known.tree == shown.focus.tree;
    let Some(explanation) = explanation.as_deref().filter(is_of_tree) else {
        ui.weak("Not compared with usual executions");
        return Vec::new();
    };
    ui.weak(compared_text(
        shown.focus.analysis.forest.unit(),
        explanation,
    ));
    let listed = listed(explanation, state.threshold);
    let mut kinds = Vec::new();
    for (number, &at) in listed.iter().enumerate() {
        let finding = &explanation.findings[at];
        let is_last = number + 1 == listed.len();
        let below = if is_last { 0.0 } else { REST_HEIGHT };
        if height_of(ctx, shown, finding, ui) + below > ui.available_height() {
            let num_left_out = listed.len() - number;
            let noun = if num_left_out == 1 {
                "difference"
            } else {
                "differences"
            };
            ui.weak(format!("and {num_left_out} more {noun}"));
            break;
        }
        card_ui(ctx, (shown, None), finding, false, &mut true, ui);
        kinds.push(finding.kind);
    }
    if listed.is_empty() {
        ui.weak(no_differences_text(explanation));
    }
    kinds
}

/// Returns the height of a card, which is drawn out of sight.
fn height_of(ctx: &mut ViewContext<'_>, shown: &Shown, finding: &Difference, ui: &mut Ui) -> f32 {
    let place = Rect::from_min_size(ui.cursor().min, Vec2::new(ui.available_width(), 10.0));
    let hidden = UiBuilder::new()
        .max_rect(place)
        .invisible()
        .id_salt("measured");
    let mut hidden = ui.new_child(hidden);
    card_ui(ctx, (shown, None), finding, false, &mut true, &mut hidden);
    hidden.min_rect().height()
}

fn legend(theme: &Theme, shown: &Shown, kinds: &[DifferenceKind]) -> Vec<LegendItem> {
    let mut times: BTreeMap<FuncId, DurationNs> = BTreeMap::new();
    for vertex in &shown.drawing.vertices {
        *times.entry(vertex.func).or_default() += vertex.exclusive;
    }
    let mut largest: Vec<(FuncId, DurationNs)> = times.into_iter().collect();
    largest.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let trace = shown.focus.analysis.forest.trace();
    let mut items: Vec<LegendItem> = largest
        .iter()
        .take(MAX_FUNCTIONS)
        .map(|(func, _)| {
            let color = theme.function(*func);
            let paint = move |painter: &Painter, rect: Rect| {
                painter.circle_filled(rect.center(), 5.0, color);
            };
            LegendItem::painted(paint, short_name(trace.names.name(*func)))
        })
        .collect();
    if largest.len() > MAX_FUNCTIONS {
        let text = format!("and {} other functions", largest.len() - MAX_FUNCTIONS);
        items.push(LegendItem::painted(|_, _| {}, text));
    }
    let unit = shown.focus.analysis.forest.unit();
    let mut kinds = kinds.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let color = sign_color(theme, kind);
        let paint = move |painter: &Painter, rect: Rect| {
            paint_sign(painter, kind, rect.center(), SIGN, color);
        };
        items.push(LegendItem::painted(paint, kind.words(unit)));
    }
    if items.len() > largest.len().min(MAX_FUNCTIONS) {
        let color = theme.abnormal();
        let paint = move |painter: &Painter, rect: Rect| {
            let stroke = egui::Stroke::new(1.5, color);
            painter.circle_stroke(rect.center(), 5.0, stroke);
        };
        items.push(LegendItem::painted(paint, "differs from usual"));
    }
    items
}
