//! Asks for a path if there is no native dialog.

use callgrove_actions::FilePurpose;
use egui::text::{CCursor, CCursorRange};
use egui::{Id, Key, Modal, TextEdit, Ui};

/// State of the dialog while it is open.
pub(crate) struct PathDialog {
    purpose: FilePurpose,
    path: String,
    is_new: bool,
}

/// The result of one frame of the dialog.
pub(crate) enum PathAnswer {
    /// Still open.
    Open,
    /// Cancelled.
    Closed,
    /// The entered path.
    Given(FilePurpose, String),
}

impl PathDialog {
    /// Returns a dialog that has not been shown yet.
    pub(crate) fn new(purpose: FilePurpose) -> Self {
        Self {
            purpose,
            path: purpose.suggested_name().to_owned(),
            is_new: true,
        }
    }

    /// Draws the dialog over everything else.
    pub(crate) fn ui(&mut self, ctx: &egui::Context) -> PathAnswer {
        let modal = Modal::new(Id::unique("path dialog")).show(ctx, |ui| self.content_ui(ui));
        if modal.inner.is_none() && modal.should_close() {
            return PathAnswer::Closed;
        }
        modal.inner.unwrap_or(PathAnswer::Open)
    }

    fn content_ui(&mut self, ui: &mut Ui) -> Option<PathAnswer> {
        ui.set_width(460.0_f32.min(ui.ctx().content_rect().width() - 48.0));
        ui.heading(self.purpose.title());
        ui.weak(self.purpose.hint());
        let field = TextEdit::singleline(&mut self.path)
            .desired_width(f32::INFINITY)
            .hint_text("Path");
        let mut output = field.show(ui);
        let field = output.response.response.accessible_name("Path");
        if std::mem::take(&mut self.is_new) {
            field.request_focus();
            // Typing replaces the name but keeps the extension.
            let name = self.path.rsplit_once('.').map(|(name, _)| name);
            let end = name.unwrap_or(&self.path).chars().count();
            let selected = CCursorRange::two(CCursor::new(0), CCursor::new(end));
            output.state.cursor.set_char_range(Some(selected));
            output.state.store(ui.ctx(), field.id);
        }
        let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let mut answer = None;
        egui::Sides::new().show(
            ui,
            |_| {},
            |ui| {
                let is_given = !self.path.trim().is_empty();
                let confirm = ui.add_enabled(is_given, egui::Button::new(self.purpose.verb()));
                if is_given && (confirm.clicked() || entered) {
                    answer = Some(PathAnswer::Given(self.purpose, self.path.trim().to_owned()));
                }
                if ui.button("Cancel").clicked() {
                    answer = Some(PathAnswer::Closed);
                }
            },
        );
        answer
    }
}
