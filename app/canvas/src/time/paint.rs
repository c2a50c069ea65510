//! Draws rows, bars, arrows, marks and axis.

use callgrove_model::{FunctionName, TimeNs};
use callgrove_session::{Arrow, ArrowOf, Bar, CallDetails, Mark, RowKind, TimeRange};
use callgrove_widgets::theme::Theme;
use egui::{Color32, FontId, Mesh, Painter, Pos2, Rangef, Rect, Shape, Stroke, StrokeKind, Vec2};

use super::axis::{Tick, relative_time, step_of_pixel, ticks, utc_clock};
use super::lanes::LaneCanvas;
use super::layout::{
    FlagMark, PlacedRow, arrow_ends, bars_between, fitted_name, marks_of_row, span,
};
use super::scene::{Hovered, LaneScene};

/// Minimum distance between ticks of the axis, in points.
const TICK_SPACING: f32 = 110.0;
/// Fraction of its colour that a call outside the tree keeps.
const DIMMED: f32 = 0.38;
/// Width from which calls have a gap to the next one, in points; merged ones have none.
const GAP_FROM: f32 = 3.0;
/// Largest gap between bars that are drawn with one line through them, in points.
const LINE_GAP: f32 = 0.5;
/// Width from which bars are named, in points.
const NAME_FROM: f32 = 26.0;
/// Font size of the names, in points.
const NAME_SIZE: f32 = 11.0;
/// Number of arrows beyond which the unselected ones fade, so that they do not cover the rows.
const MAX_FULL_ARROWS: f32 = 100.0;
/// Length of the head of an arrow, in points.
const ARROW_HEAD: f32 = 5.0;
/// Radius of the ring at the message that ended a wait, in points.
const RING: f32 = 5.0;

/// One frame of the canvas.
pub(super) struct LaneDrawing<'a> {
    pub(super) canvas: &'a LaneCanvas,
    pub(super) shown: &'a LaneScene<'a>,
    pub(super) painter: &'a Painter,
    /// The rows without their names. The top is that of the first row.
    pub(super) plot: Rect,
    /// The rows in view.
    pub(super) in_view: std::ops::Range<usize>,
}

