//! Shapes as elements of SVG.

use egui::epaint::{
    BandShape, CircleShape, ColorMode, CubicBezierShape, EllipseShape, PathShape, PathStroke,
    QuadraticBezierShape, RectShape,
};
use egui::{Color32, CornerRadius, Pos2, Rect, Shape, Stroke, StrokeKind, Vec2};

use crate::error::PaintError;
use crate::mesh::push_mesh;
use crate::number::{
    is_stroke_visible, is_visible, push_attribute, push_color, push_number, push_stroke,
};
use crate::text::push_galley;

/// Appends a shape.
pub(crate) fn push_shape(out: &mut String, shape: &Shape) -> Result<(), PaintError> {
    match shape {
        Shape::Noop => {}
        Shape::Vec(shapes) => return shapes.iter().try_for_each(|shape| push_shape(out, shape)),
        Shape::Circle(circle) => push_circle(out, circle),
        Shape::Ellipse(ellipse) => push_ellipse(out, ellipse),
        Shape::LineSegment { points, stroke } => push_segment(out, *points, *stroke),
        Shape::Path(path) => push_path(out, path),
        Shape::Band(band) => push_band(out, band),
        Shape::Rect(rect) => push_rect(out, rect),
        Shape::Text(text) => push_galley(out, text),
        Shape::Mesh(mesh) => return push_mesh(out, mesh),
        Shape::QuadraticBezier(curve) => push_quadratic(out, curve),
        Shape::CubicBezier(curve) => push_cubic(out, curve),
        Shape::Callback(_) => return Err(PaintError::Callback),
    }
    Ok(())
}

/// Appends the fill and the stroke of a shape, and ends its element.
fn end_element(out: &mut String, fill: Color32, stroke: Stroke) {
    if is_visible(fill) {
        push_color(out, "fill", fill);
    } else {
        out.push_str(" fill=\"none\"");
    }
    if is_stroke_visible(stroke) {
        push_stroke(out, stroke);
    }
    out.push_str("/>\n");
}

fn is_drawn(fill: Color32, stroke: Stroke) -> bool {
    is_visible(fill) || is_stroke_visible(stroke)
}

fn push_circle(out: &mut String, circle: &CircleShape) {
    if !is_drawn(circle.fill, circle.stroke) {
        return;
    }
    out.push_str("<circle");
    push_attribute(out, "cx", circle.center.x);
    push_attribute(out, "cy", circle.center.y);
    push_attribute(out, "r", circle.radius);
    end_element(out, circle.fill, circle.stroke);
}

fn push_ellipse(out: &mut String, ellipse: &EllipseShape) {
    if !is_drawn(ellipse.fill, ellipse.stroke) {
        return;
    }
    out.push_str("<ellipse");
    push_attribute(out, "cx", ellipse.center.x);
    push_attribute(out, "cy", ellipse.center.y);
    push_attribute(out, "rx", ellipse.radius.x);
    push_attribute(out, "ry", ellipse.radius.y);
    push_rotation(out, ellipse.angle, ellipse.center);
    end_element(out, ellipse.fill, ellipse.stroke);
}

fn push_rotation(out: &mut String, angle: f32, about: Pos2) {
    if angle.abs() < 1e-4 {
        return;
    }
    out.push_str(" transform=\"rotate(");
    for (at, value) in [angle.to_degrees(), about.x, about.y]
        .into_iter()
        .enumerate()
    {
        if at > 0 {
            out.push(' ');
        }
        push_number(out, value);
    }
    out.push_str(")\"");
}

/// Appends a line; a horizontal or vertical one of an odd width fills whole pixels, as on the screen.
fn push_segment(out: &mut String, [from, to]: [Pos2; 2], stroke: Stroke) {
    if !is_stroke_visible(stroke) {
        return;
    }
    let is_odd = (stroke.width.round() as i32) % 2 == 1;
    let snapped = |value: f32| {
        if is_odd {
            value.floor() + 0.5
        } else {
            value.round()
        }
    };
    let (mut from, mut to) = (from, to);
    if from.x.to_bits() == to.x.to_bits() {
        from.x = snapped(from.x);
        to.x = from.x;
    } else if from.y.to_bits() == to.y.to_bits() {
        from.y = snapped(from.y);
        to.y = from.y;
    }
    out.push_str("<line");
    push_attribute(out, "x1", from.x);
    push_attribute(out, "y1", from.y);
    push_attribute(out, "x2", to.x);
    push_attribute(out, "y2", to.y);
    push_stroke(out, stroke);
    out.push_str("/>\n");
}

