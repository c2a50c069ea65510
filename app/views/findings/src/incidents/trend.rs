//! The card of one trend: slow throughout, growing, or changed.

use callgrove_actions::context::ViewContext;
use callgrove_session::{
    Command, InspectCommand, RunTrends, Snapshot, Trend, TrendKind, UserCommand,
};
use callgrove_widgets::text::short_name;
use callgrove_widgets::theme::RADIUS;
use egui::text::{LayoutJob, TextFormat, TextWrapping};
use egui::{
    Align2, Color32, FontId, Painter, Pos2, Rect, Role, Sense, Stroke, StrokeKind, Ui, UiBuilder,
    Vec2, WidgetInfo, vec2,
};

use super::card_size::{BUTTONS_HEIGHT, LEFT, LINE_HEIGHT, RIGHT, num_lines};

/// Top of the line with the cost, in points.
const COST_TOP: f32 = 7.0;
/// Top of the description, in points.
const DESCRIPTION_TOP: f32 = 27.0;
/// Font size of the cost, in points.
const COST_SIZE: f32 = 15.0;
/// Font size of the description, in points.
const DESCRIPTION_SIZE: f32 = 13.0;
/// Font size of the other lines, in points.
const FACTS_SIZE: f32 = 12.0;
/// Height of a card without its description, in points.
const MARGIN: f32 = DESCRIPTION_TOP + 8.0;

/// Returns the commands that select a trend; they clear the selected time range, since the trend has its own.
pub(super) fn commands_to_show_trend(number: usize) -> [UserCommand; 2] {
    [
        InspectCommand::Range(None).into(),
        InspectCommand::Trend(Some(number)).into(),
    ]
}

/// Returns the height of the card of a trend on a list of some width.
pub(super) fn height(snapshot: &Snapshot, trends: &RunTrends, number: usize, width: f32) -> f32 {
    let Some(trend) = trends.all().get(number) else {
        return 0.0;
    };
    let words = num_lines(&trend.summary(trends.trace()), width);
    let doubt = trend.doubt.map_or(0, |it| num_lines(it.reason(), width));
    let has_buttons = snapshot.inspected.trend == Some(number);
    let buttons = if has_buttons { BUTTONS_HEIGHT } else { 0.0 };
    MARGIN + (words + doubt) as f32 * LINE_HEIGHT + buttons
}

/// Draws a card and handles clicks on it and on its button.
pub(super) fn trend_ui(
    ctx: &mut ViewContext<'_>,
    trends: &RunTrends,
    (number, rect): (usize, Rect),
    ui: &mut Ui,
) {
    let Some(trend) = trends.all().get(number) else {
        return;
    };
    let is_selected = ctx.snapshot.inspected.trend == Some(number);
    let words = trend.summary(trends.trace());
    let doubt = trend.doubt.map_or("", |doubt| doubt.reason());
    let id = ui.scope_id().with(("trend", number));
    let response = ui.interact(rect, id, Sense::click());
    response.widget_info(|| {
        let name = format!("Trend {}: {words}", number + 1);
        WidgetInfo::selected(Role::ListItem, true, is_selected, name)
    });
    if response.clicked() {
        for command in commands_to_show_trend(number) {
            ctx.send(command);
        }
    }
    let theme = ctx.theme;
    let (fill, stroke) = match () {
        () if is_selected => (theme.card_focused(), Stroke::new(2.0, theme.selection())),
        () if response.hovered() || response.has_focus() => {
            (theme.card(), Stroke::new(1.0, theme.weak_text()))
        }
        () => (theme.card(), Stroke::new(1.0, theme.outline())),
    };
    let painter = ui.painter_at(rect.intersect(ui.clip_rect()));
    painter.rect(rect, RADIUS, fill, stroke, StrokeKind::Inside);
    let sign = rect.min + vec2(15.0, DESCRIPTION_TOP + 9.0);
    paint_trend(&painter, trend.kind, sign, 6.0, theme.text());
    let (left, right) = (rect.left() + LEFT, rect.right() - RIGHT);
    painter.text(
        Pos2::new(left, rect.top() + COST_TOP),
        Align2::LEFT_TOP,
        format!("{} lost", trend.cost),
        FontId::proportional(COST_SIZE),
        theme.text(),
    );
    painter.text(
        Pos2::new(right, rect.top() + COST_TOP + 2.0),
        Align2::RIGHT_TOP,
        when(trend),
        FontId::proportional(FACTS_SIZE),
        theme.weak_text(),
    );
    let mut y = rect.top() + DESCRIPTION_TOP;
    for (text, size, color) in [
        (words.as_str(), DESCRIPTION_SIZE, theme.text()),
        (doubt, FACTS_SIZE, theme.weak_text()),
    ] {
        if text.is_empty() {
            continue;
        }
        let num_lines = num_lines(text, rect.width());
        paint_text(
            &painter,
            (text, size, color),
            (left, y, right - left),
            num_lines,
        );
        y += num_lines as f32 * LINE_HEIGHT;
    }
    response.on_hover_ui(|ui| tooltip_ui(trends, trend, ui));
    if is_selected {
        button_ui(ctx, trends, trend, rect, ui);
    }
}

