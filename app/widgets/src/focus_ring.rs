//! The ring around the focused widget.

use egui::{Context, Stroke, StrokeKind};

use crate::theme::{RADIUS, Theme};

/// Width of the ring, in points.
const WIDTH: f32 = 2.0;

/// Paints the ring, last in a frame: egui's own focus marks are too faint to be noticed.
pub fn focus_ring(ctx: &Context, theme: &Theme) {
    let focused = ctx.memory(egui::Memory::focused);
    let Some(response) = focused.and_then(|id| ctx.read_response(id)) else {
        return;
    };
    // A widget that is scrolled out of view has no ring.
    let seen = response.interact_rect;
    if !seen.is_positive() {
        return;
    }
    let painter = ctx.layer_painter(response.layer_id);
    let stroke = Stroke::new(WIDTH, theme.focus());
    painter.rect_stroke(seen.expand(1.0), RADIUS, stroke, StrokeKind::Outside);
}

#[cfg(test)]
mod tests {
    use egui::{Key, Shape};
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use super::*;

    #[test]
    fn the_focused_widget_has_a_visible_ring() {
        for is_dark in [true, false] {
            let theme = Theme::new(is_dark, None);
            let color = theme.focus();
            let mut harness = Harness::new_ui(move |ui| {
                for name in ["one", "two"] {
                    ui.button(name).clicked();
                }
                focus_ring(ui.ctx(), &theme);
            });
            let ring = |harness: &Harness<'_>| {
                let shapes = harness.output().shapes.iter();
                shapes
                    .filter_map(|clipped| match &clipped.shape {
                        Shape::Rect(rect) if rect.stroke == Stroke::new(WIDTH, color) => {
                            Some(rect.rect)
                        }
                        _ => None,
                    })
                    .next_back()
            };
            harness.run();
            assert_eq!(ring(&harness), None);
            for name in ["one", "two"] {
                harness.key_press(Key::Tab);
                harness.run();
                let around = ring(&harness).expect("a widget has the focus");
                assert!(
                    around.contains_rect(harness.get_by_label(name).rect()),
                    "{name}"
                );
            }
        }
    }
}