/// Returns a stroke of one colour; of a gradient, its colour in the middle.
fn plain_stroke(stroke: &PathStroke, points: &[Pos2]) -> Stroke {
    let color = match &stroke.color {
        ColorMode::Solid(color) => *color,
        ColorMode::UV(color_at) => {
            let bounds = Rect::from_points(points);
            color_at(bounds, bounds.center())
        }
    };
    Stroke::new(stroke.width, color)
}

fn push_points(out: &mut String, points: impl IntoIterator<Item = Pos2>) {
    out.push_str(" points=\"");
    for (at, point) in points.into_iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        push_number(out, point.x);
        out.push(',');
        push_number(out, point.y);
    }
    out.push('"');
}

fn push_path(out: &mut String, path: &PathShape) {
    let stroke = plain_stroke(&path.stroke, &path.points);
    if path.points.len() < 2 || !is_drawn(path.fill, stroke) {
        return;
    }
    out.push_str(if path.closed { "<polygon" } else { "<polyline" });
    push_points(out, path.points.iter().copied());
    out.push_str(" stroke-linejoin=\"round\"");
    end_element(out, path.fill, stroke);
}

fn push_band(out: &mut String, band: &BandShape) {
    if !is_drawn(band.fill, band.stroke) {
        return;
    }
    let upper = band.points.iter().map(|it| Pos2::new(it.x, it.y.min));
    let lower = band.points.iter().rev();
    let lower = lower.map(|it| Pos2::new(it.x, it.y.max));
    out.push_str("<polygon");
    push_points(out, upper.chain(lower));
    end_element(out, band.fill, band.stroke);
}

fn push_rect(out: &mut String, shape: &RectShape) {
    let stroke = shape.stroke;
    let is_one = shape.stroke_kind == StrokeKind::Middle || !is_stroke_visible(stroke);
    if is_one {
        push_rect_of(out, shape, shape.rect, (shape.fill, stroke), 0.0);
        return;
    }
    push_rect_of(out, shape, shape.rect, (shape.fill, Stroke::NONE), 0.0);
    let by = match shape.stroke_kind {
        StrokeKind::Inside => -stroke.width / 2.0,
        StrokeKind::Middle => 0.0,
        StrokeKind::Outside => stroke.width / 2.0,
    };
    let moved = shape.rect.expand(by);
    push_rect_of(out, shape, moved, (Color32::TRANSPARENT, stroke), by);
}

/// Appends one rectangle of a shape; its corners are larger than the shape's by `by`.
fn push_rect_of(
    out: &mut String,
    shape: &RectShape,
    rect: Rect,
    (fill, stroke): (Color32, Stroke),
    by: f32,
) {
    if !is_drawn(fill, stroke) || rect.width() < 0.0 || rect.height() < 0.0 {
        return;
    }
    let CornerRadius { nw, ne, sw, se } = shape.corner_radius;
    let radius = |corner: u8| {
        let round = if corner == 0 {
            0.0
        } else {
            f32::from(corner) + by
        };
        round.clamp(0.0, rect.size().min_elem() / 2.0)
    };
    if [ne, sw, se].iter().all(|corner| *corner == nw) {
        out.push_str("<rect");
        push_attribute(out, "x", rect.left());
        push_attribute(out, "y", rect.top());
        push_attribute(out, "width", rect.width());
        push_attribute(out, "height", rect.height());
        if radius(nw) > 0.0 {
            push_attribute(out, "rx", radius(nw));
        }
    } else {
        out.push_str("<path d=\"");
        let corners = [
            (rect.left_top(), Vec2::DOWN, Vec2::RIGHT, radius(nw)),
            (rect.right_top(), Vec2::LEFT, Vec2::DOWN, radius(ne)),
            (rect.right_bottom(), Vec2::UP, Vec2::LEFT, radius(se)),
            (rect.left_bottom(), Vec2::RIGHT, Vec2::UP, radius(sw)),
        ];
        for (at, (corner, before, after, round)) in corners.into_iter().enumerate() {
            push_command(
                out,
                if at == 0 { "M" } else { "L" },
                &[corner + before * round],
            );
            push_command(out, "Q", &[corner, corner + after * round]);
        }
        out.push_str("Z\"");
    }
    push_rotation(out, shape.angle, shape.rect.center());
    end_element(out, fill, stroke);
}

