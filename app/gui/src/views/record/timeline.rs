//! The event window as a timeline: calls by depth, messages to other ranks, and the strip of all time.

use std::sync::Arc;

use callgrove_session::watch::document::{MessageKind, WindowBar, WindowMessage};
use callgrove_session::watch::{ExecutionDocument, QueryForm, WatchCommand, WindowLayout};
use egui::{
    Align2, FontId, Key, Painter, PopupAnchor, Pos2, Rect, Response, Role, ScrollArea, Sense,
    Shape, Stroke, StrokeKind, Tooltip, Ui, Vec2, WidgetInfo,
};

use crate::canvas::points::Axis;
use crate::context::{ViewContext, short_name};
use crate::text::{duration, number};
use crate::widgets::table::empty_ui;
use crate::widgets::view_header;

const ROW_HEIGHT: f32 = 22.0;
const STRIP_HEIGHT: f32 = 16.0;
const AXIS_HEIGHT: f32 = 18.0;
/// Room for the names of ranks, in points.
const GUTTER: f32 = 72.0;
/// How far from a message the pointer may be, in points.
const HIT_RADIUS: f32 = 6.0;

/// The window that is shown, and which part of it is seen.
#[derive(Default)]
pub(crate) struct TimelineState {
    shown: Option<Shown>,
}

struct Shown {
    document: Arc<ExecutionDocument>,
    layout: WindowLayout,
    /// Time in microseconds since [`Shown::origin_us`].
    axis: Axis,
    /// Everything, callers that run for long included.
    whole: Axis,
    origin_us: u64,
}

/// What the pointer is on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hovered {
    Bar(usize),
    Message(usize),
}

impl TimelineState {
    /// Shows the window of a document, all calls of the window in view.
    pub(crate) fn show(&mut self, document: &Arc<ExecutionDocument>) {
        let layout = document.layout();
        let subject = layout.subject().map(|at| layout.bars[at].entry_us);
        let origin_us = document.entry_us.or(subject).unwrap_or(layout.from_us);
        let since = |time_us: u64| time_us as f64 - origin_us as f64;
        let ends = layout
            .bars
            .iter()
            .flat_map(|bar| [bar.entry_us, bar.exit_us])
            .chain([layout.from_us, layout.to_us]);
        let whole = Axis::around(ends.map(since), false);
        self.shown = Some(Shown {
            document: Arc::clone(document),
            axis: fitted(&layout, origin_us),
            layout,
            whole,
            origin_us,
        });
    }

    pub(crate) fn fit(&mut self) {
        if let Some(shown) = &mut self.shown {
            shown.axis = fitted(&shown.layout, shown.origin_us);
        }
    }
}

fn fitted(layout: &WindowLayout, origin_us: u64) -> Axis {
    let ends = [layout.from_us, layout.to_us];
    Axis::around(
        ends.into_iter()
            .map(|time_us| time_us as f64 - origin_us as f64),
        false,
    )
}

impl Shown {
    fn since(&self, time_us: u64) -> f64 {
        time_us as f64 - self.origin_us as f64
    }

    fn x(&self, time_us: u64, plot: Rect) -> f32 {
        let share = self.axis.share_of(self.since(time_us)).clamp(-1e3, 1e3);
        plot.left() + plot.width() * share as f32
    }

    fn bar_rect(&self, bar: &WindowBar, plot: Rect) -> Rect {
        let top = plot.top() + ROW_HEIGHT * bar.depth as f32;
        let left = self.x(bar.entry_us, plot);
        let right = self.x(bar.exit_us, plot).max(left + 2.0);
        Rect::from_min_max(
            Pos2::new(left, top),
            Pos2::new(right, top + ROW_HEIGHT - 2.0),
        )
    }

    fn partner_y(&self, row: usize, plot: Rect) -> f32 {
        let top = plot.top() + ROW_HEIGHT * (self.layout.num_depths as f32 + 0.5);
        top + ROW_HEIGHT * (row as f32 + 0.5)
    }

    /// From the call to the other rank, or the other way.
    fn message_line(&self, message: &WindowMessage, plot: Rect) -> [Pos2; 2] {
        let x = self.x(message.time_us, plot);
        let depth = message.bar.map_or(self.layout.num_depths, |bar| {
            self.layout.bars[bar].depth + 1
        });
        let here = Pos2::new(x, plot.top() + ROW_HEIGHT * depth as f32 - 2.0);
        let there = Pos2::new(x, self.partner_y(message.partner_row, plot));
        match message.kind {
            MessageKind::Send => [here, there],
            MessageKind::Receive => [there, here],
        }
    }

