//! A card beside what is pointed at.

use egui::{PopupAnchor, Response, Tooltip, Ui};

/// From the pointer, or the point that the keyboard is on, to the card.
const GAP: f32 = 12.0;

/// Draws it, with what `content` draws.
pub(crate) fn pointer_card(
    response: &Response,
    anchor: PopupAnchor,
    ui: &Ui,
    content: impl FnOnce(&mut Ui),
) {
    Tooltip::always_open(ui.ctx().clone(), ui.layer_id(), response.id, anchor)
        .gap(GAP)
        .show(content);
}