/// Appends a command of a path with its points.
fn push_command(out: &mut String, command: &str, points: &[Pos2]) {
    out.push_str(command);
    for (at, point) in points.iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        push_number(out, point.x);
        out.push(' ');
        push_number(out, point.y);
    }
}

fn push_quadratic(out: &mut String, curve: &QuadraticBezierShape) {
    let [from, through, to] = curve.points;
    let stroke = plain_stroke(&curve.stroke, &curve.points);
    push_curve(
        out,
        from,
        ("Q", &[through, to]),
        (curve.closed, curve.fill, stroke),
    );
}

fn push_cubic(out: &mut String, curve: &CubicBezierShape) {
    let [from, rest @ ..] = curve.points;
    let stroke = plain_stroke(&curve.stroke, &curve.points);
    push_curve(out, from, ("C", &rest), (curve.closed, curve.fill, stroke));
}

fn push_curve(
    out: &mut String,
    from: Pos2,
    (command, points): (&str, &[Pos2]),
    (is_closed, fill, stroke): (bool, Color32, Stroke),
) {
    if !is_drawn(fill, stroke) {
        return;
    }
    out.push_str("<path d=\"");
    push_command(out, "M", &[from]);
    push_command(out, command, points);
    out.push_str(if is_closed { "Z\"" } else { "\"" });
    end_element(out, fill, stroke);
}

#[cfg(test)]
mod tests {
    use egui::pos2;

    use super::*;

    fn svg(shape: impl Into<Shape>) -> String {
        let mut out = String::new();
        push_shape(&mut out, &shape.into()).unwrap();
        out
    }

    const RECT: Rect = Rect::from_min_max(pos2(10.0, 20.0), pos2(50.0, 40.0));

    #[test]
    fn a_stroke_inside_a_rectangle_does_not_reach_over_it() {
        let stroke = Stroke::new(2.0, Color32::BLACK);
        let rect = RectShape::new(RECT, 4, Color32::WHITE, stroke, StrokeKind::Inside);
        let text = svg(rect);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                r##"<rect x="10" y="20" width="40" height="20" rx="4" fill="#ffffff"/>"##,
                r##"<rect x="11" y="21" width="38" height="18" rx="3" fill="none" stroke="#000000" stroke-width="2"/>"##,
            ]
        );
    }

    #[test]
    fn lines_of_one_point_fill_whole_pixels() {
        let stroke = Stroke::new(1.0, Color32::BLACK);
        let text = svg(Shape::line_segment(
            [pos2(3.2, 1.0), pos2(3.2, 9.0)],
            stroke,
        ));
        assert!(
            text.contains(r#"x1="3.5" y1="1" x2="3.5" y2="9""#),
            "{text}"
        );
    }

    #[test]
    fn all_other_shapes_are_elements() {
        let stroke = Stroke::new(1.0, Color32::BLACK);
        let points = [
            pos2(0.0, 0.0),
            pos2(5.0, 5.0),
            pos2(9.0, 0.0),
            pos2(9.0, 9.0),
        ];
        let [a, b, c, d] = points;
        let red = Color32::RED;
        for (shape, expected) in [
            (Shape::circle_filled(a, 3.0, red), "<circle "),
            (
                Shape::ellipse_filled(a, Vec2::new(3.0, 4.0), red),
                "<ellipse ",
            ),
            (Shape::line(points.to_vec(), stroke), "<polyline "),
            (
                Shape::convex_polygon(points.to_vec(), red, stroke),
                "<polygon ",
            ),
            (
                QuadraticBezierShape::from_points_stroke([a, b, c], false, red, stroke).into(),
                "<path d=\"M0 0Q5 5 9 0\"",
            ),
            (
                CubicBezierShape::from_points_stroke([a, b, c, d], true, red, stroke).into(),
                "<path d=\"M0 0C5 5 9 0 9 9Z\"",
            ),
            (Shape::circle_filled(a, 3.0, Color32::TRANSPARENT), ""),
        ] {
            let text = svg(shape);
            assert!(text.starts_with(expected), "{text}");
            assert_eq!(text.is_empty(), expected.is_empty());
        }
    }
}
