//! A delay as one path across the rows: where it began, whom it reached, and how much of it each was handed.

use std::sync::Arc;

use callgrove_model::{ExecRef, LaneIdx, TimeNs};
use callgrove_session::{Cascade, CascadeStep, DelayRole, RootCause, TimesOf};
use egui::{
    Color32, FontId, Galley, PopupAnchor, Pos2, Rangef, Rect, Response, Shape, Stroke, StrokeKind,
    Ui, Vec2,
};

use super::lanes::LaneCanvas;
use super::layout::{PlacedRow, arrow_ends, nearest_line, span};
use super::paint::LaneDrawing;
use super::scene::Hovered;
use crate::context::short_name;
use crate::delay::kind_text;
use crate::theme::{RADIUS, Theme};
use crate::widgets::{SIGN_WIDTH, count_of, paint_kind, paint_role, pointer_card};

/// The narrowest that a stretch of the path is drawn.
const MIN_WIDTH: f32 = 4.0;
/// Width of the path, and of the ground around it that sets it off from bars.
const PATH: f32 = 2.0;
const GROUND: f32 = 4.5;
const HEAD: f32 = 8.0;
const TEXT_SIZE: f32 = 11.0;
const SIGN_RADIUS: f32 = 4.5;
/// How far from the path the pointer may be.
const HIT_RADIUS: f32 = 4.0;
/// From a stretch to a text beside it.
const GAP: f32 = 4.0;

/// A text on the path, and what it is of.
struct Plate {
    rect: Rect,
    galley: Arc<Galley>,
    color: Color32,
    of: Hovered,
}

/// A path in words, for those who do not see it.
pub(super) fn cascade_text(cascade: &Cascade) -> String {
    let root = &cascade.root;
    let reached = count_of(cascade.steps.len(), "rank");
    format!(", a delay from rank {} to {reached}", root.rank)
}

impl LaneDrawing<'_> {
    /// Draws the path over the rows.
    pub(super) fn paint_cascade(&self, hovered: Option<&Hovered>) {
        let Some(cascade) = self.shown.cascade else {
            return;
        };
        let theme = self.shown.theme;
        for step in &cascade.steps {
            if let Some(rect) = self.stretch(step.to, (step.since, step.time)) {
                self.paint_stretch(rect, theme.delay_victim(), is_of_step(hovered, step));
            }
        }
        let root = &cascade.root;
        if let Some(rect) = self.stretch(root.lane, (root.start, root.end)) {
            let is_hot = matches!(hovered, Some(Hovered::Root(_)));
            self.paint_stretch(rect, theme.delay_root(), is_hot);
        }
        for step in &cascade.steps {
            if let Some(line) = self.step_line(step) {
                let is_hot = is_of_step(hovered, step);
                self.paint_step(line, is_hot);
            }
        }
        for plate in self.plates() {
            self.paint_plate(&plate);
        }
    }

    /// What of the path is under the pointer.
    pub(super) fn cascade_at(&self, pointer: Pos2) -> Option<Hovered> {
        let cascade = self.shown.cascade?;
        let plates = self.plates();
        let plate = plates.iter().find(|plate| plate.rect.contains(pointer));
        if let Some(plate) = plate {
            return Some(plate.of);
        }
        let lines = cascade.steps.iter().enumerate();
        let lines = lines.filter_map(|(at, step)| Some((at, self.step_line(step)?)));
        let nearest = nearest_line(lines, pointer, HIT_RADIUS)?;
        Some(Hovered::Step(cascade.steps[nearest]))
    }

    /// Where a stretch of time is on the row of a lane, if any of it is in view.
    fn stretch(&self, lane: LaneIdx, (from, to): (TimeNs, TimeNs)) -> Option<Rect> {
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

    fn paint_stretch(&self, rect: Rect, color: Color32, is_hot: bool) {
        let veil = color.gamma_multiply(if is_hot { 0.5 } else { 0.3 });
        self.painter.rect_filled(rect, 2.0, veil);
        let stroke = Stroke::new(PATH, color);
        self.painter
            .rect_stroke(rect, 2.0, stroke, StrokeKind::Inside);
    }

    /// From the row of who was late to that of who waited, when it could go on.
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

    /// The delay of each step on the row that waited, and what the root did on its own.
    fn plates(&self) -> Vec<Plate> {
        let Some(cascade) = self.shown.cascade else {
            return Vec::new();
        };
        let theme = self.shown.theme;
        let steps = cascade.steps.iter().filter_map(|step| {
            let rect = self.stretch(step.to, (step.since, step.time))?;
            let text = step.delay.to_string();
            let of = Hovered::Step(*step);
            Some(self.plate(rect, (text, 0.0), theme.delay_victim(), of))
        });
        let mut plates: Vec<Plate> = steps.collect();
        let root = &cascade.root;
        if let Some(rect) = self.stretch(root.lane, (root.start, root.end)) {
            let text = format!("{} {}", kind_text(root.kind), root.own_delay);
            let of = Hovered::Root(*root);
            plates.push(self.plate(rect, (text, SIGN_WIDTH), theme.delay_root(), of));
        }
        plates
    }

    /// In the middle of a stretch, or beside it where it is too short.
    fn plate(
        &self,
        stretch: Rect,
        (text, before): (String, f32),
        color: Color32,
        of: Hovered,
    ) -> Plate {
        let font = FontId::proportional(TEXT_SIZE);
        let ink = self.shown.theme.text_on(color);
        let galley = self.painter.layout_no_wrap(text, font, ink);
        let size = galley.size() + Vec2::new(8.0 + before, 0.0);
        let left = if size.x + 2.0 * GAP <= stretch.width() {
            stretch.center().x - size.x / 2.0
        } else if stretch.left() - GAP - size.x >= self.plot.left() {
            stretch.left() - GAP - size.x
        } else {
            stretch.right() + GAP
        };
        let height = size.y.min(stretch.height());
        let top = stretch.top() + (stretch.height().min(2.0 * size.y) - height) / 2.0;
        let rect = Rect::from_min_size(Pos2::new(left, top), Vec2::new(size.x, height));
        Plate {
            rect,
            galley,
            color,
            of,
        }
    }

    fn paint_plate(&self, plate: &Plate) {
        let ink = self.shown.theme.text_on(plate.color);
        let ground = self.shown.theme.canvas();
        self.painter
            .rect_filled(plate.rect.expand(1.0), RADIUS, ground);
        self.painter.rect_filled(plate.rect, RADIUS, plate.color);
        let mut left = plate.rect.left() + 4.0;
        if let Hovered::Root(root) = plate.of {
            let centre = Pos2::new(left + SIGN_RADIUS, plate.rect.center().y);
            paint_kind(self.painter, root.kind, centre, SIGN_RADIUS, ink);
            left += SIGN_WIDTH;
        }
        let y = plate.rect.center().y - plate.galley.size().y / 2.0;
        self.painter
            .galley(Pos2::new(left, y), Arc::clone(&plate.galley), ink);
    }
}

impl LaneCanvas {
    /// The sign of the root beside the name of its row.
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

/// The call that a click on the path selects.
pub(super) fn call_of(hovered: &Hovered) -> Option<ExecRef> {
    match hovered {
        Hovered::Step(step) => Some(step.call),
        Hovered::Root(root) => Some(root.call),
        _ => None,
    }
}

/// What is told of a part of the path.
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
            ui.label(format!("{late} handed on {} of its delay", step.delay));
            ui.weak("Click for the call that waited");
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
            ui.weak("Click for the call");
        }
        _ => {}
    });
}