    fn num_rows(&self) -> f32 {
        let num_partners = self.layout.partners.len() as f32;
        self.layout.num_depths as f32 + num_partners + 1.0
    }
}

/// Draws strip, axis, calls and messages.
pub(crate) fn timeline_ui(ctx: &mut ViewContext<'_>, state: &mut TimelineState, ui: &mut Ui) {
    let mut wants_fit = false;
    view_header(ui, "What happened around it on the same thread", |ui| {
        wants_fit = ui
            .button("Fit")
            .on_hover_text("Show the whole window (F)")
            .clicked();
    });
    if wants_fit {
        state.fit();
    }
    let Some(shown) = &mut state.shown else {
        return;
    };
    if shown.layout.bars.is_empty() {
        return empty_ui(
            "The document has neither an event window nor a call stack.",
            ui,
        );
    }
    strip_ui(ctx, shown, ui);
    axis_ui(ctx, shown, ui);
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        let height = (shown.num_rows() * ROW_HEIGHT).max(ui.available_height());
        let (_, area) = ui.allocate_space(Vec2::new(ui.available_width(), height));
        let plot = area.with_min_x(area.left() + GUTTER);
        let response = ui.interact(plot, ui.unique_id().with("calls"), Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, label(&shown.layout)));
        navigate(shown, plot, &response, ui);
        let painter = ui.painter_at(plot.intersect(ui.clip_rect()));
        let pointer = response.hover_pos().filter(|_| !response.dragged());
        let hovered = pointer.and_then(|pointer| hit(shown, plot, pointer));
        paint_bars(ctx, shown, plot, hovered, &painter);
        paint_messages(ctx, shown, plot, hovered, &painter, ui);
        if let Some(hovered) = hovered {
            tooltip_ui(shown, hovered, &response, ui);
            act(ctx, shown, hovered, &response);
        }
    });
}

fn label(layout: &WindowLayout) -> String {
    format!(
        "Timeline of {} calls and {} messages with {} ranks",
        layout.bars.len(),
        layout.messages.len(),
        layout.partners.len()
    )
}

/// All of the time, and the part below; a drag moves the part.
fn strip_ui(ctx: &ViewContext<'_>, shown: &mut Shown, ui: &mut Ui) {
    let size = Vec2::new(ui.available_width(), STRIP_HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    let rect = rect.with_min_x(rect.left() + GUTTER);
    response
        .widget_info(|| WidgetInfo::labeled(Role::Canvas, true, "Part of the time that is shown"));
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 2.0, ctx.theme.canvas());
    let x = |value: f64| rect.left() + rect.width() * shown.whole.share_of(value) as f32;
    for bar in &shown.layout.bars {
        let (left, right) = (x(shown.since(bar.entry_us)), x(shown.since(bar.exit_us)));
        let top = rect.top()
            + (rect.height() - 3.0) * (bar.depth as f32 / shown.layout.num_depths as f32);
        let place = Rect::from_min_max(
            Pos2::new(left, top),
            Pos2::new(right.max(left + 1.0), top + 3.0),
        );
        let color = if bar.is_subject {
            ctx.theme.abnormal()
        } else {
            ctx.color_of(&bar.func)
        };
        painter.rect_filled(place, 0.0, color);
    }
    let seen = Rect::from_min_max(
        Pos2::new(x(shown.axis.from), rect.top()),
        Pos2::new(
            x(shown.axis.to).max(x(shown.axis.from) + 3.0),
            rect.bottom(),
        ),
    );
    painter.rect_stroke(
        seen,
        2.0,
        Stroke::new(1.5, ctx.theme.selection()),
        StrokeKind::Inside,
    );
    if let Some(pointer) = response.interact_pointer_pos() {
        let middle = shown
            .whole
            .value_at(f64::from((pointer.x - rect.left()) / rect.width()));
        let half = (shown.axis.to - shown.axis.from) / 2.0;
        shown.axis = Axis {
            from: middle - half,
            to: middle + half,
            is_log: false,
        };
    }
}

