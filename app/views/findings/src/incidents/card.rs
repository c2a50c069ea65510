//! The card of one incident.

use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_canvas::time::relative_time;
use callgrove_model::count_of;
use callgrove_model::{TreeIdx, thousands};
use callgrove_session::{Incident, RunCauses, Snapshot};
use callgrove_widgets::delay::{
    commands_to_show_incident, common_author, common_label, kind_text, trees_hit,
};
use callgrove_widgets::text::short_name;
use callgrove_widgets::theme::RADIUS;
use callgrove_widgets::{label_buttons, paint_kind};
use egui::text::{LayoutJob, TextFormat, TextWrapping};
use egui::{
    Align2, Color32, FontId, Pos2, Rect, Response, Role, Sense, Shape, Stroke, StrokeKind, Ui,
    UiBuilder, Vec2, WidgetInfo, vec2,
};

use super::card_size::{BUTTONS_HEIGHT, LEFT, LINE_HEIGHT, RIGHT, num_lines};
use super::state::IncidentsState;

/// Top of the line with cost and time, in points.
const COST_TOP: f32 = 7.0;
/// Top of the description, in points.
const DESCRIPTION_TOP: f32 = 27.0;
/// Gap between the description and the line with ranks and executions, in points.
const FACTS_TOP: f32 = 3.0;
/// Gap between the description and the line about similar incidents, in points.
const SIMILAR_TOP: f32 = 20.0;
/// Font size of the cost, in points.
const COST_SIZE: f32 = 15.0;
/// Gap between the cost and the time, in points.
const COST_GAP: f32 = 8.0;
/// Font size of the description, in points.
const DESCRIPTION_SIZE: f32 = 13.0;
/// Font size of the other lines, in points.
const FACTS_SIZE: f32 = 12.0;
/// Width next to the buttons from which the number of labelled executions is shown, in points.
const MIN_COUNT_WIDTH: f32 = 60.0;
/// Precision of times in the run, in nanoseconds.
const TIME_STEP_NS: f64 = 1e6;

/// Draws a card and handles clicks on it, its triangle and its buttons.
pub(super) fn card_ui(
    ctx: &mut ViewContext<'_>,
    causes: &Arc<RunCauses>,
    state: &mut IncidentsState,
    (number, rect): (usize, Rect),
    ui: &mut Ui,
) {
    let Some(incident) = causes.incident(number) else {
        return;
    };
    let is_selected = ctx.snapshot.inspected.incident == Some(number);
    let words = causes.incident_sentence(incident);
    let id = ui.scope_id().with(("incident", number));
    let response = ui.interact(rect, id, Sense::click());
    response.widget_info(|| {
        let name = format!("Incident {}: {words}", number + 1);
        WidgetInfo::selected(Role::ListItem, true, is_selected, name)
    });
    if response.clicked() {
        for command in commands_to_show_incident(ctx.snapshot, number) {
            ctx.send(command);
        }
    }
    paint_frame(ctx, (incident, rect), is_selected, &response, ui);
    let trees = trees_hit(ctx.snapshot, number);
    paint_texts(ctx, (causes, number, incident), (&words, &trees), rect, ui);
    let tip = |ui: &mut Ui| tooltip_ui(causes, incident, ui);
    response.on_hover_ui(tip);
    triangle_ui(ctx, state, (number, rect), ui);
    if is_selected && !trees.is_empty() {
        buttons_ui(ctx, &trees, (number, rect), ui);
    }
}

fn paint_frame(
    ctx: &ViewContext<'_>,
    (incident, rect): (&Incident, Rect),
    is_selected: bool,
    response: &Response,
    ui: &Ui,
) {
    let theme = ctx.theme;
    let (fill, stroke) = match () {
        () if is_selected => (theme.card_focused(), Stroke::new(2.0, theme.selection())),
        () if response.hovered() => (theme.card(), Stroke::new(1.0, theme.weak_text())),
        () => (theme.card(), Stroke::new(1.0, theme.outline())),
    };
    ui.painter()
        .rect(rect, RADIUS, fill, stroke, StrokeKind::Inside);
    let centre = rect.min + vec2(15.0, DESCRIPTION_TOP + 9.0);
    let color = theme.cause(incident.kind);
    paint_kind(ui.painter(), incident.kind, centre, 6.0, color);
}

