//! The legend, and the code of the focused tree, on the map.

use callgrove_actions::context::ViewContext;
use callgrove_canvas::points::{Transform, mark_shape};
use callgrove_model::TreeIdx;
use callgrove_session::{Analysis, Selection};
use callgrove_widgets::theme::{RADIUS, Theme};
use egui::{FontId, Mesh, Painter, Pos2, Rect, Shape, Stroke, Vec2};

use super::coloring::Palette;
use super::values::LegendRow;

/// Height of a line, in points.
const LINE: f32 = 18.0;
/// Width of the mark before a text, in points.
const ICON: f32 = 28.0;
/// Width of a colour scale, in points.
const SCALE: f32 = 90.0;
/// Maximum fraction of the canvas height that a legend covers.
const MAX_SHARE: f32 = 0.6;

/// Paints the legend of the marks on the lower left; left out if it would cover the map.
pub(super) fn paint_legend(
    ctx: &ViewContext<'_>,
    palette: &Palette,
    rect: Rect,
    painter: &Painter,
) {
    let rows = palette.legend(ctx);
    let font = FontId::proportional(12.0);
    let galleys: Vec<_> = rows
        .iter()
        .map(|row| {
            let text = match row {
                LegendRow::Mark(.., text) | LegendRow::Ring(.., text) => text.clone(),
                LegendRow::Scale([low, high]) => format!("{low} to {high}"),
            };
            painter.layout_no_wrap(text, font.clone(), ctx.theme.text())
        })
        .collect();
    let width = rows
        .iter()
        .zip(&galleys)
        .map(|(row, galley)| indent(row) + galley.size().x);
    let width = width.fold(0.0, f32::max) + 8.0;
    let size = Vec2::new(width, rows.len() as f32 * LINE + 8.0);
    if size.y > rect.height() * MAX_SHARE || size.x > rect.width() {
        return;
    }
    let frame = Rect::from_min_size(rect.left_bottom() + Vec2::new(8.0, -8.0 - size.y), size);
    painter.rect_filled(frame, RADIUS, ctx.theme.canvas().gamma_multiply(0.85));
    for (at, (row, galley)) in rows.iter().zip(galleys).enumerate() {
        let middle = frame.top() + 4.0 + (at as f32 + 0.5) * LINE;
        let icon = Pos2::new(frame.left() + 15.0, middle);
        match row {
            LegendRow::Mark(shape, color, _) => {
                painter.add(mark_shape(*shape, icon, 4.5, *color));
            }
            LegendRow::Ring(shape, color, ring, _) => {
                painter.add(mark_shape(*shape, icon, 3.5, *color));
                painter.circle_stroke(icon, 7.0, Stroke::new(1.5, *ring));
            }
            LegendRow::Scale(_) => {
                let corner = Pos2::new(frame.left() + 8.0, middle - 5.0);
                let bar = Rect::from_min_size(corner, Vec2::new(SCALE, 10.0));
                painter.add(scale_bar(ctx.theme, bar));
            }
        }
        let left_top = Pos2::new(frame.left() + indent(row), middle - galley.size().y / 2.0);
        painter.galley(left_top, galley, ctx.theme.text());
    }
}

fn indent(row: &LegendRow) -> f32 {
    match row {
        LegendRow::Scale(_) => SCALE + 16.0,
        LegendRow::Mark(..) | LegendRow::Ring(..) => ICON,
    }
}

pub(super) fn scale_bar(theme: &Theme, bar: Rect) -> Shape {
    const NUM_STEPS: u32 = 16;
    let mut mesh = Mesh::default();
    for step in 0..=NUM_STEPS {
        let share = step as f32 / NUM_STEPS as f32;
        let x = bar.left() + bar.width() * share;
        let color = theme.heat(share);
        mesh.colored_vertex(Pos2::new(x, bar.top()), color);
        mesh.colored_vertex(Pos2::new(x, bar.bottom()), color);
        if step > 0 {
            let at = 2 * step;
            mesh.add_triangle(at - 2, at - 1, at);
            mesh.add_triangle(at - 1, at, at + 1);
        }
    }
    Shape::mesh(mesh)
}

/// Paints the code of the focused tree next to its mark, on the side with enough space.
pub(super) fn paint_focus(
    ctx: &ViewContext<'_>,
    (analysis, tree): (&Analysis, TreeIdx),
    place: [f64; 2],
    transform: &Transform,
    painter: &Painter,
) {
    let (rect, theme, at) = (transform.rect(), ctx.theme, transform.to_screen(place));
    let code = analysis.forest.code(tree).to_string();
    let text = match ctx.snapshot.selection {
        // The focus of an incident is the execution in which it began, or the most abnormal one.
        Selection::Group(_) if ctx.snapshot.inspected.incident.is_none() => {
            format!("centre {code}")
        }
        _ => code,
    };
    let galley = painter.layout_no_wrap(text, FontId::monospace(12.0), theme.canvas());
    let size = galley.size() + Vec2::new(10.0, 4.0);
    let gap = 16.0;
    let left = if at.x + gap + size.x < rect.right() {
        at.x + gap
    } else {
        at.x - gap - size.x
    };
    let sign = Rect::from_min_size(Pos2::new(left, at.y - size.y / 2.0), size);
    painter.rect_filled(sign, 3.0, theme.selection());
    painter.galley(sign.min + Vec2::new(5.0, 2.0), galley, theme.canvas());
}
