//! The header of a view: its title, then right-aligned controls.

use egui::{Align, Label, Layout, RichText, Ui};

/// Height of the row, in points.
const HEIGHT: f32 = 28.0;

/// Draws `controls` from the right, and the title in the remaining width.
pub fn view_header<R>(ui: &mut Ui, title: &str, controls: impl FnOnce(&mut Ui) -> R) -> R {
    let size = egui::vec2(ui.available_width(), HEIGHT);
    ui.allocate_ui_with_layout(size, Layout::right_to_left(Align::Center), |ui| {
        ui.set_min_height(HEIGHT);
        let inner = controls(ui);
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.add(Label::new(RichText::new(title).strong().size(14.0)).truncate());
        });
        inner
    })
    .inner
}
