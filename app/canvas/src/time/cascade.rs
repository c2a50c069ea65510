//! Draws a delay as one path across the rows: where it began, which ranks it reached, and how much of it each received.

use std::sync::Arc;

use callgrove_model::count_of;
use callgrove_model::{ExecRef, LaneIdx, TimeNs};
use callgrove_session::{Cascade, CascadeStep, DelayRole, RootCause, TimesOf};
use callgrove_widgets::delay::kind_text;
use callgrove_widgets::text::short_name;
use callgrove_widgets::theme::{RADIUS, Theme};
use callgrove_widgets::{SIGN_WIDTH, paint_kind, paint_role, pointer_card};
use egui::{
    Color32, FontId, Galley, PopupAnchor, Pos2, Rangef, Rect, Response, Shape, Stroke, StrokeKind,
    Ui, Vec2,
};

use super::lanes::LaneCanvas;
use super::layout::{PlacedRow, arrow_ends, nearest_line, span};
use super::paint::LaneDrawing;
use super::scene::Hovered;

/// Minimum width of an interval of the path, in points.
const MIN_WIDTH: f32 = 4.0;
/// Line width of the path, in points.
const PATH: f32 = 2.0;
/// Line width of the background that separates the path from bars, in points.
const GROUND: f32 = 4.5;
/// Length of an arrow head, in points.
const HEAD: f32 = 8.0;
/// Size of the texts on the path, in points.
const TEXT_SIZE: f32 = 11.0;
/// Radius of the sign of the root, in points.
const SIGN_RADIUS: f32 = 4.5;
/// Largest distance from the pointer to the path that it hits, in points.
const HIT_RADIUS: f32 = 4.0;
/// Distance from an interval to the text next to it, in points.
const GAP: f32 = 4.0;

/// A text on the path, with the part of the path that it labels.
struct PathLabel {
    rect: Rect,
    galley: Arc<Galley>,
    color: Color32,
    item: Hovered,
}

/// Returns the description of a path for screen readers.
pub(super) fn cascade_text(cascade: &Cascade) -> String {
    let root = &cascade.root;
    let reached = count_of(cascade.steps.len(), "rank");
    format!(", a delay from rank {} to {reached}", root.rank)
}

