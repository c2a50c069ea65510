//! A canvas of points: the map of trees, and any field of executions against any other.
//!
//! ```text
//! places, marks ──▶ PointCloud (grid index) ──▶ paint: marks │ density of many │ rings │ what stands out
//!                        ▲                        ▲
//!        hit, lasso, arrows: input ──▶ PointsState: view, tool, keyboard's point
//! ```
//!
//! The plane has 64-bit coordinates and y upwards; a logarithmic axis has logarithms for coordinates
//! (see [`plane_value`]). A frame costs what is seen: points are found through a grid, marks go into one
//! mesh of textured squares, and of many points that do not stand out only a picture of their density is
//! drawn.

mod axis;
mod cloud;
mod density;
mod geometry;
mod grid;
mod input;
mod paint;
mod rulers;
mod select;
mod sprites;
mod state;
#[cfg(test)]
mod tests;

pub use axis::Axis;
pub use cloud::{MarkShape, PointCloud, PointMark};
pub use geometry::{Aspect, Bounds, PlaneView, Transform, polygon_contains};
pub use grid::PointGrid;
pub use rulers::{Ruler, axis_value, plane_value};
pub use select::{Joining, Taken, Tool};
pub use state::PointsState;

use egui::{
    Align2, Color32, FontId, Painter, Pos2, Response, Role, Sense, Shape, Stroke, Ui, Vec2,
    WidgetInfo,
};

use crate::theme::Theme;
use input::Touch;
use paint::Picture;
use select::DrawingKind;

/// What a canvas shows in a frame, besides the points of its [`PointsState`].
pub struct PointScene<'a> {
    /// Colours.
    pub theme: &'a Theme,
    /// What the canvas shows, in words.
    pub label: String,
    /// Scales of the axes.
    pub aspect: Aspect,
    /// The axes, where they have a meaning: x, then y.
    pub rulers: Option<[Ruler<'a>; 2]>,
    /// Room to the right of the points that the caller draws in, in points of the screen.
    pub right: f32,
    /// Selected points, ascending.
    pub selected: &'a [u32],
    /// The selected point that stands for all.
    pub focus: Option<usize>,
    /// Whether keys are meant for the view that the canvas is in.
    pub has_focus: bool,
    /// The point that is pointed at in another view.
    pub pointed: Option<usize>,
}

/// What became of a canvas in a frame.
pub struct PointsOutput {
    /// The whole area.
    pub response: Response,
    /// Whether it took keys.
    pub has_keys: bool,
    /// To draw on it.
    pub painter: Painter,
    /// From the plane to the screen.
    pub transform: Transform,
    /// The point under the pointer or the keyboard's.
    pub hovered: Option<usize>,
    /// Where its mark is on the screen.
    pub hovered_at: Option<Pos2>,
    /// Points that were clicked or drawn around.
    pub taken: Option<Taken>,
}

/// Draws the points of `state` in the rest of `ui`, and takes pointer and keys.
pub fn points_ui(scene: &PointScene<'_>, state: &mut PointsState, ui: &mut Ui) -> PointsOutput {
    let (response, painter) = ui.allocate_painter(ui.available_size(), Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, &scene.label));
    if std::mem::take(&mut state.wants_focus) {
        response.request_focus();
    }
    let rect = if scene.rulers.is_some() {
        rulers::inner(response.rect, scene.right)
    } else {
        response.rect
    };
    let transform = |state: &PointsState| {
        Transform::new(rect, state.cloud().bounds(), scene.aspect, state.view)
    };
    let mut touch = Touch {
        ui,
        response: &response,
        transform: transform(state),
        has_focus: scene.has_focus || response.has_focus(),
    };
    touch.begin_drawing(state);
    state.view = touch.navigate(state);
    touch.transform = transform(state);
    let mut taken = touch.draw(state);
    let focus = scene.focus.filter(|&point| point < state.cloud().len());
    let cursor = touch.move_cursor(state, focus);
    touch.transform = transform(state);
    let hit = touch.hit(state);
    taken = taken.or_else(|| touch.pick(hit, cursor));
    let (transform, has_keys) = (touch.transform, touch.has_keys());
    paint::paint_ground(rect, touch.has_focus, scene.theme, &painter);
    let inner = painter.with_clip_rect(rect.intersect(painter.clip_rect()));
    if let Some(rulers) = &scene.rulers {
        rulers::paint(rulers, &transform, scene.theme, &painter);
    }
    paint_points(scene, state, &transform, &inner);
    let hovered = cursor.or(hit);
    if let Some(point) = hovered.or(scene.pointed) {
        paint_pointed(scene.theme, state.cloud(), point, &transform, &inner);
    }
    paint_drawing(scene.theme, state, &transform, &inner);
    let hovered_at = hovered.map(|point| transform.to_screen(state.cloud().places()[point]));
    PointsOutput {
        response,
        has_keys,
        painter: inner,
        transform,
        hovered,
        hovered_at,
        taken,
    }
}

