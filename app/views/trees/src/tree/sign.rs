//! Signs of differences: the shape repeats the meaning of the colour, for colour-blind users.

use callgrove_session::DifferenceKind;
use callgrove_widgets::theme::Theme;
use egui::{Color32, Painter, Pos2, Shape, Stroke, Vec2};

/// Returns the colour of a kind of difference: one for more than usual, one for less.
pub(super) fn sign_color(theme: &Theme, kind: DifferenceKind) -> Color32 {
    if kind.is_less() {
        theme.label_normal()
    } else {
        theme.abnormal()
    }
}

/// Paints a sign within `radius` of `centre`: plus for new calls, minus for missing calls, triangles up and down for
/// time, and double triangles for numbers of calls.
pub(super) fn paint_sign(
    painter: &Painter,
    kind: DifferenceKind,
    centre: Pos2,
    radius: f32,
    color: Color32,
) {
    let stroke = Stroke::new((0.35 * radius).max(1.5), color);
    let line = |direction: Vec2| {
        let ends = [centre - direction * radius, centre + direction * radius];
        painter.line_segment(ends, stroke);
    };
    let triangle = |middle: f32, half: f32, up: f32| {
        let corner = |x: f32, y: f32| centre + Vec2::new(x * half, (middle - up * y) * radius);
        let size = half / radius;
        let corners = vec![corner(0.0, size), corner(1.0, -size), corner(-1.0, -size)];
        painter.add(Shape::convex_polygon(corners, color, Stroke::NONE));
    };
    match kind {
        DifferenceKind::New => {
            line(Vec2::X);
            line(Vec2::Y);
        }
        DifferenceKind::Missing => line(Vec2::X),
        DifferenceKind::Longer => triangle(0.0, radius, 1.0),
        DifferenceKind::Shorter => triangle(0.0, radius, -1.0),
        DifferenceKind::MoreCalls | DifferenceKind::FewerCalls => {
            let up = if kind.is_less() { -1.0 } else { 1.0 };
            triangle(-0.5, 0.5 * radius, up);
            triangle(0.5, 0.5 * radius, up);
        }
    }
}
