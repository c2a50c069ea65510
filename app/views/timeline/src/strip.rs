//! The strip of the whole run above the rows: its abnormal executions by time and duration, and the visible range.

use callgrove_actions::context::ViewContext;
use callgrove_canvas::time::{GUTTER, Window, span};
use callgrove_model::{TimeNs, count_of};
use callgrove_session::{Command, Label, Selection, Span};
use egui::{
    Align, Color32, Layout, Mesh, Pos2, Rangef, Rect, Response, Role, Sense, Shape, Stroke,
    StrokeKind, Ui, UiBuilder, Vec2, WidgetInfo,
};

use super::state::ShownRun;

/// Height of the strip, in points.
const HEIGHT: f32 = 46.0;
/// Size of a point, in points.
const POINT: f32 = 3.0;
/// Size of a labelled point, in points.
const LABELLED_POINT: f32 = 5.0;
/// Largest distance from the pointer to a point that it hits, in points.
const HIT_RADIUS: f32 = 5.0;

/// Smallest ratio of the longest duration to the duration at the bottom.
const MIN_RATIO: f32 = 2.0;

/// Draws the strip. A drag zooms to the brushed range, a click on a point selects its tree, and a click elsewhere moves
/// the window there.
pub(crate) fn strip_ui(ctx: &mut ViewContext<'_>, shown: &mut ShownRun, ui: &mut Ui) {
    let size = Vec2::new(ui.available_width(), HEIGHT);
    let (area, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    let strip = area.with_min_x((area.left() + GUTTER).min(area.right() - 1.0));
    let num_abnormal = shown.flagged.all().len();
    let value = format!(
        "{} over time, by duration",
        count_of(num_abnormal, "abnormal execution")
    );
    response.widget_info(|| WidgetInfo {
        current_text_value: Some(value.clone()),
        ..WidgetInfo::labeled(Role::Canvas, true, "Overview of the run")
    });
    let points = points(ctx, shown, strip.shrink2(Vec2::new(0.0, 5.0)));
    brush(shown, strip, &response);
    let hovered = response.hover_pos().filter(|_| !response.dragged());
    let nearest = hovered.and_then(|pointer| nearest(&points, pointer));
    paint(ctx, shown, strip, &points, ui);
    if let Some((point, tree)) = nearest.and_then(|point| Some((point, point.span.tree?))) {
        let stroke = Stroke::new(1.5, ctx.theme.selection());
        ui.painter().circle_stroke(point.at, HIT_RADIUS, stroke);
        if response.clicked() {
            ctx.send(Command::Select(Selection::One(tree)));
        }
        let text = format!(
            "{} took {}. Click to select it",
            shown.code(tree),
            point.span.duration()
        );
        response.on_hover_text_at_pointer(text);
    } else if response.clicked()
        && let Some(pointer) = response.interact_pointer_pos()
    {
        let middle = shown.canvas.view.bounds().time_at(share(strip, pointer));
        let window = shown.canvas.view.window().centred_at(middle);
        shown.canvas.view.jump(window);
    }
    name_ui(area.with_max_x(strip.left()), num_abnormal, ui);
}

fn share(strip: Rect, at: Pos2) -> f64 {
    f64::from(((at.x - strip.left()) / strip.width().max(1.0)).clamp(0.0, 1.0))
}

/// An abnormal execution on the strip.
struct Point {
    at: Pos2,
    span: Span,
    color: Color32,
    size: f32,
}

fn points(ctx: &ViewContext<'_>, shown: &ShownRun, strip: Rect) -> Vec<Point> {
    let spans = shown.flagged.all();
    let height = |span: &Span| (span.duration().0.max(1) as f32).ln();
    let (least, most) = spans
        .iter()
        .fold((f32::MAX, f32::MIN), |(least, most), span| {
            (least.min(height(span)), most.max(height(span)))
        });
    let bounds = shown.canvas.view.bounds();
    let place = |span: &Span| {
        let share = 1.0 - (most - height(span)) / (most - least).max(MIN_RATIO.ln());
        let x = strip.left() + strip.width() * bounds.share_of(span.from) as f32;
        let label = span.tree.and_then(|tree| ctx.snapshot.label(tree));
        Point {
            at: Pos2::new(x, strip.bottom() - strip.height() * share),
            span: *span,
            color: ctx.theme.label(label.unwrap_or(Label::Abnormal)),
            size: if label.is_some() {
                LABELLED_POINT
            } else {
                POINT
            },
        }
    };
    spans.iter().map(place).collect()
}

fn nearest(points: &[Point], pointer: Pos2) -> Option<&Point> {
    points
        .iter()
        .filter(|point| point.at.distance(pointer) <= HIT_RADIUS)
        .min_by(|a, b| a.at.distance(pointer).total_cmp(&b.at.distance(pointer)))
}

/// Brushes a time range by a drag; the view zooms to it when the drag ends.
fn brush(shown: &mut ShownRun, strip: Rect, response: &Response) {
    let pointer = response
        .interact_pointer_pos()
        .map(|pointer| share(strip, pointer));
    if response.drag_started() {
        shown.brush_from = pointer;
    }
    if response.drag_stopped()
        && let (Some(from), Some(to)) = (shown.brush_from.take(), pointer)
    {
        let bounds = shown.canvas.view.bounds();
        let (from, to) = (bounds.time_at(from.min(to)), bounds.time_at(from.max(to)));
        shown.canvas.view.jump(Window::around(from, to, 0.0));
    }
}

fn paint(ctx: &ViewContext<'_>, shown: &ShownRun, strip: Rect, points: &[Point], ui: &Ui) {
    let painter = ui.painter_at(strip.expand2(Vec2::new(2.0, 0.0)));
    let view = &shown.canvas.view;
    let range = ctx.snapshot.inspected.range;
    let place = |from: TimeNs, to: TimeNs, min_width| {
        span(view.bounds(), strip.x_range(), from, to, min_width)
    };
    painter.rect_filled(strip, 2.0, ctx.theme.grid().gamma_multiply(0.6));
    if let Some((from, to)) = shown.tree_times() {
        let x = place(from, to, 2.0);
        let y = Rangef::new(strip.bottom() - 3.0, strip.bottom());
        painter.rect_filled(Rect::from_x_y_ranges(x, y), 0.0, ctx.theme.text());
    }
    let mut mesh = Mesh::default();
    for hit in shown.search.spans.all() {
        let y = Rangef::new(strip.bottom() - 5.0, strip.bottom());
        mesh.add_colored_rect(
            Rect::from_x_y_ranges(place(hit.from, hit.to, 1.0), y),
            ctx.theme.warning(),
        );
    }
    mesh.reserve_vertices(4 * points.len());
    for point in points {
        mesh.add_colored_rect(
            Rect::from_center_size(point.at, Vec2::splat(point.size)),
            point.color,
        );
    }
    painter.add(Shape::mesh(mesh));
    let window = view.window();
    let seen = Rect::from_x_y_ranges(place(window.from, window.to, 6.0), strip.y_range());
    painter.rect_filled(seen, 2.0, ctx.theme.accent().gamma_multiply(0.18));
    let stroke = Stroke::new(1.5, ctx.theme.accent());
    painter.rect_stroke(seen, 2.0, stroke, StrokeKind::Inside);
    if let Some(range) = range {
        let x = place(range.from, range.to, 2.0);
        let veil = ctx.theme.accent().gamma_multiply(0.4);
        painter.rect_filled(Rect::from_x_y_ranges(x, strip.y_range()), 0.0, veil);
    }
    let brushed = shown.brush_from.zip(ui.ctx().pointer_interact_pos());
    if let Some((from, pointer)) = brushed {
        let x = Rangef::new(
            strip.left() + strip.width() * from as f32,
            pointer.x.clamp(strip.left(), strip.right()),
        );
        let brushed = Rect::from_x_y_ranges(x.min.min(x.max)..=x.min.max(x.max), strip.y_range());
        painter.rect_filled(brushed, 0.0, ctx.theme.selection().gamma_multiply(0.2));
    }
}

fn name_ui(place: Rect, num_abnormal: usize, ui: &mut Ui) {
    let place = place.with_min_x(place.left() + 4.0);
    let layout = Layout::top_down(Align::Min).with_main_align(Align::Center);
    // A child of its own does not move the place of what follows.
    let mut names = ui.new_child(UiBuilder::new().max_rect(place).layout(layout));
    let ui = &mut names;
    ui.spacing_mut().item_spacing.y = 0.0;
    ui.label(egui::RichText::new("Whole run").small());
    if num_abnormal > 0 {
        ui.label(
            egui::RichText::new(format!("{num_abnormal} abnormal"))
                .small()
                .weak(),
        );
    }
}
