//! The user's marks on the timeline: a field for a new one, and the list of all.

use callgrove_actions::context::ViewContext;
use callgrove_canvas::time::relative_time;
use callgrove_session::{Command, Mark, TimeRange};
use egui::{Key, TextEdit, Ui};

/// A mark while its text is entered.
pub(crate) struct NewMark {
    range: TimeRange,
    text: String,
    wants_focus: bool,
}

impl NewMark {
    /// Starts a mark.
    pub(crate) fn at(range: TimeRange) -> Self {
        Self {
            range,
            text: String::new(),
            wants_focus: true,
        }
    }
}

/// Draws the field of a new mark: Enter saves it, Esc discards it.
pub(crate) fn new_mark_ui(ctx: &mut ViewContext<'_>, new: &mut Option<NewMark>, ui: &mut Ui) {
    let Some(mark) = new else { return };
    let field = TextEdit::singleline(&mut mark.text)
        .hint_text("Add a note")
        .desired_width(150.0);
    let response = ui.add(field).accessible_name("Text of the mark");
    if std::mem::take(&mut mark.wants_focus) {
        response.request_focus();
    } else if response.lost_focus() {
        if ui.input(|input| input.key_pressed(Key::Enter)) {
            ctx.send(Command::SetMark {
                id: None,
                range: mark.range,
                text: mark.text.trim().to_owned(),
            });
        }
        *new = None;
    }
}

/// Draws the menu of all marks. Returns the mark to go to.
pub(crate) fn marks_ui(
    ctx: &mut ViewContext<'_>,
    origin: callgrove_model::TimeNs,
    ui: &mut Ui,
) -> Option<TimeRange> {
    let marks = std::sync::Arc::clone(&ctx.snapshot.edits.marks);
    let mut chosen = None;
    let title = format!("Marks ({})", marks.len());
    let menu = ui.menu_button(title, |ui| {
        if marks.is_empty() {
            ui.weak("Press M to mark the time at the pointer or the selected range");
        }
        for mark in marks.iter() {
            ui.horizontal(|ui| {
                if ui
                    .button(name_of(mark, origin))
                    .on_hover_text("Go to this mark")
                    .clicked()
                {
                    chosen = Some(mark.range);
                    ui.close();
                }
                if ui.small_button("Delete").clicked() {
                    ctx.send(Command::DeleteMark { id: mark.id });
                }
            });
        }
    });
    menu.response.on_hover_text("Marks are saved with the run");
    chosen
}

/// Returns `1.5 ms: first stop`.
fn name_of(mark: &Mark, origin: callgrove_model::TimeNs) -> String {
    let at = relative_time(mark.range.from, origin, 1_000.0);
    if mark.text.is_empty() {
        at
    } else {
        format!("{at}: {}", mark.text)
    }
}