fn paint_points(
    scene: &PointScene<'_>,
    state: &mut PointsState,
    transform: &Transform,
    painter: &Painter,
) {
    let texture = state
        .sprites
        .get_or_insert_with(|| sprites::load(painter.ctx()))
        .id();
    let mut density = state.density.take();
    let picture = Picture::new(
        state.cloud(),
        transform,
        scene.theme,
        scene.selected,
        texture,
    );
    picture.paint(&mut density, painter);
    if let Some(focus) = scene.focus.filter(|&point| point < state.cloud().len()) {
        let place = transform.to_screen(state.cloud().places()[focus]);
        let radius = picture.radius(focus) + 4.5;
        let theme = scene.theme;
        painter.circle_stroke(
            place,
            radius,
            Stroke::new(4.0, theme.canvas().gamma_multiply(0.7)),
        );
        painter.circle_stroke(place, radius, Stroke::new(2.0, theme.selection()));
    }
    state.density = density;
}

/// A ring round the point that is pointed at, and its mark above all others.
fn paint_pointed(
    theme: &Theme,
    cloud: &PointCloud,
    point: usize,
    transform: &Transform,
    painter: &Painter,
) {
    if let Some(&place) = cloud.places().get(point) {
        let place = transform.to_screen(place);
        painter.circle_filled(place, 3.0, cloud.marks()[point].color);
        painter.circle_stroke(place, 9.0, Stroke::new(1.5, theme.selection()));
    }
}

/// The lasso or box on its way, or what to do with the tool in hand.
fn paint_drawing(theme: &Theme, state: &PointsState, transform: &Transform, painter: &Painter) {
    let stroke = Stroke::new(1.5, theme.selection());
    let Some(drawing) = &state.drawing else {
        if state.tool != Tool::Hand {
            let at = transform.rect().center_top() + Vec2::new(0.0, 12.0);
            let text = "Draw around points to select them; Shift adds, Alt takes away";
            painter.text(
                at,
                Align2::CENTER_TOP,
                text,
                FontId::proportional(14.0),
                theme.text(),
            );
        }
        return;
    };
    let line = drawing.line(transform);
    if drawing.kind == DrawingKind::Lasso {
        if let [first, .., last] = line[..] {
            painter.extend(Shape::dashed_line(&[last, first], stroke, 4.0, 4.0));
            painter.line(line, stroke);
        }
    } else {
        let fill = theme.selection().gamma_multiply(0.08);
        painter.add(Shape::convex_polygon(line, fill, stroke));
    }
}

/// A mark by itself, for a legend: its middle, half its size and its colour.
pub fn mark_shape(shape: MarkShape, at: Pos2, radius: f32, color: Color32) -> Shape {
    let corners: &[[f32; 2]] = match shape {
        MarkShape::Disc => return Shape::circle_filled(at, radius, color),
        MarkShape::Square => &[[-0.8, -0.8], [0.8, -0.8], [0.8, 0.8], [-0.8, 0.8]],
        MarkShape::Triangle => &[[0.0, -1.1], [1.0, 0.65], [-1.0, 0.65]],
        MarkShape::Diamond => &[[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]],
    };
    let corners = corners
        .iter()
        .map(|&corner| at + Vec2::from(corner) * radius)
        .collect();
    Shape::convex_polygon(corners, color, Stroke::NONE)
}
