//! A card next to the hovered item.

use std::fmt::Debug;
use std::hash::Hash;

use egui::{PopupAnchor, Response, Tooltip, Ui};

/// Distance from the pointer, or from the point at the keyboard cursor, to the card, in points.
const GAP: f32 = 12.0;

/// Draws the card with `content`.
pub fn pointer_card(
    response: &Response,
    anchor: PopupAnchor,
    ui: &Ui,
    content: impl FnOnce(&mut Ui),
) {
    pointer_card_of(response, (), anchor, ui, content);
}

/// Draws a card of a widget that shows several cards, identified by `contents`: each card has its own size, not that of
/// the previous one.
pub fn pointer_card_of(
    response: &Response,
    contents: impl Hash + Debug,
    anchor: PopupAnchor,
    ui: &Ui,
    content: impl FnOnce(&mut Ui),
) {
    let id = response.id.with(contents);
    Tooltip::always_open(ui.ctx().clone(), ui.layer_id(), id, anchor)
        .gap(GAP)
        .show(content);
}
