//! A box over everything in which the user types a few letters and chooses a command or a target.

use egui::{Id, Key, Modal, Modifiers, RichText, ScrollArea, TextEdit, Ui};

/// Maximum number of rows listed.
const MAX_ROWS: usize = 100;
/// Width of the box, in points.
const WIDTH: f32 = 560.0;

/// A row.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Choice<T> {
    /// The text of the row.
    pub(crate) text: String,
    /// A hint next to the text: the key, or the kind of the target.
    pub(crate) hint: String,
    /// The value that choosing the row returns.
    pub(crate) value: T,
}

/// State of the box while it is open.
#[derive(Default)]
pub(crate) struct Picker {
    text: String,
    at: usize,
    is_new: bool,
}

/// The result of one frame of the box.
pub(crate) enum Picked<T> {
    /// Still open.
    Open,
    /// Cancelled.
    Closed,
    /// A row was chosen.
    Chosen(T),
}

impl Picker {
    /// Returns an empty box that takes the focus.
    pub(crate) fn new() -> Self {
        Self {
            is_new: true,
            ..Self::default()
        }
    }

    /// Draws the box. `offer` returns the rows for the typed text, the best first.
    pub(crate) fn ui<T: Clone>(
        &mut self,
        ctx: &egui::Context,
        title: &str,
        offer: impl Fn(&str) -> Vec<Choice<T>>,
    ) -> Picked<T> {
        // The text field would consume the arrow keys.
        let (up, down) = ctx.input_mut(|input| {
            let mut count = |key| input.count_and_consume_key(Modifiers::NONE, key);
            (count(Key::ArrowUp), count(Key::ArrowDown))
        });
        self.at = (self.at + down).saturating_sub(up);
        let modal = Modal::new(Id::unique("picker")).show(ctx, |ui| {
            ui.set_width(WIDTH.min(ctx.content_rect().width() - 60.0));
            self.content_ui(title, &offer, up + down > 0, ui)
        });
        match modal.inner {
            Some(value) => Picked::Chosen(value),
            None if modal.should_close() => Picked::Closed,
            None => Picked::Open,
        }
    }

    fn content_ui<T: Clone>(
        &mut self,
        title: &str,
        offer: &impl Fn(&str) -> Vec<Choice<T>>,
        has_moved: bool,
        ui: &mut Ui,
    ) -> Option<T> {
        let field = TextEdit::singleline(&mut self.text)
            .hint_text(title)
            .desired_width(f32::INFINITY);
        let field = ui.add(field).accessible_name(title);
        if std::mem::take(&mut self.is_new) {
            field.request_focus();
        }
        if field.changed() {
            self.at = 0;
        }
        let mut choices = offer(self.text.trim());
        choices.truncate(MAX_ROWS);
        self.at = self.at.min(choices.len().saturating_sub(1));
        let is_entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        if is_entered {
            return choices.get(self.at).map(|choice| choice.value.clone());
        }
        if choices.is_empty() {
            ui.weak("No matches");
        }
        let mut chosen = None;
        ScrollArea::vertical()
            .max_height(360.0)
            .auto_shrink([false, true])
            .show(ui, |ui| {
                for (at, choice) in choices.iter().enumerate() {
                    let button = egui::Button::selectable(at == self.at, &choice.text)
                        .right_text(RichText::new(&choice.hint).weak())
                        .min_size(egui::vec2(ui.available_width(), 0.0));
                    let row = ui.add(button).accessible_name(&choice.text);
                    if at == self.at && has_moved {
                        row.scroll_to_me(None);
                    }
                    if row.clicked() {
                        chosen = Some(choice.value.clone());
                    }
                }
            });
        chosen
    }
}

/// Returns how well `text` matches the typed text: all typed words must occur, and an earlier position is better.
/// `None` if it does not match.
pub(crate) fn fit(text: &str, typed: &str) -> Option<usize> {
    let text = text.to_lowercase();
    let mut total = 0;
    for word in typed.to_lowercase().split_whitespace() {
        total += text.find(word)?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_must_occur_and_earlier_is_better() {
        assert_eq!(fit("Save the session…", "sess save"), Some(9));
        assert_eq!(fit("Save the session…", "model"), None);
        assert!(fit("MPI_Send", "send") < fit("Pair::compute, MPI_Send", "send"));
        assert_eq!(fit("anything", ""), Some(0));
    }
}