fn axis_ui(ctx: &ViewContext<'_>, shown: &Shown, ui: &mut Ui) {
    let size = Vec2::new(ui.available_width(), AXIS_HEIGHT);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let plot = rect.with_min_x(rect.left() + GUTTER);
    let font = FontId::proportional(11.5);
    let painter = ui.painter_at(rect);
    painter.text(
        rect.left_center(),
        Align2::LEFT_CENTER,
        "since entry",
        font.clone(),
        ctx.theme.weak_text(),
    );
    for value in shown.axis.ticks((plot.width() / 100.0) as usize) {
        let x = plot.left() + plot.width() * shown.axis.share_of(value) as f32;
        let at = Pos2::new(x, plot.center().y);
        let text = if value.abs() < f64::EPSILON {
            "0".to_owned()
        } else {
            duration(value).replace('-', "−")
        };
        painter.text(
            at,
            Align2::CENTER_CENTER,
            text,
            font.clone(),
            ctx.theme.weak_text(),
        );
    }
}

/// Wheel and pinch zoom to the pointer, drag moves; W S A D do the same.
fn navigate(shown: &mut Shown, plot: Rect, response: &Response, ui: &Ui) {
    if response.clicked() {
        response.request_focus();
    }
    if response.dragged() {
        let shift = -response.drag_delta().x / plot.width();
        shown.axis = shown.axis.panned(f64::from(shift));
    }
    let is_typing = ui.ctx().text_edit_focused();
    if !(response.contains_pointer() || response.has_focus()) || is_typing {
        return;
    }
    let pointer = response.hover_pos();
    let anchor = pointer.map_or(0.5, |pointer| {
        f64::from((pointer.x - plot.left()) / plot.width())
    });
    let pressed = |key| ui.input(|input| input.modifiers.is_none() && input.key_pressed(key));
    let (wheel, pinch) = ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
    let mut factor = f64::from((wheel * 0.005).exp() * pinch);
    if pressed(Key::W) {
        factor *= 1.5;
    } else if pressed(Key::S) {
        factor /= 1.5;
    } else if pressed(Key::A) {
        shown.axis = shown.axis.panned(-0.2);
    } else if pressed(Key::D) {
        shown.axis = shown.axis.panned(0.2);
    }
    if (factor - 1.0).abs() > 1e-4 {
        shown.axis = shown.axis.zoomed(factor, anchor);
    }
}

/// What is under the pointer: a call, else a message.
fn hit(shown: &Shown, plot: Rect, pointer: Pos2) -> Option<Hovered> {
    let bars = shown.layout.bars.iter();
    let bar = bars
        .enumerate()
        .rev()
        .find(|(_, bar)| shown.bar_rect(bar, plot).expand(1.0).contains(pointer));
    if let Some((at, _)) = bar {
        return Some(Hovered::Bar(at));
    }
    let distance = |message: &WindowMessage| {
        let [from, to] = shown.message_line(message, plot);
        let rows = from.y.min(to.y)..=from.y.max(to.y);
        if rows.contains(&pointer.y) {
            (from.x - pointer.x).abs()
        } else {
            from.distance(pointer).min(to.distance(pointer))
        }
    };
    let messages = shown.layout.messages.iter().enumerate();
    messages
        .map(|(at, message)| (at, distance(message)))
        .filter(|(_, distance)| *distance <= HIT_RADIUS)
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(at, _)| Hovered::Message(at))
}

fn paint_bars(
    ctx: &ViewContext<'_>,
    shown: &Shown,
    plot: Rect,
    hovered: Option<Hovered>,
    painter: &Painter,
) {
    painter.rect_filled(plot, 0.0, ctx.theme.canvas());
    for (at, bar) in shown.layout.bars.iter().enumerate() {
        let rect = shown.bar_rect(bar, plot);
        if !rect.intersects(plot) {
            continue;
        }
        let color = ctx.color_of(&bar.func);
        painter.rect_filled(rect, 2.0, color);
        if bar.is_anomaly || bar.is_subject {
            let width = if bar.is_subject { 3.0 } else { 1.5 };
            let stroke = Stroke::new(width, ctx.theme.abnormal());
            painter.rect_stroke(rect, 2.0, stroke, StrokeKind::Outside);
        }
        if hovered == Some(Hovered::Bar(at)) {
            let stroke = Stroke::new(1.5, ctx.theme.selection());
            painter.rect_stroke(rect, 2.0, stroke, StrokeKind::Inside);
        }
        let seen = rect.intersect(plot).shrink2(Vec2::new(4.0, 0.0));
        if seen.width() > 28.0 {
            let sign = if bar.is_subject || bar.is_anomaly {
                "◆ "
            } else {
                ""
            };
            let end = if bar.is_open { " …" } else { "" };
            let text = format!("{sign}{}{end}", short_name(&bar.func));
            let clipped = painter.with_clip_rect(seen.intersect(painter.clip_rect()));
            let font = FontId::proportional(12.0);
            let ink = ctx.theme.text_on(color);
            clipped.text(seen.left_center(), Align2::LEFT_CENTER, text, font, ink);
        }
    }
}

