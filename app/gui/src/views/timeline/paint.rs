//! Draws rows, bars, arrows, marks, axis and overview.

use callgrove_model::{FunctionName, TimeNs, TreeIdx};
use callgrove_session::{Arrow, Bar, Row, Timeline};
use egui::{Color32, FontId, Mesh, Painter, Pos2, Rangef, Rect, Shape, Stroke, Vec2};

use super::axis::{relative_time, ticks};
use super::layout::{MIN_MARK_WIDTH, RowBox, arrow_ends, fitted_name, span};
use super::state::Shown;
use super::window::Window;
use crate::theme::Theme;

/// Least distance between marks of the axis, in points.
const TICK_SPACING: f32 = 90.0;
/// How much of its colour a call outside the tree keeps.
const DIMMED: f32 = 0.38;
/// Calls from this width on have a gap to the next one; merged ones run into each other.
const GAP_FROM: f32 = 3.0;
/// Bars from this width on are named.
const NAME_FROM: f32 = 26.0;
const NAME_SIZE: f32 = 11.0;
/// Arrows outside the tree beyond this number grow fainter, not to veil the rows.
const CROWD: f32 = 100.0;
const ARROW_HEAD: f32 = 5.0;

/// One frame of drawing.
pub(super) struct Canvas<'a> {
    pub(super) shown: &'a Shown,
    pub(super) theme: &'a Theme,
    pub(super) painter: &'a Painter,
    /// Where times are: the rows without their names. Its top is the top of the first row.
    pub(super) plot: Rect,
    pub(super) boxes: &'a [RowBox],
}

/// What the pointer is on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Hovered {
    /// The bar of a row, by position in both lists.
    Bar { row: usize, bar: Bar },
    /// An arrow, by position in the list.
    Arrow(usize),
    /// The mark of an abnormal tree.
    Mark(TreeIdx),
}

