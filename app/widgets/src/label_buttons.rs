//! The two buttons that label a tree or a record; the one of the current label is filled.

use callgrove_session::Label;
use egui::{RichText, Ui};

use super::header::in_picture;
use super::key_button::KeyButton;
use crate::theme::Theme;

/// Draws the buttons in the direction of the layout, given the current label and its author; `item` names the labelled
/// item for screen readers. Returns the label whose button was pressed.
pub fn label_buttons(
    theme: &Theme,
    (on, author): (Option<Label>, Option<&str>),
    item: &str,
    ui: &mut Ui,
) -> Option<Label> {
    if in_picture(ui) {
        if let Some(label) = on {
            ui.label(
                RichText::new(label.name())
                    .color(theme.label(label))
                    .strong(),
            );
        }
        return None;
    }
    let mut buttons = [
        (Label::Normal, "Normal", "N"),
        (Label::Abnormal, "Abnormal", "X"),
    ];
    if ui.layout().prefer_right_to_left() {
        buttons.reverse();
    }
    let mut pressed = None;
    for (label, text, key) in buttons {
        let mut button = KeyButton::new(text, key)
            .small()
            .named(format!("{text} {item}"));
        let is_on = on == Some(label);
        if is_on {
            let fill = theme.label(label);
            button = button.filled(fill, theme.text_on(fill));
        }
        let mut response = ui.add(button);
        if let Some(author) = author.filter(|_| is_on) {
            response = response.on_hover_text(format!("{text}, by {author}"));
        }
        if response.clicked() {
            pressed = Some(label);
        }
    }
    pressed
}
