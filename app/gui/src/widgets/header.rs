//! The row above a view: its title, then what can be done, right-aligned.

use egui::{Align, Layout, RichText, Ui};

/// Height of the row, in points.
const HEIGHT: f32 = 28.0;

/// Draws the title and gives the rest of the row to `controls`, from the right.
pub fn view_header<R>(ui: &mut Ui, title: &str, controls: impl FnOnce(&mut Ui) -> R) -> R {
    let size = egui::vec2(ui.available_width(), HEIGHT);
    ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), |ui| {
        ui.set_min_height(HEIGHT);
        ui.label(RichText::new(title).strong().size(14.0));
        ui.with_layout(Layout::right_to_left(Align::Center), controls).inner
    })
    .inner
}