impl Canvas<'_> {
    /// Draws the rows with everything in them.
    pub(super) fn paint_rows(&self, timeline: &Timeline, hovered: Option<Hovered>) {
        self.paint_grid();
        let visible = self.painter.clip_rect().y_range();
        for (at, (row, row_box)) in timeline.rows.iter().zip(self.boxes).enumerate() {
            let y = Rangef::new(row_box.top, row_box.bars_bottom());
            if visible.intersects(Rangef::new(
                y.min + self.plot.top(),
                y.max + self.plot.top(),
            )) {
                self.paint_row(row, row_box, at == 0);
            }
        }
        self.paint_arrows(&timeline.arrows, hovered);
        self.paint_marks(hovered);
        if let Some(Hovered::Bar { row, bar }) = hovered {
            let rect = self.bar_rect(&self.boxes[row], &bar);
            let stroke = Stroke::new(1.5, self.theme.selection());
            self.painter
                .rect_stroke(rect, 0.0, stroke, egui::StrokeKind::Outside);
        }
    }

    fn paint_grid(&self) {
        let grid = Stroke::new(1.0, self.theme.grid());
        for tick in self.ticks() {
            self.painter
                .vline(self.x(tick.time), self.plot.y_range(), grid);
        }
    }

    fn paint_row(&self, row: &Row, row_box: &RowBox, is_own: bool) {
        let top = self.plot.top();
        let area = Rect::from_x_y_ranges(
            self.plot.x_range(),
            Rangef::new(top + row_box.bars_top, top + row_box.bars_bottom()),
        );
        self.painter
            .rect_filled(area, 0.0, self.theme.grid().gamma_multiply(0.35));
        let in_view: Vec<&Bar> = row
            .bars
            .iter()
            .filter(|bar| bar.to >= self.shown.window.from && bar.from <= self.shown.window.to)
            .filter(|bar| bar.level < row_box.num_levels)
            .collect();
        let mut mesh = Mesh::default();
        mesh.reserve_vertices(4 * in_view.len());
        for bar in &in_view {
            self.add_bar(&mut mesh, row_box, bar, is_own);
        }
        self.painter.add(Shape::mesh(mesh));
        for bar in in_view {
            self.paint_name(row_box, bar, is_own);
        }
    }

    fn add_bar(&self, mesh: &mut Mesh, row_box: &RowBox, bar: &Bar, is_own: bool) {
        let rect = self.bar_rect(row_box, bar);
        let color = self.bar_color(bar, is_own);
        mesh.add_colored_rect(rect, color);
        if bar.num_calls > 1 {
            // Lines through a bar say that it is many; they run on through the bars beside it.
            let light = self.theme.canvas().gamma_multiply(0.55);
            for share in [0.3, 0.62] {
                let y = (rect.top() + rect.height() * share).round();
                mesh.add_colored_rect(Rect::from_x_y_ranges(rect.x_range(), y..=y + 1.5), light);
            }
        }
    }

    fn bar_color(&self, bar: &Bar, is_own: bool) -> Color32 {
        let color = self.theme.function(bar.func);
        if is_own && !bar.in_tree {
            color.gamma_multiply(DIMMED)
        } else {
            color
        }
    }

    fn bar_rect(&self, row_box: &RowBox, bar: &Bar) -> Rect {
        let mut x = span(
            self.shown.window,
            self.plot.x_range(),
            bar.from,
            bar.to,
            1.0,
        );
        if x.span() >= GAP_FROM && bar.num_calls == 1 {
            x.max -= 1.0;
        }
        let top = self.plot.top() + row_box.bars_top + row_box.level_height * bar.level as f32;
        Rect::from_x_y_ranges(x, Rangef::new(top, top + row_box.level_height - 1.0))
    }

    fn paint_name(&self, row_box: &RowBox, bar: &Bar, is_own: bool) {
        let rect = self.bar_rect(row_box, bar);
        if rect.width() < NAME_FROM || bar.num_calls > 1 {
            return;
        }
        let full = self
            .shown
            .focus
            .analysis
            .forest
            .trace()
            .names
            .name(bar.func);
        let font = FontId::proportional(NAME_SIZE);
        let letter = NAME_SIZE * 0.56;
        let Some(text) = fitted_name(FunctionName::parse(full).short, rect.width() - 6.0, letter)
        else {
            return;
        };
        let is_dimmed = is_own && !bar.in_tree;
        let color = if is_dimmed {
            self.theme.weak_text()
        } else {
            self.theme.text_on(self.bar_color(bar, is_own))
        };
        let galley = self.painter.layout_no_wrap(text, font, color);
        let at = Pos2::new(rect.left() + 3.0, rect.center().y - galley.size().y / 2.0);
        self.painter
            .with_clip_rect(rect.intersect(self.painter.clip_rect()))
            .galley(at, galley, color);
    }

    fn paint_arrows(&self, arrows: &[Arrow], hovered: Option<Hovered>) {
        let num_others = arrows.iter().filter(|arrow| !arrow.in_tree).count();
        let faint = (0.22 * (CROWD / num_others.max(1) as f32).sqrt()).clamp(0.05, 0.22);
        // The tree's own come first in the list and are drawn last.
        for (at, arrow) in arrows.iter().enumerate().rev() {
            let Some(line) = self.arrow_line(arrow) else {
                continue;
            };
            let is_hovered = hovered == Some(Hovered::Arrow(at));
            let stroke = match (is_hovered, arrow.in_tree) {
                (true, _) => Stroke::new(2.5, self.theme.selection()),
                (false, true) => Stroke::new(1.2, self.theme.message()),
                (false, false) => Stroke::new(0.8, self.theme.message().gamma_multiply(faint)),
            };
            self.painter.line_segment(line, stroke);
            self.paint_arrow_head(line, stroke);
        }
    }

    /// The line of an arrow on the screen; `None` if nothing of it is in the window.
    pub(super) fn arrow_line(&self, arrow: &Arrow) -> Option<[Pos2; 2]> {
        let xs = (self.x(arrow.sent), self.x(arrow.received));
        if xs.0.max(xs.1) < self.plot.left() || xs.0.min(xs.1) > self.plot.right() {
            return None;
        }
        let line = arrow_ends(self.boxes, (arrow.from_row, arrow.to_row), xs)?;
        Some(line.map(|point| point + Vec2::new(0.0, self.plot.top())))
    }

    fn paint_arrow_head(&self, [start, end]: [Pos2; 2], stroke: Stroke) {
        let along = (end - start).normalized() * ARROW_HEAD;
        let across = along.rot90() * 0.45;
        let corners = vec![end, end - along + across, end - along - across];
        self.painter
            .add(Shape::convex_polygon(corners, stroke.color, Stroke::NONE));
    }

    fn paint_marks(&self, hovered: Option<Hovered>) {
        for mark in self.shown.marks() {
            let rect = self.mark_rect(mark.row, mark.from, mark.to);
            self.painter.rect_filled(rect, 1.0, self.theme.abnormal());
            if hovered == Some(Hovered::Mark(mark.tree)) {
                let stroke = Stroke::new(1.5, self.theme.selection());
                self.painter
                    .rect_stroke(rect, 1.0, stroke, egui::StrokeKind::Outside);
            }
        }
    }

    /// Where the mark of an abnormal tree is, never narrower than [`MIN_MARK_WIDTH`].
    pub(super) fn mark_rect(&self, row: usize, from: TimeNs, to: TimeNs) -> Rect {
        let x = span(
            self.shown.window,
            self.plot.x_range(),
            from,
            to,
            MIN_MARK_WIDTH,
        );
        let top = self.plot.top() + self.boxes.get(row).map_or(0.0, |row_box| row_box.top);
        Rect::from_x_y_ranges(x, Rangef::new(top + 3.0, top + 6.0))
    }

    /// The axis with its marks, and the time under the pointer.
    pub(super) fn paint_axis(&self, painter: &Painter, axis: Rect, pointer_x: Option<f32>) {
        let font = FontId::proportional(11.0);
        for tick in self.ticks() {
            let x = self.x(tick.time);
            let is_start = tick.time == self.origin();
            let color = if is_start {
                self.theme.text()
            } else {
                self.theme.weak_text()
            };
            painter.vline(
                x,
                Rangef::new(axis.bottom() - 4.0, axis.bottom()),
                Stroke::new(1.0, color),
            );
            let galley = painter.layout_no_wrap(tick.text, font.clone(), color);
            if x + 3.0 + galley.size().x <= axis.right() {
                painter.galley(
                    Pos2::new(x + 3.0, axis.center().y - galley.size().y / 2.0),
                    galley,
                    color,
                );
            }
        }
        let Some(x) = pointer_x else { return };
        let stroke = Stroke::new(1.0, self.theme.selection().gamma_multiply(0.6));
        self.painter.vline(x, self.plot.y_range(), stroke);
        let text = relative_time(self.time_at(x), self.origin(), self.pixel_ns());
        let galley = painter.layout_no_wrap(text, font, self.theme.canvas());
        let size = galley.size() + Vec2::new(8.0, 2.0);
        let left = (x - size.x / 2.0).clamp(axis.left(), (axis.right() - size.x).max(axis.left()));
        let sign = Rect::from_min_size(Pos2::new(left, axis.center().y - size.y / 2.0), size);
        painter.rect_filled(sign, 2.0, self.theme.selection());
        painter.galley(sign.min + Vec2::new(4.0, 1.0), galley, self.theme.canvas());
    }

    fn ticks(&self) -> Vec<super::axis::Tick> {
        let spacing = f64::from(TICK_SPACING / self.plot.width().max(1.0));
        ticks(self.shown.window, self.origin(), spacing)
    }

    /// Times are told from the entry of the tree on.
    pub(super) fn origin(&self) -> TimeNs {
        self.shown.focus.cs_tree().entry()[0]
    }

    pub(super) fn pixel_ns(&self) -> f64 {
        self.shown.window.length_ns() as f64 / f64::from(self.plot.width().max(1.0))
    }

    pub(super) fn x(&self, time: TimeNs) -> f32 {
        self.plot.left() + self.shown.window.share_of(time) as f32 * self.plot.width()
    }

    pub(super) fn time_at(&self, x: f32) -> TimeNs {
        self.shown.window.time_at(f64::from(
            (x - self.plot.left()) / self.plot.width().max(1.0),
        ))
    }
}

