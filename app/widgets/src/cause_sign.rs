//! Signs of roles in a delay and of kinds of causes: the shape repeats the meaning of the colour, for colour-blind
//! users.

use callgrove_session::{CauseKind, DelayRole};
use egui::{Align2, Color32, FontId, Painter, Pos2, Rect, Shape, Stroke, Vec2};

/// Width of a sign next to a text, in points.
pub const SIGN_WIDTH: f32 = 14.0;

/// Paints a sign within `radius` of `centre`: a target for the root, an hourglass for a victim, a question mark for
/// undecided; nothing if it was on time.
pub fn paint_role(painter: &Painter, role: DelayRole, centre: Pos2, radius: f32, color: Color32) {
    match role {
        DelayRole::Root => {
            painter.circle_filled(centre, radius * 0.5, color);
            painter.circle_stroke(centre, radius, Stroke::new((radius * 0.3).max(1.2), color));
        }
        DelayRole::Victim => {
            for up in [1.0, -1.0] {
                let edge = |x: f32| centre + Vec2::new(x * 0.8 * radius, -up * radius);
                let corners = vec![centre, edge(up), edge(-up)];
                painter.add(Shape::convex_polygon(corners, color, Stroke::NONE));
            }
        }
        DelayRole::Undecided => question_mark(painter, centre, radius, color),
        DelayRole::OnTime => {}
    }
}

/// Paints a sign within `radius` of `centre`: two pause bars for a stall, a long bar under a short one for slow work,
/// three bars before a wall for a rank that did not enter a collective, an arrow for the network, hatching for a trace
/// write, four cores for a busy host, one bar over three waiting ones for serial code, bars of unequal heights for
/// imbalance, specks for noise, and a question mark for an unknown cause.
pub fn paint_kind(painter: &Painter, kind: CauseKind, centre: Pos2, radius: f32, color: Color32) {
    let block = |x: f32, y: f32, size: [f32; 2]| {
        let middle = centre + Vec2::new(x, y) * radius;
        let rect = Rect::from_center_size(middle, Vec2::from(size) * radius);
        painter.rect_filled(rect, 1.0, color);
    };
    match kind {
        CauseKind::Stalled => {
            block(-0.5, 0.0, [0.6, 1.9]);
            block(0.5, 0.0, [0.6, 1.9]);
        }
        CauseKind::Slow => {
            block(-0.5, -0.5, [1.0, 0.6]);
            block(0.0, 0.5, [2.0, 0.6]);
        }
        CauseKind::TracerWrite => {
            for x in [-0.7, 0.0, 0.7] {
                let half = Vec2::new(0.35, -0.9) * radius;
                let middle = centre + Vec2::new(x * radius, 0.0);
                painter.line_segment([middle - half, middle + half], Stroke::new(1.5, color));
            }
        }
        CauseKind::NotEntered => {
            block(0.5, 0.0, [0.4, 1.9]);
            for y in [-0.7, 0.0, 0.7] {
                block(-0.4, y, [1.0, 0.4]);
            }
        }
        CauseKind::BusyHost => {
            for (x, y) in [(-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5), (0.5, 0.5)] {
                block(x, y, [0.75, 0.75]);
            }
        }
        CauseKind::Transfer => {
            let tip = centre + Vec2::new(radius, 0.0);
            block(-0.3, 0.0, [1.3, 0.5]);
            let corners = vec![
                tip,
                centre + Vec2::new(0.2, -0.8) * radius,
                centre + Vec2::new(0.2, 0.8) * radius,
            ];
            painter.add(Shape::convex_polygon(corners, color, Stroke::NONE));
        }
        CauseKind::Serial => {
            for x in [-0.7, 0.0, 0.7] {
                block(x, 0.6, [0.5, 0.3]);
            }
            block(0.0, -0.2, [0.5, 1.2]);
        }
        CauseKind::Imbalance => {
            block(-0.7, 0.5, [0.5, 0.8]);
            block(0.0, 0.3, [0.5, 1.2]);
            block(0.7, 0.0, [0.5, 1.8]);
        }
        CauseKind::Noise => {
            for (x, y) in [(-0.7, 0.3), (-0.2, -0.5), (0.3, 0.6), (0.7, -0.3)] {
                block(x, y, [0.35, 0.35]);
            }
        }
        CauseKind::Unknown => question_mark(painter, centre, radius, color),
    }
}

fn question_mark(painter: &Painter, centre: Pos2, radius: f32, color: Color32) {
    let font = FontId::proportional((radius * 2.6).max(crate::theme::SMALLEST_TEXT));
    painter.text(centre, Align2::CENTER_CENTER, "?", font, color);
}
