//! A canvas of points: the map of trees, and scatter plots of executions.
//!
//! ```text
//! places, marks ──▶ PointCloud (grid index) ──▶ paint: marks │ density of many │ rings │ prominent marks
//!                        ▲                        ▲
//!        hit, lasso, arrows: input ──▶ PointsState: view, tool, keyboard cursor
//! ```
//!
//! The plane has 64-bit coordinates and y upwards; the coordinates of a logarithmic axis are logarithms (see
//! [`plane_value`]). The cost of a frame depends on the visible part: points are found through a grid, marks go into
//! one mesh of textured squares, and many points that are not prominent are drawn only as a layers of their density.

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
pub use cloud::{MarkShape, PointCloud, PointMark, mark_shape};
pub use geometry::{Aspect, Bounds, PlaneView, Transform, polygon_contains};
pub use grid::PointGrid;
pub use rulers::{Ruler, axis_value, plane_value};
pub use select::{PickedPoints, SelectionMode, Tool};
pub use state::PointsState;

use callgrove_widgets::theme::Theme;
use egui::{
    Align2, FontId, Painter, Pos2, Response, Role, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo,
};

use input::CanvasInput;
use paint::PointLayers;
use select::DrawingKind;

/// The content of a canvas in a frame, in addition to the points of its [`PointsState`].
pub struct PointScene<'a> {
    /// The colour theme.
    pub theme: &'a Theme,
    /// A description of the canvas for screen readers.
    pub label: String,
    /// Scaling of the axes.
    pub aspect: Aspect,
    /// The axes, x then y; `None` where coordinates have no meaning.
    pub rulers: Option<[Ruler<'a>; 2]>,
    /// Width reserved to the right of the points for the caller, in points of the screen.
    pub right: f32,
    /// Selected points, ascending.
    pub selected: &'a [u32],
    /// The representative of the selected points.
    pub focus: Option<usize>,
    /// True if the view of the canvas has the keyboard focus.
    pub has_focus: bool,
    /// The point hovered in another view.
    pub pointed: Option<usize>,
}

/// The result of one frame of a canvas.
pub struct PointsOutput {
    /// Response of the whole area.
    pub response: Response,
    /// True if the canvas handled keys.
    pub has_keys: bool,
    /// A painter for overlays on the canvas.
    pub painter: Painter,
    /// The mapping from the plane to the screen.
    pub transform: Transform,
    /// The point under the pointer or at the keyboard cursor.
    pub hovered: Option<usize>,
    /// Position of its mark on the screen.
    pub hovered_at: Option<Pos2>,
    /// Points that were clicked or drawn around.
    pub taken: Option<PickedPoints>,
}

/// Draws the points of `state` in the remaining area of `ui`, and handles pointer and keys.
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
    let mut input = CanvasInput {
        ui,
        response: &response,
        transform: transform(state),
        has_focus: scene.has_focus || response.has_focus(),
    };
    input.begin_drawing(state);
    state.view = input.navigate(state);
    input.transform = transform(state);
    let mut taken = input.draw(state);
    let focus = scene.focus.filter(|&point| point < state.cloud().len());
    let cursor = input.move_cursor(state, focus);
    input.transform = transform(state);
    let hit = input.hit(state);
    taken = taken.or_else(|| input.pick(hit, cursor));
    let (transform, has_keys) = (input.transform, input.has_keys());
    paint::paint_ground(rect, input.has_focus, scene.theme, &painter);
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
    // A picture has shapes, and its context is not that of the state's textures.
    let texture = (!scene.theme.is_for_picture()).then(|| {
        let sprites = state
            .sprites
            .get_or_insert_with(|| sprites::load(painter.ctx()));
        sprites.id()
    });
    let mut density = state.density.take();
    let layers = PointLayers::new(
        state.cloud(),
        transform,
        scene.theme,
        scene.selected,
        texture,
    );
    layers.paint(&mut density, painter);
    if let Some(focus) = scene.focus.filter(|&point| point < state.cloud().len()) {
        let place = transform.to_screen(state.cloud().places()[focus]);
        let radius = layers.radius(focus) + 4.5;
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

/// Draws a ring round the hovered point, and its mark above all others.
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

/// Draws the current lasso or box, or a hint for the selected tool.
fn paint_drawing(theme: &Theme, state: &PointsState, transform: &Transform, painter: &Painter) {
    let stroke = Stroke::new(1.5, theme.selection());
    let Some(drawing) = &state.drawing else {
        if state.tool != Tool::Hand {
            let at = transform.rect().center_top() + Vec2::new(0.0, 12.0);
            let text = "Draw around points to select them; Shift adds, Alt removes";
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