/// Draws the whole trace as a line with its abnormal trees, the tree, and the window.
pub(super) fn paint_overview(
    painter: &Painter,
    theme: &Theme,
    strip: Rect,
    shown: &Shown,
    abnormal: &[(TimeNs, TimeNs)],
) {
    let Shown { bounds, window, .. } = *shown;
    let place = |from, to, min_width| span(bounds, strip.x_range(), from, to, min_width);
    painter.rect_filled(strip, 2.0, theme.grid().gamma_multiply(0.6));
    let mut mesh = Mesh::default();
    for &(from, to) in abnormal {
        let y = Rangef::new(strip.top() + 1.0, strip.center().y);
        mesh.add_colored_rect(
            Rect::from_x_y_ranges(place(from, to, 1.5), y),
            theme.abnormal(),
        );
    }
    let tree = shown.focus.cs_tree();
    let tree_x = place(tree.entry()[0], tree.exit(), 2.0);
    let tree_y = Rangef::new(strip.center().y, strip.bottom() - 1.0);
    mesh.add_colored_rect(Rect::from_x_y_ranges(tree_x, tree_y), theme.text());
    painter.add(Shape::mesh(mesh));
    let view = Rect::from_x_y_ranges(place(window.from, window.to, 6.0), strip.y_range());
    painter.rect_filled(view, 2.0, theme.accent().gamma_multiply(0.25));
    painter.rect_stroke(
        view,
        2.0,
        Stroke::new(1.5, theme.accent()),
        egui::StrokeKind::Inside,
    );
}

/// The window after the overview was pressed at `x`: as long as before, centred there.
pub(super) fn window_at(strip: Rect, shown: &Shown, x: f32) -> Window {
    let middle = shown
        .bounds
        .time_at(f64::from((x - strip.left()) / strip.width().max(1.0)));
    let shift_ns = middle.0 - shown.window.time_at(0.5).0;
    let moved = |time: TimeNs| TimeNs(time.0.saturating_add(shift_ns));
    Window {
        from: moved(shown.window.from),
        to: moved(shown.window.to),
    }
    .within(shown.bounds)
}