fn paint_messages(
    ctx: &ViewContext<'_>,
    shown: &Shown,
    plot: Rect,
    hovered: Option<Hovered>,
    painter: &Painter,
    ui: &Ui,
) {
    let font = FontId::proportional(12.0);
    for (row, partner) in shown.layout.partners.iter().enumerate() {
        let y = shown.partner_y(row, plot);
        painter.hline(plot.x_range(), y, Stroke::new(1.0, ctx.theme.outline()));
        let at = Pos2::new(plot.left() - 6.0, y);
        let name = format!("rank {partner}");
        ui.painter().text(
            at,
            Align2::RIGHT_CENTER,
            name,
            font.clone(),
            ctx.theme.weak_text(),
        );
    }
    for (at, message) in shown.layout.messages.iter().enumerate() {
        let [from, to] = shown.message_line(message, plot);
        let is_hovered = hovered == Some(Hovered::Message(at));
        let width = if is_hovered { 2.5 } else { 1.2 };
        let stroke = Stroke::new(width, ctx.theme.message());
        painter.line_segment([from, to], stroke);
        let up = if to.y > from.y { -1.0 } else { 1.0 };
        let corners = vec![
            to,
            to + Vec2::new(-4.0, 7.0 * up),
            to + Vec2::new(4.0, 7.0 * up),
        ];
        painter.add(Shape::convex_polygon(
            corners,
            ctx.theme.message(),
            Stroke::NONE,
        ));
    }
}

/// A double click shows a call whole; a click on another anomaly looks its document up.
fn act(ctx: &mut ViewContext<'_>, shown: &mut Shown, hovered: Hovered, response: &Response) {
    let Hovered::Bar(at) = hovered else {
        return;
    };
    let bar = &shown.layout.bars[at];
    if response.double_clicked() {
        let ends = [bar.entry_us, bar.exit_us].map(|time_us| shown.since(time_us));
        shown.axis = Axis::around(ends.into_iter(), false);
    } else if response.clicked() && bar.is_anomaly && !bar.is_subject {
        let app = shown
            .document
            .app
            .map_or_else(String::new, |app| app.to_string());
        let form = QueryForm {
            apps: app,
            filter: format!("event_id = '{}'", bar.event_id.replace('\'', "''")),
            ..QueryForm::default()
        };
        ctx.watch(WatchCommand::Query(Box::new(form)));
    }
}

fn tooltip_ui(shown: &Shown, hovered: Hovered, response: &Response, ui: &Ui) {
    Tooltip::always_open(
        ui.ctx().clone(),
        ui.layer_id(),
        response.id,
        PopupAnchor::Pointer,
    )
    .gap(12.0)
    .show(|ui| match hovered {
        Hovered::Bar(at) => bar_tooltip(shown, &shown.layout.bars[at], ui),
        Hovered::Message(at) => {
            let message = &shown.layout.messages[at];
            let partner = shown.layout.partners[message.partner_row];
            ui.strong(match message.kind {
                MessageKind::Send => format!("Message to rank {partner}"),
                MessageKind::Receive => format!("Message from rank {partner}"),
            });
            ui.label(format!(
                "{} bytes, tag {}",
                number(message.size_bytes as f64),
                message.tag
            ));
            ui.weak(format!(
                "{} since entry",
                duration(shown.since(message.time_us))
            ));
        }
    });
}

fn bar_tooltip(shown: &Shown, bar: &WindowBar, ui: &mut Ui) {
    ui.strong(short_name(&bar.func));
    ui.weak(&bar.func);
    ui.monospace(&bar.event_id);
    let length = duration(bar.exit_us.saturating_sub(bar.entry_us) as f64);
    ui.label(if bar.is_open {
        format!("Still running after {length}")
    } else {
        format!("Took {length}")
    });
    ui.label(format!(
        "Entered {} since entry",
        duration(shown.since(bar.entry_us))
    ));
    if bar.is_subject {
        ui.strong("This execution");
    } else if bar.is_anomaly {
        ui.strong("An anomaly; click to look it up");
    }
}
