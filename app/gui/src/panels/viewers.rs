//! The user's name, and the other viewers of the session.

use callgrove_actions::context::ViewContext;
use egui::{Popup, PopupCloseBehavior, RichText, TextEdit, Ui};

use callgrove_session::{Command, Snapshot};

/// Width of the field for the name, in points.
const NAME_WIDTH: f32 = 180.0;

/// The name while it is edited.
#[derive(Default)]
pub(super) struct NameDraft(Option<String>);

/// Draws the user's name and the number of other viewers; a click opens a field that changes the name.
pub(super) fn viewers_ui(ctx: &mut ViewContext<'_>, draft: &mut NameDraft, ui: &mut Ui) {
    let Some(name) = ctx.snapshot.viewers.name.as_deref() else {
        return;
    };
    let others = others(ctx.snapshot);
    let text = match others.len() {
        0 => name.to_owned(),
        num_others => format!("{name} +{num_others}"),
    };
    let hint = match &others[..] {
        [] => "Your labels show this name.".to_owned(),
        others => format!("Also here: {}", others.join(", ")),
    };
    let button = ui
        .button(RichText::new(text).color(ctx.theme.weak_text()))
        .on_hover_text(hint)
        .accessible_name("Viewers");
    let popup = Popup::from_toggle_button_response(&button)
        .close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    let written = popup.show(|ui| {
        let text = draft.0.get_or_insert_with(|| name.to_owned());
        let label = ui.label("Your name (shown on your labels)");
        let field = TextEdit::singleline(text).desired_width(NAME_WIDTH);
        let field = ui.add(field).labelled_by(label.id);
        for other in &others {
            ui.weak(format!("{other} is also here"));
        }
        field.lost_focus().then(|| text.trim().to_owned())
    });
    match written {
        None => draft.0 = None,
        Some(written) => {
            let is_new = |written: &String| !written.is_empty() && written != name;
            if let Some(new) = written.inner.filter(is_new) {
                draft.0 = None;
                ctx.send(Command::SetName(new));
            }
        }
    }
}

/// Returns the names of all other viewers.
fn others(snapshot: &Snapshot) -> Vec<&str> {
    let others = snapshot
        .viewers
        .present
        .iter()
        .filter(|viewer| !viewer.is_you);
    others.map(|viewer| &*viewer.name).collect()
}

#[cfg(test)]
mod tests {
    use callgrove_app_tests::changed;
    use callgrove_app_tests::demo_run::demo_snapshot;
    use callgrove_session::PresentViewer;
    use callgrove_view_tests::harness_of;
    use egui::Key;
    use egui_kittest::kittest::Queryable as _;

    use super::*;

    #[test]
    fn the_name_is_shown_with_the_others_and_can_be_changed() {
        let viewer = |name: &str, is_you| PresentViewer {
            name: name.into(),
            is_you,
        };
        let snapshot = changed(demo_snapshot(), |it| {
            it.viewers.name = Some("ana".into());
            it.viewers.present = [viewer("ana", true), viewer("ben", false)].into();
        });
        let (mut harness, sent) = harness_of(snapshot, [400.0, 200.0], viewers_ui);
        harness.run();
        let text = callgrove_view_tests::written(&harness);
        assert!(text.iter().any(|it| it.text == "ana +1"));
        harness.get_by_label("Viewers").click();
        harness.run();
        harness.get_by_label("ben is also here");
        let field = harness.get_by_label("Your name (shown on your labels)");
        field.focus();
        harness.run();
        let field = harness.get_by_label("Your name (shown on your labels)");
        field.type_text(" b.");
        harness.run();
        harness.key_press(Key::Enter);
        harness.run();
        let sent = sent.borrow();
        assert_eq!(sent[..], [Command::SetName("ana b.".to_owned()).into()]);
    }
}