impl LaneDrawing<'_> {
    /// Paints the path over the rows.
    pub(super) fn paint_cascade(&self, hovered: Option<&Hovered>) {
        let Some(cascade) = self.shown.cascade else {
            return;
        };
        let theme = self.shown.theme;
        for step in &cascade.steps {
            if let Some(rect) = self.range_rect(step.to, (step.since, step.time)) {
                self.paint_interval(rect, theme.delay_victim(), is_of_step(hovered, step));
            }
        }
        let root = &cascade.root;
        if let Some(rect) = self.range_rect(root.lane, (root.start, root.end)) {
            let is_hot = matches!(hovered, Some(Hovered::Root(_)));
            self.paint_interval(rect, theme.delay_root(), is_hot);
        }
        for step in &cascade.steps {
            if let Some(line) = self.step_line(step) {
                let is_hot = is_of_step(hovered, step);
                self.paint_step(line, is_hot);
            }
        }
        for path_label in self.path_labels() {
            self.paint_path_label(&path_label);
        }
    }

    /// Returns the part of the path under the pointer.
    pub(super) fn cascade_at(&self, pointer: Pos2) -> Option<Hovered> {
        let cascade = self.shown.cascade?;
        let path_labels = self.path_labels();
        let path_label = path_labels
            .iter()
            .find(|path_label| path_label.rect.contains(pointer));
        if let Some(path_label) = path_label {
            return Some(path_label.item);
        }
        let lines = cascade.steps.iter().enumerate();
        let lines = lines.filter_map(|(at, step)| Some((at, self.step_line(step)?)));
        let nearest = nearest_line(lines, pointer, HIT_RADIUS)?;
        Some(Hovered::Step(cascade.steps[nearest]))
    }

    /// Returns the rectangle of a time range on the row of a lane, if any of it is in view.
    fn range_rect(&self, lane: LaneIdx, (from, to): (TimeNs, TimeNs)) -> Option<Rect> {
        let row = self.row_in_view(lane)?;
        let window = self.canvas.view.window();
        if to < window.from || from > window.to {
            return None;
        }
        let x = span(window, self.plot.x_range(), from, to, MIN_WIDTH);
        let y = Rangef::new(row.bars_top, row.bars_bottom());
        let rect = Rect::from_x_y_ranges(x, y);
        Some(rect.translate(Vec2::new(0.0, self.plot.top())))
    }

    fn row_in_view(&self, lane: LaneIdx) -> Option<&PlacedRow> {
        let at = self.canvas.row_of(lane)?;
        let row = self.canvas.rows().get(at)?;
        self.in_view.contains(&at).then_some(row)
    }

    fn paint_interval(&self, rect: Rect, color: Color32, is_hot: bool) {
        let veil = color.gamma_multiply(if is_hot { 0.5 } else { 0.3 });
        self.painter.rect_filled(rect, 2.0, veil);
        let stroke = Stroke::new(PATH, color);
        self.painter
            .rect_stroke(rect, 2.0, stroke, StrokeKind::Inside);
    }

    /// Returns the line from the row of the late rank to the row of the waiting rank, at the time when it could go on.
    fn step_line(&self, step: &CascadeStep) -> Option<[Pos2; 2]> {
        let window = self.canvas.view.window();
        if step.time < window.from || step.time > window.to {
            return None;
        }
        let ends = (self.canvas.row_of(step.from)?, self.canvas.row_of(step.to)?);
        if ends.0 == ends.1 || !(self.in_view.contains(&ends.0) || self.in_view.contains(&ends.1)) {
            return None;
        }
        let x = self.x(step.time);
        let line = arrow_ends(self.canvas.rows(), ends, (x, x))?;
        Some(line.map(|point| point + Vec2::new(0.0, self.plot.top())))
    }

    fn paint_step(&self, [start, end]: [Pos2; 2], is_hot: bool) {
        let theme = self.shown.theme;
        let color = if is_hot {
            theme.selection()
        } else {
            theme.delay_root()
        };
        let ground = Stroke::new(GROUND, theme.canvas());
        self.painter.line_segment([start, end], ground);
        self.painter
            .line_segment([start, end], Stroke::new(PATH, color));
        let along = (end - start).normalized() * HEAD;
        let across = along.rot90() * 0.5;
        let corners = vec![end, end - along + across, end - along - across];
        let edge = Stroke::new(1.0, theme.canvas());
        self.painter
            .add(Shape::convex_polygon(corners, color, edge));
    }

    /// Returns the labels of the delay of each step, on the row that waited, and of the root's own delay.
    fn path_labels(&self) -> Vec<PathLabel> {
        let Some(cascade) = self.shown.cascade else {
            return Vec::new();
        };
        let theme = self.shown.theme;
        let steps = cascade.steps.iter().filter_map(|step| {
            let rect = self.range_rect(step.to, (step.since, step.time))?;
            let text = step.delay.to_string();
            let item = Hovered::Step(*step);
            Some(self.path_label(rect, (text, 0.0), theme.delay_victim(), item))
        });
        let mut path_labels: Vec<PathLabel> = steps.collect();
        let root = &cascade.root;
        if let Some(rect) = self.range_rect(root.lane, (root.start, root.end)) {
            let text = format!("{} {}", kind_text(root.kind), root.own_delay);
            let item = Hovered::Root(*root);
            path_labels.push(self.path_label(rect, (text, SIGN_WIDTH), theme.delay_root(), item));
        }
        path_labels
    }

    /// Returns a label in the middle of an interval, or next to it where the interval is too short.
    fn path_label(
        &self,
        range_rect: Rect,
        (text, before): (String, f32),
        color: Color32,
        item: Hovered,
    ) -> PathLabel {
        let font = FontId::proportional(TEXT_SIZE);
        let ink = self.shown.theme.text_on(color);
        let galley = self.painter.layout_no_wrap(text, font, ink);
        let size = galley.size() + Vec2::new(8.0 + before, 0.0);
        let left = if size.x + 2.0 * GAP <= range_rect.width() {
            range_rect.center().x - size.x / 2.0
        } else if range_rect.left() - GAP - size.x >= self.plot.left() {
            range_rect.left() - GAP - size.x
        } else {
            range_rect.right() + GAP
        };
        let height = size.y.min(range_rect.height());
        let top = range_rect.top() + (range_rect.height().min(2.0 * size.y) - height) / 2.0;
        let rect = Rect::from_min_size(Pos2::new(left, top), Vec2::new(size.x, height));
        PathLabel {
            rect,
            galley,
            color,
            item,
        }
    }

    fn paint_path_label(&self, path_label: &PathLabel) {
        let ink = self.shown.theme.text_on(path_label.color);
        let ground = self.shown.theme.canvas();
        self.painter
            .rect_filled(path_label.rect.expand(1.0), RADIUS, ground);
        self.painter
            .rect_filled(path_label.rect, RADIUS, path_label.color);
        let mut left = path_label.rect.left() + 4.0;
        if let Hovered::Root(root) = path_label.item {
            let centre = Pos2::new(left + SIGN_RADIUS, path_label.rect.center().y);
            paint_kind(self.painter, root.kind, centre, SIGN_RADIUS, ink);
            left += SIGN_WIDTH;
        }
        let y = path_label.rect.center().y - path_label.galley.size().y / 2.0;
        self.painter
            .galley(Pos2::new(left, y), Arc::clone(&path_label.galley), ink);
    }
}