/// Paints cost and time, the description, the ranks and executions, and similar incidents.
fn paint_texts(
    ctx: &ViewContext<'_>,
    (causes, number, incident): (&RunCauses, usize, &Incident),
    (words, trees): (&str, &[TreeIdx]),
    rect: Rect,
    ui: &Ui,
) {
    let theme = ctx.theme;
    let painter = ui.painter_at(rect.shrink(2.0).intersect(ui.clip_rect()));
    let (left, right) = (rect.left() + LEFT, rect.right() - RIGHT);
    let line = |top: f32| rect.top() + top;
    let origin = ctx.snapshot.time_span().map(|(from, _)| from);
    let time = relative_time(incident.start, origin.unwrap_or_default(), TIME_STEP_NS);
    let at = painter.text(
        Pos2::new(right, line(COST_TOP + 2.0)),
        Align2::RIGHT_TOP,
        format!("at {time}"),
        FontId::proportional(FACTS_SIZE),
        theme.weak_text(),
    );
    let text = |text: &str, size: f32, color: Color32, lines: usize, width: f32| {
        let format = TextFormat::simple(FontId::proportional(size), color);
        let mut job = LayoutJob::single_section(text.to_owned(), format);
        job.wrap = TextWrapping {
            max_rows: lines,
            ..TextWrapping::wrap_at_width(width)
        };
        painter.layout_job(job)
    };
    let width = right - left;
    let cost = text(
        &cost_text(incident),
        COST_SIZE,
        theme.text(),
        1,
        at.left() - left - COST_GAP,
    );
    painter.galley(Pos2::new(left, line(COST_TOP)), cost, theme.text());
    let num_lines = num_lines(words, rect.width());
    let sentence = text(words, DESCRIPTION_SIZE, theme.text(), num_lines, width);
    let below = DESCRIPTION_TOP + num_lines as f32 * LINE_HEIGHT;
    painter.galley(
        Pos2::new(left, line(DESCRIPTION_TOP)),
        sentence,
        theme.text(),
    );
    let facts = text(
        &facts_text(ctx.snapshot, incident, trees),
        FACTS_SIZE,
        theme.weak_text(),
        1,
        width,
    );
    painter.galley(
        Pos2::new(left, line(below + FACTS_TOP)),
        facts,
        theme.weak_text(),
    );
    if let Some(similar) = causes.similar(number) {
        let similar = text(&similar.summary(), FACTS_SIZE, theme.weak_text(), 1, width);
        painter.galley(
            Pos2::new(left, line(below + SIMILAR_TOP)),
            similar,
            theme.weak_text(),
        );
    }
}

/// Returns `780 ms lost in 49.9 ms`: the cost over all ranks, and the duration.
pub(super) fn cost_text(incident: &Incident) -> String {
    match incident.times {
        0 | 1 => format!(
            "{} lost in {}",
            incident.delay,
            incident.end.since(incident.start)
        ),
        times => format!(
            "{} lost, {} times",
            incident.delay,
            thousands(times as usize)
        ),
    }
}

/// Returns `run 53 ms longer · 16 ranks · 5 executions of compute, labelled abnormal`.
pub(super) fn facts_text(snapshot: &Snapshot, incident: &Incident, trees: &[TreeIdx]) -> String {
    let mut ranks = count_of(incident.ranks.len(), "rank");
    if let Some(run) = snapshot.causes().and_then(|it| it.run_with(incident)) {
        ranks = format!("{run} · {ranks}");
    }
    let Some(analysis) = snapshot.analysis() else {
        return format!("{ranks} · {}", count_of(incident.members.len(), "call"));
    };
    let name = short_name(&analysis.root_name);
    if trees.is_empty() {
        return format!("{ranks} · no execution of {name}");
    }
    let labelled = common_label(snapshot, trees)
        .map_or_else(String::new, |label| format!(", labelled {}", label.name()));
    format!(
        "{ranks} · {} of {name}{labelled}",
        count_of(trees.len(), "execution")
    )
}