impl LaneDrawing<'_> {
    fn theme(&self) -> &Theme {
        self.shown.theme
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (usize, &PlacedRow)> {
        self.in_view
            .clone()
            .zip(&self.canvas.rows()[self.in_view.clone()])
    }

    /// Paints the rows with all their content.
    pub(super) fn paint_rows(&self, hovered: Option<&Hovered>) {
        let grid = Stroke::new(1.0, self.theme().grid());
        for tick in self.ticks() {
            self.painter
                .vline(self.x(tick.time), self.plot.y_range(), grid);
        }
        for (_, row) in self.rows() {
            self.paint_row(row);
        }
        self.paint_writes();
        self.paint_highlights();
        self.paint_arrows(hovered);
        for mark in self.marks() {
            self.paint_mark(&mark, hovered);
        }
        self.paint_cascade(hovered);
        if let Some(call) = self.canvas.call() {
            self.paint_call(call);
        }
        if let Some(Hovered::Bar { lane, bar }) = hovered
            && let Some(row) = self.canvas.row_of(*lane)
        {
            let rect = self.bar_rect(&self.canvas.rows()[row], bar);
            let stroke = Stroke::new(1.0, self.theme().selection());
            self.painter
                .rect_stroke(rect, 0.0, stroke, StrokeKind::Outside);
        }
        if let Some(range) = self.shown.range {
            self.paint_range(range);
        }
        for mark in self.shown.marks {
            self.paint_user_mark(mark);
        }
    }

    fn paint_row(&self, row: &PlacedRow) {
        let top = self.plot.top();
        let heights = Rangef::new(top + row.bars_top, top + row.bars_bottom());
        let area = Rect::from_x_y_ranges(self.plot.x_range(), heights);
        let ground = self.theme().grid().gamma_multiply(0.35);
        self.painter.rect_filled(area, 0.0, ground);
        let clip = self.painter.clip_rect().y_range();
        let window = self.canvas.view.window();
        let is_seen = |level: &usize| {
            let y = heights.min + row.level_height * *level as f32;
            y <= clip.max && y + row.level_height >= clip.min
        };
        let bars = self.canvas.bars(row.lane.lane);
        let levels = (0..row.num_levels).filter(is_seen);
        let in_view: Vec<&Bar> = levels
            .flat_map(|level| bars_between(bars, level, window))
            .collect();
        let mut mesh = Mesh::default();
        mesh.reserve_vertices(4 * in_view.len());
        mesh.reserve_triangles(2 * in_view.len());
        let mut many: Option<Rect> = None;
        for bar in &in_view {
            let rect = self.bar_rect(row, bar);
            mesh.add_colored_rect(rect, self.bar_color(row, bar));
            if bar.num_calls > 1 && rect.width() > 1.5 {
                let joined = many.filter(|many| {
                    many.y_range() == rect.y_range() && rect.left() - many.right() < LINE_GAP
                });
                if joined.is_none() {
                    self.add_lines(&mut mesh, many);
                }
                many = Some(joined.map_or(rect, |joined| joined.union(rect)));
            }
        }
        self.add_lines(&mut mesh, many);
        self.painter.add(Shape::mesh(mesh));
        for bar in in_view {
            self.paint_name(row, bar);
        }
    }

    /// Adds lines through adjacent merged bars, which mark that each bar is many calls.
    fn add_lines(&self, mesh: &mut Mesh, bars: Option<Rect>) {
        let Some(bars) = bars else { return };
        let light = self.theme().canvas().gamma_multiply(0.55);
        for share in [0.3, 0.62] {
            let y = (bars.top() + bars.height() * share).round();
            mesh.add_colored_rect(Rect::from_x_y_ranges(bars.x_range(), y..=y + 1.5), light);
        }
    }

    fn bar_color(&self, row: &PlacedRow, bar: &Bar) -> Color32 {
        let color = self
            .canvas
            .colors()
            .get(bar.func.index())
            .copied()
            .unwrap_or_default();
        if is_dimmed(row, bar) {
            color.gamma_multiply(DIMMED)
        } else {
            color
        }
    }

    fn bar_rect(&self, row: &PlacedRow, bar: &Bar) -> Rect {
        let mut x = self.span(bar.from, bar.to, 1.0);
        if x.span() >= GAP_FROM && bar.num_calls == 1 {
            x.max -= 1.0;
        }
        self.level_rect(row, bar.level, x)
    }

    fn level_rect(&self, row: &PlacedRow, level: usize, x: Rangef) -> Rect {
        let top = self.plot.top() + row.bars_top + row.level_height * level as f32;
        Rect::from_x_y_ranges(x, Rangef::new(top, top + row.level_height - 1.0))
    }

    fn paint_name(&self, row: &PlacedRow, bar: &Bar) {
        let rect = self.bar_rect(row, bar);
        if rect.width() < NAME_FROM || bar.num_calls > 1 || row.level_height < NAME_SIZE + 1.0 {
            return;
        }
        let full = self.canvas.trace().names.name(bar.func);
        let letter = NAME_SIZE * 0.56;
        let Some(text) = fitted_name(FunctionName::parse(full).short, rect.width() - 6.0, letter)
        else {
            return;
        };
        let color = if is_dimmed(row, bar) {
            self.theme().weak_text()
        } else {
            self.theme().text_on(self.bar_color(row, bar))
        };
        let galley = self
            .painter
            .layout_no_wrap(text, FontId::proportional(NAME_SIZE), color);
        let at = Pos2::new(rect.left() + 3.0, rect.center().y - galley.size().y / 2.0);
        self.painter
            .with_clip_rect(rect.intersect(self.painter.clip_rect()))
            .galley(at, galley, color);
    }

    fn paint_arrows(&self, hovered: Option<&Hovered>) {
        let Some(found) = self.canvas.messages() else {
            return;
        };
        let num_others = found
            .arrows
            .iter()
            .filter(|arrow| arrow.of == ArrowOf::Others)
            .count();
        let faint = (0.22 * (MAX_FULL_ARROWS / num_others.max(1) as f32).sqrt()).clamp(0.05, 0.22);
        // The most important arrows come first in the list and are drawn last.
        for arrow in found.arrows.iter().rev() {
            let Some(line) = self.arrow_line(arrow) else {
                continue;
            };
            let ends_wait = self.canvas.wait() == Some(arrow.message);
            let is_hovered = matches!(hovered, Some(Hovered::Arrow(other)) if other == arrow);
            let stroke = match arrow.of {
                _ if is_hovered || ends_wait => Stroke::new(2.5, self.theme().selection()),
                ArrowOf::Call => Stroke::new(1.6, self.theme().message()),
                ArrowOf::Tree => Stroke::new(1.2, self.theme().message()),
                ArrowOf::Others => Stroke::new(0.8, self.theme().message().gamma_multiply(faint)),
            };
            self.painter.line_segment(line, stroke);
            self.paint_arrow_head(line, stroke);
            if ends_wait {
                for end in line {
                    self.painter.circle_stroke(end, RING, stroke);
                }
            }
        }
    }

    /// Returns the line of an arrow on the screen; `None` if it is not in the window.
    pub(super) fn arrow_line(&self, arrow: &Arrow) -> Option<[Pos2; 2]> {
        let xs = (self.x(arrow.sent), self.x(arrow.received));
        if xs.0.max(xs.1) < self.plot.left() || xs.0.min(xs.1) > self.plot.right() {
            return None;
        }
        let ends = (
            self.canvas.row_of(arrow.from)?,
            self.canvas.row_of(arrow.to)?,
        );
        let line = arrow_ends(self.canvas.rows(), ends, xs)?;
        Some(line.map(|point| point + Vec2::new(0.0, self.plot.top())))
    }

    fn paint_arrow_head(&self, [start, end]: [Pos2; 2], stroke: Stroke) {
        let along = (end - start).normalized() * ARROW_HEAD;
        let across = along.rot90() * 0.45;
        let corners = vec![end, end - along + across, end - along - across];
        self.painter
            .add(Shape::convex_polygon(corners, stroke.color, Stroke::NONE));
    }

    /// Returns the marks of abnormal executions on the rows in view.
    pub(super) fn marks(&self) -> impl Iterator<Item = FlagMark> {
        self.rows()
            .flat_map(|(at, row)| self.marks_on(self.shown.flagged, at, row))
    }

    fn marks_on(
        &self,
        spans: &callgrove_session::SpanIndex,
        at: usize,
        row: &PlacedRow,
    ) -> Vec<FlagMark> {
        marks_of_row(
            spans,
            (at, row.lane.lane),
            self.canvas.view.window(),
            self.plot.x_range(),
        )
    }

    fn paint_mark(&self, mark: &FlagMark, hovered: Option<&Hovered>) {
        let rect = self.mark_rect(mark);
        self.painter.rect_filled(rect, 1.0, self.theme().abnormal());
        if matches!(hovered, Some(Hovered::Mark(other)) if other == mark) {
            let stroke = Stroke::new(1.5, self.theme().selection());
            self.painter
                .rect_stroke(rect, 1.0, stroke, StrokeKind::Outside);
        }
    }

    /// Returns the rectangle of a mark, above the bars of its row.
    pub(super) fn mark_rect(&self, mark: &FlagMark) -> Rect {
        let bars = self.canvas.rows()[mark.row].bars_top + self.plot.top();
        Rect::from_x_y_ranges(mark.x, Rangef::new(bars - 4.5, bars - 1.5))
    }

    /// Paints the outline of the selected call.
    fn paint_call(&self, call: &CallDetails) {
        let Some(row) = self
            .canvas
            .row_of(call.call.lane)
            .map(|at| &self.canvas.rows()[at])
        else {
            return;
        };
        let level = match row.kind {
            RowKind::Strip => 0,
            RowKind::Stack | RowKind::Tree(_) => {
                let top = self.canvas.top_depth(call.call.lane);
                call.depth.saturating_sub(top)
            }
        };
        let (from, to) = (call.entry, call.exit);
        let window = self.canvas.view.window();
        if from <= window.to && to >= window.from && level < row.num_levels {
            let rect = self.level_rect(row, level, self.span(from, to, 4.0));
            let stroke = Stroke::new(2.0, self.theme().selection());
            self.painter
                .rect_stroke(rect, 1.0, stroke, StrokeKind::Outside);
        }
    }

    fn paint_range(&self, range: TimeRange) {
        let (left, right) = (self.x(range.from), self.x(range.to));
        let veil = self.theme().accent().gamma_multiply(0.16);
        let rect = Rect::from_x_y_ranges(left..=right, self.plot.y_range());
        self.painter.rect_filled(rect, 0.0, veil);
        let stroke = Stroke::new(1.5, self.theme().accent());
        for x in [left, right] {
            self.painter.vline(x, self.plot.y_range(), stroke);
        }
    }

    /// Paints a mark of the user: lines at its ends and its text at the top.
    fn paint_user_mark(&self, mark: &Mark) {
        let (left, right) = (self.x(mark.range.from), self.x(mark.range.to));
        if right < self.plot.left() || left > self.plot.right() {
            return;
        }
        let color = self.theme().label_normal();
        let y = self.painter.clip_rect().y_range();
        for x in [left, right] {
            self.painter.vline(x, y, Stroke::new(1.0, color));
        }
        let font = FontId::proportional(NAME_SIZE);
        let galley =
            self.painter
                .layout_no_wrap(mark.text.clone(), font, self.theme().text_on(color));
        let at = Pos2::new(left.max(self.plot.left()), y.min);
        let plate = Rect::from_min_size(at, galley.size() + Vec2::new(6.0, 2.0));
        self.painter.rect_filled(plate, 2.0, color);
        self.painter.galley(at + Vec2::new(3.0, 1.0), galley, color);
    }

    /// Paints the axis: time of the run above, time of the day below it, and both at the pointer.
    pub(super) fn paint_axis(&self, painter: &Painter, axis: Rect, pointer: Option<TimeNs>) {
        let lines = [
            axis.top() + axis.height() * 0.25,
            axis.top() + axis.height() * 0.75,
        ];
        for tick in self.ticks() {
            let x = self.x(tick.time);
            let color = self.theme().weak_text();
            painter.vline(x, axis.y_range(), Stroke::new(1.0, self.theme().grid()));
            for (text, y) in [tick.text, tick.utc].into_iter().zip(lines) {
                let galley = painter.layout_no_wrap(text, FontId::proportional(NAME_SIZE), color);
                if x + 3.0 + galley.size().x <= axis.right() {
                    painter.galley(Pos2::new(x + 3.0, y - galley.size().y / 2.0), galley, color);
                }
            }
        }
        let Some(time) = pointer else { return };
        let x = self.x(time);
        let stroke = Stroke::new(1.0, self.theme().selection().gamma_multiply(0.6));
        self.painter.vline(x, self.plot.y_range(), stroke);
        let pixel_ns = self.pixel_ns();
        let texts = [
            relative_time(time, self.canvas.origin(), pixel_ns),
            utc_clock(time, step_of_pixel(pixel_ns)),
        ];
        for (text, y) in texts.into_iter().zip(lines) {
            self.paint_sign(painter, axis, Pos2::new(x, y), text);
        }
    }

    /// Paints a text on a plate, inside the axis.
    pub(super) fn paint_sign(&self, painter: &Painter, axis: Rect, middle: Pos2, text: String) {
        let color = self.theme().canvas();
        let galley = painter.layout_no_wrap(text, FontId::proportional(NAME_SIZE), color);
        let size = galley.size() + Vec2::new(8.0, 1.0);
        let right = (axis.right() - size.x).max(axis.left());
        let left = (middle.x - size.x / 2.0).clamp(axis.left(), right);
        let sign = Rect::from_min_size(Pos2::new(left, middle.y - size.y / 2.0), size);
        painter.rect_filled(sign, 2.0, self.theme().selection());
        painter.galley(sign.min + Vec2::new(4.0, 0.5), galley, color);
    }

    /// Paints the number of messages that are not drawn, as a band that is darker for more.
    pub(super) fn paint_density(&self, painter: &Painter, band: Rect) {
        let (Some(found), Some(window)) = (self.canvas.messages(), self.canvas.density_window())
        else {
            return;
        };
        let most = found.density.iter().copied().max().unwrap_or(0).max(1);
        let num_columns = found.density.len() as f64;
        let mut mesh = Mesh::default();
        for (at, &count) in found
            .density
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            let time = |at: usize| window.time_at(at as f64 / num_columns);
            let x = Rangef::new(
                self.x(time(at)),
                self.x(time(at + 1)).max(self.x(time(at)) + 1.0),
            );
            if x.max < band.left() || x.min > band.right() {
                continue;
            }
            let share = (1.0 + count as f32).ln() / (1.0 + most as f32).ln();
            let color = self.theme().message().gamma_multiply(0.15 + 0.65 * share);
            mesh.add_colored_rect(
                Rect::from_x_y_ranges(x, band.y_range()).intersect(band),
                color,
            );
        }
        painter.add(Shape::mesh(mesh));
    }

    fn ticks(&self) -> Vec<Tick> {
        let spacing = f64::from(TICK_SPACING / self.plot.width().max(1.0));
        ticks(self.canvas.view.window(), self.canvas.origin(), spacing)
    }

    pub(super) fn pixel_ns(&self) -> f64 {
        self.canvas.view.window().length_ns() as f64 / f64::from(self.plot.width().max(1.0))
    }

    fn span(&self, from: TimeNs, to: TimeNs, min_width: f32) -> Rangef {
        span(
            self.canvas.view.window(),
            self.plot.x_range(),
            from,
            to,
            min_width,
        )
    }

    pub(super) fn x(&self, time: TimeNs) -> f32 {
        let share = self.canvas.view.window().share_of(time).clamp(-1e3, 1e3);
        self.plot.left() + share as f32 * self.plot.width()
    }

    pub(super) fn time_at(&self, x: f32) -> TimeNs {
        let share = (x - self.plot.left()) / self.plot.width().max(1.0);
        self.canvas.view.window().time_at(f64::from(share))
    }
}

/// Returns whether a call is drawn dimmed, because it is outside the tree of its row.
fn is_dimmed(row: &PlacedRow, bar: &Bar) -> bool {
    matches!(row.kind, RowKind::Tree(_)) && !bar.in_tree
}
