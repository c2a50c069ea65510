//! A card beside what is pointed at.

use std::fmt::Debug;
use std::hash::Hash;

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
    pointer_card_of(response, (), anchor, ui, content);
}

/// The same for a widget that has cards of several things, told apart by `what`: each takes the room that it needs, not
/// that of the one before.
pub(crate) fn pointer_card_of(
    response: &Response,
    what: impl Hash + Debug,
    anchor: PopupAnchor,
    ui: &Ui,
    content: impl FnOnce(&mut Ui),
) {
    let id = response.id.with(what);
    Tooltip::always_open(ui.ctx().clone(), ui.layer_id(), id, anchor)
        .gap(GAP)
        .show(content);
}