/// Returns a short text that says when a trend applies.
fn when(trend: &Trend) -> String {
    match trend.kind {
        TrendKind::Slow { .. } | TrendKind::SlowIterations { .. } => "throughout".to_owned(),
        TrendKind::Growth { .. } => "growing".to_owned(),
        TrendKind::Change { after, .. } => format!("from {after} on"),
    }
}

fn paint_text(
    painter: &Painter,
    (text, size, color): (&str, f32, Color32),
    (left, top, width): (f32, f32, f32),
    num_lines: usize,
) {
    let format = TextFormat::simple(FontId::proportional(size), color);
    let mut job = LayoutJob::single_section(text.to_owned(), format);
    job.wrap = TextWrapping {
        max_rows: num_lines,
        ..TextWrapping::wrap_at_width(width)
    };
    let galley = painter.layout_job(job);
    painter.galley(Pos2::new(left, top), galley, color);
}

/// Paints three bars over time: all high for a slow rank, rising for growth, and a step for a change.
fn paint_trend(painter: &Painter, kind: TrendKind, centre: Pos2, radius: f32, color: Color32) {
    let heights = match kind {
        TrendKind::Slow { .. } | TrendKind::SlowIterations { .. } => [1.9, 1.9, 1.9],
        TrendKind::Growth { .. } => [0.6, 1.2, 1.9],
        TrendKind::Change { from, to, .. } if from < to => [0.6, 0.6, 1.9],
        TrendKind::Change { .. } => [1.9, 1.9, 0.6],
    };
    for (at, height) in [-0.7, 0.0, 0.7].into_iter().zip(heights) {
        let middle = centre + vec2(at, 0.95 - height / 2.0) * radius;
        let bar = Rect::from_center_size(middle, vec2(0.5, height) * radius);
        painter.rect_filled(bar, 1.0, color);
    }
}

fn tooltip_ui(trends: &RunTrends, trend: &Trend, ui: &mut Ui) {
    let name = |func| short_name(trends.trace().names.name(func));
    ui.strong(format!("Exclusive time of {}", name(trend.func)));
    let (own, usual) = trend.kind.times();
    let compared = match trend.kind {
        TrendKind::Slow { .. } | TrendKind::SlowIterations { .. } => "of their peers",
        TrendKind::Growth { .. } => "at the start",
        TrendKind::Change { .. } => "before",
    };
    ui.label(format!("{own} a call, {usual} {compared}"));
    if !trend.other_funcs.is_empty() {
        let names = trend.other_funcs.iter().map(|&func| name(func));
        ui.label(format!("Also in {}", names.collect::<Vec<_>>().join(", ")));
    }
    ui.label(format!(
        "The difference is {:.1} times the spread; waits are excluded",
        trend.evidence
    ));
    ui.weak("Click to show its ranks, time range and calls on the timeline");
}

/// Draws the button that compares the executions of the function.
fn button_ui(
    ctx: &mut ViewContext<'_>,
    trends: &RunTrends,
    trend: &Trend,
    rect: Rect,
    ui: &mut Ui,
) {
    let place = Rect::from_min_size(
        rect.left_bottom() + vec2(LEFT - 2.0, -BUTTONS_HEIGHT),
        Vec2::new(rect.width() - LEFT - RIGHT, 22.0),
    );
    let function = trends.trace().names.name(trend.func);
    let scope = UiBuilder::new().max_rect(place).id_salt("compare");
    ui.scope_builder(scope, |ui| {
        let name = format!("Compare executions of {}", short_name(function));
        let button = ui.add(egui::Button::new(name).truncate());
        let button =
            button.on_hover_text("Makes this the root function instead of the current one");
        if button.clicked() {
            ctx.send(Command::SetRoot {
                function: function.to_owned(),
            });
        }
    });
}
