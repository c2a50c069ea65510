//! Axes with ticks along the lower and left edge of a canvas.

use callgrove_widgets::theme::Theme;
use egui::{Align2, FontId, Painter, Pos2, Rect, Stroke};

use super::axis::Axis;
use super::geometry::Transform;

/// Width of the labels of the left axis, in points of the screen.
const LEFT: f32 = 76.0;
/// Height of the labels of the lower axis, in points of the screen.
const BOTTOM: f32 = 22.0;
/// Margin above the points, in points of the screen.
const TOP: f32 = 4.0;
/// Minimum distance between ticks along each axis, in points of the screen.
const TICK_SPACING: [f32; 2] = [110.0, 36.0];

/// An axis with a unit.
#[derive(Clone, Copy)]
pub struct Ruler<'a> {
    /// True if the scale is logarithmic.
    pub is_log: bool,
    /// Formats a value of the axis, given its visible range.
    pub text: &'a dyn Fn(f64, Axis) -> String,
}

/// Returns the coordinate of a value; not finite for one that cannot be shown.
pub fn plane_value(value: f64, is_log: bool) -> f64 {
    if !is_log {
        value
    } else if value > 0.0 {
        value.ln()
    } else {
        f64::NAN
    }
}

/// Returns the value at a coordinate.
pub fn axis_value(coordinate: f64, is_log: bool) -> f64 {
    if is_log { coordinate.exp() } else { coordinate }
}

/// Returns the part of an area that the rulers leave for the points.
pub(super) fn inner(rect: Rect, right: f32) -> Rect {
    let min = Pos2::new(rect.left() + LEFT, rect.top() + TOP);
    let max = Pos2::new(rect.right() - right, rect.bottom() - BOTTOM);
    Rect::from_min_max(min, max.max(min + egui::Vec2::splat(1.0)))
}

/// Draws grid lines at round numbers, and their labels next to the canvas.
pub(super) fn paint(
    rulers: &[Ruler<'_>; 2],
    transform: &Transform,
    theme: &Theme,
    painter: &Painter,
) {
    let (rect, seen) = (transform.rect(), transform.seen(0.0));
    let font = FontId::proportional(12.0);
    let line = Stroke::new(1.0, theme.grid());
    for (at, ruler) in rulers.iter().enumerate() {
        let axis = Axis {
            from: axis_value(seen.min[at], ruler.is_log),
            to: axis_value(seen.max[at], ruler.is_log),
            is_log: ruler.is_log,
        };
        let num_ticks = (rect.size()[at] / TICK_SPACING[at]) as usize;
        for value in axis.ticks(num_ticks) {
            let mut place = seen.min;
            place[at] = plane_value(value, ruler.is_log);
            let mut tick = transform.to_screen(place);
            let align = if at == 0 {
                painter.vline(tick.x, rect.y_range(), line);
                tick.y = rect.bottom() + 3.0;
                Align2::CENTER_TOP
            } else {
                painter.hline(rect.x_range(), tick.y, line);
                tick.x = rect.left() - 4.0;
                Align2::RIGHT_CENTER
            };
            let text = (ruler.text)(value, axis);
            painter.text(tick, align, text, font.clone(), theme.weak_text());
        }
    }
}