impl LaneCanvas {
    /// Paints the sign of the root next to the name of its row.
    pub(super) fn paint_root_name(&self, cascade: &Cascade, gutter: Rect, theme: &Theme, ui: &Ui) {
        let row = self.row_of(cascade.root.lane);
        let Some(row) = row.and_then(|at| self.rows().get(at)) else {
            return;
        };
        let y = gutter.top() + row.bars_top.midpoint(row.bars_bottom());
        let centre = Pos2::new(gutter.right() - 2.0 * SIGN_RADIUS, y);
        let color = theme.delay_root();
        paint_role(ui.painter(), DelayRole::Root, centre, SIGN_RADIUS, color);
    }
}

fn is_of_step(hovered: Option<&Hovered>, step: &CascadeStep) -> bool {
    matches!(hovered, Some(Hovered::Step(other)) if other == step)
}

/// Returns the call that a click on the path selects.
pub(super) fn call_of(hovered: &Hovered) -> Option<ExecRef> {
    match hovered {
        Hovered::Step(step) => Some(step.call),
        Hovered::Root(root) => Some(root.call),
        _ => None,
    }
}

/// Shows the tooltip of a part of the path.
pub(super) fn cascade_tooltip(
    canvas: &LaneCanvas,
    hovered: &Hovered,
    (response, ui): (&Response, &Ui),
) {
    pointer_card(response, PopupAnchor::Pointer, ui, |ui| match hovered {
        Hovered::Step(step) => {
            let name = |lane| canvas.names().name(canvas.trace(), lane);
            let (late, waited) = (name(step.from), name(step.to));
            ui.strong(format!("{waited} waited for {late}"));
            let waited = step.time.since(step.since);
            let known = canvas.calls().ask(&TimesOf(vec![step.call]));
            ui.label(match known.as_deref().and_then(|known| known.first()) {
                Some(call) => {
                    let func = short_name(canvas.trace().names.name(call.func));
                    format!("In {func}, {waited}")
                }
                None => waited.to_string(),
            });
            ui.label(format!("{late} passed on {} of its delay", step.delay));
            ui.weak("Click to select the call that waited");
        }
        Hovered::Root(RootCause {
            rank,
            kind,
            own_delay,
            func,
            num_victims,
            caused,
            ..
        }) => {
            ui.strong(format!("The delay began here, on rank {rank}"));
            let func = short_name(canvas.trace().names.name(*func));
            ui.label(format!("{} {own_delay} in {func}", kind_text(*kind)));
            let others = count_of(*num_victims as usize, "other rank");
            ui.label(format!("Cost {caused} on {others}"));
            ui.weak("Click to select the call");
        }
        _ => {}
    });
}