fn tooltip_ui(causes: &RunCauses, incident: &Incident, ui: &mut Ui) {
    let trace = causes.trace();
    let root = &incident.root;
    ui.strong(format!(
        "Began on rank {}: {}",
        root.rank,
        kind_text(root.kind)
    ));
    let names = incident
        .call_path
        .iter()
        .map(|&func| short_name(trace.names.name(func)));
    ui.label(names.collect::<Vec<_>>().join(" › "));
    let length = incident.end.since(incident.start);
    ui.label(format!(
        "Lasted {length}; all ranks together lost {}",
        incident.delay
    ));
    if let Some(shorter) = causes.run_without(incident) {
        ui.label(format!("Without it the run would be {shorter}"));
    }
    ui.label(format!("Confidence {} %", root.confidence_percent));
    ui.label(format!(
        "{} waited or stalled, on {}",
        count_of(incident.members.len(), "call"),
        count_of(incident.ranks.len(), "rank")
    ));
    ui.weak("Click to show it on the timeline; N or X labels all its executions");
}

/// Draws a triangle that points down while the incident is unfolded.
fn triangle_ui(
    ctx: &ViewContext<'_>,
    state: &mut IncidentsState,
    (number, rect): (usize, Rect),
    ui: &Ui,
) {
    let is_open = state.is_unfolded(number);
    let place = Rect::from_min_size(rect.min + vec2(4.0, 3.0), Vec2::new(22.0, 22.0));
    let id = ui.scope_id().with(("unfold", number));
    let response = ui.interact(place, id, Sense::click());
    let verb = if is_open { "Fold" } else { "Unfold" };
    response.widget_info(|| {
        let name = format!("{verb} incident {}", number + 1);
        WidgetInfo::selected(Role::Button, true, is_open, name)
    });
    let corners = [vec2(-2.5, -4.5), vec2(4.0, 0.0), vec2(-2.5, 4.5)]
        .map(|corner| place.center() + if is_open { -corner.rot90() } else { corner });
    let is_hot = response.hovered() || response.has_focus();
    let color = if is_hot {
        ctx.theme.selection()
    } else {
        ctx.theme.weak_text()
    };
    ui.painter()
        .add(Shape::convex_polygon(corners.to_vec(), color, Stroke::NONE));
    if response.clicked() {
        state.fold(number, is_open);
        ui.ctx().request_repaint();
    }
    response.on_hover_text("Its executions (→, ←)");
}

fn buttons_ui(
    ctx: &mut ViewContext<'_>,
    trees: &[TreeIdx],
    (number, rect): (usize, Rect),
    ui: &mut Ui,
) {
    let place = Rect::from_min_size(
        rect.left_bottom() + vec2(LEFT - 2.0, -BUTTONS_HEIGHT),
        vec2(rect.width() - LEFT - RIGHT, 22.0),
    );
    let scope = UiBuilder::new().max_rect(place).id_salt(("label", number));
    ui.scope_builder(scope, |ui| {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            ui.spacing_mut().button_padding.x = 6.0;
            let on = common_label(ctx.snapshot, trees);
            let on = (on, common_author(ctx.snapshot, trees));
            let target = format!("incident {}", number + 1);
            if let Some(label) = label_buttons(ctx.theme, on, &target, ui) {
                let command = IncidentsState::press_label(ctx.snapshot, label);
                if let Some(command) = command {
                    ctx.send(command);
                }
            }
            if trees.len() > 1 && ui.available_width() > MIN_COUNT_WIDTH {
                ui.weak(format!("all {}", thousands(trees.len())));
            }
        });
    });
}
