//! A button that shows its keyboard shortcut.

use crate::theme::SMALLEST_TEXT;
use egui::{Button, Color32, Response, RichText, Stroke, Ui, Vec2, Widget};

/// A button with a key hint on its right.
pub struct KeyButton<'a> {
    text: &'a str,
    key: &'a str,
    name: Option<String>,
    tint: Option<(Color32, Color32)>,
    min_width: f32,
    is_small: bool,
}

impl<'a> KeyButton<'a> {
    /// Returns a button with `text`, and `key` next to it.
    pub fn new(text: &'a str, key: &'a str) -> Self {
        Self {
            text,
            key,
            name: None,
            tint: None,
            min_width: 0.0,
            is_small: false,
        }
    }

    /// Sets the accessible name, if the text alone is not sufficient.
    #[must_use]
    pub fn named(mut self, name: String) -> Self {
        self.name = Some(name);
        self
    }

    /// Fills the button with a colour and sets the text colour, for an active state.
    #[must_use]
    pub fn filled(mut self, fill: Color32, text: Color32) -> Self {
        self.tint = Some((fill, text));
        self
    }

    /// Sets the minimum width, in points.
    #[must_use]
    pub fn min_width(mut self, width: f32) -> Self {
        self.min_width = width;
        self
    }

    /// Makes the button small, for use inside cards.
    #[must_use]
    pub fn small(mut self) -> Self {
        self.is_small = true;
        self
    }
}

impl Widget for KeyButton<'_> {
    fn ui(self, ui: &mut Ui) -> Response {
        let (text_size, height) = if self.is_small {
            (12.5, 22.0)
        } else {
            (14.0, 26.0)
        };
        let text_color = self.tint.map(|(_, text)| text);
        let mut text = RichText::new(self.text).size(text_size);
        let mut key = RichText::new(self.key)
            .monospace()
            .size(SMALLEST_TEXT.max(text_size - 2.0));
        if let Some(color) = text_color {
            text = text.color(color).strong();
            key = key.color(color.gamma_multiply(0.75));
        } else {
            key = key.weak();
        }
        let mut button = Button::new(text).min_size(Vec2::new(self.min_width, height));
        if !self.key.is_empty() {
            button = button.right_text(key);
        }
        if let Some((fill, _)) = self.tint {
            button = button.fill(fill).stroke(Stroke::NONE);
        }
        let response = ui.add(button);
        match self.name {
            Some(name) => response.accessible_name(name),
            None => response.accessible_name(self.text),
        }
    }
}
