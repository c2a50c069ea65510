//! The bar on top: file menu, source, root function, counts, undo, appearance, help.

use callgrove_session::{Command, Snapshot};
use egui::{Align, Button, Layout, RichText, Ui};

use super::RootChooser;
use crate::FilePurpose;
use crate::context::ViewContext;
use crate::widgets::{count_of, thousands};

/// What a person may wish of the window itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wish {
    /// Ask for a path.
    File(FilePurpose),
    /// Watch a running job.
    Monitor,
    /// Show or hide the keys.
    Help,
    /// Dark instead of light or the other way.
    SwitchAppearance,
    /// Stop the running work.
    Cancel,
}

/// Draws the bar. `can_monitor`: whether the window can watch a running job.
pub(crate) fn top_bar_ui(
    ctx: &mut ViewContext<'_>,
    chooser: &mut RootChooser,
    wishes: &mut Vec<Wish>,
    can_monitor: bool,
    ui: &mut Ui,
) {
    ui.horizontal_centered(|ui| {
        ui.label(RichText::new("Callgrove").strong().size(16.0));
        file_menu_ui(ctx.snapshot, wishes, can_monitor, ui);
        if let Some(source) = &ctx.snapshot.source {
            ui.add(egui::Label::new(shortened(end_of_path(source), 32)).selectable(false))
                .on_hover_text(source);
        }
        if ctx.snapshot.trace.is_some() {
            ui.separator();
            chooser.ui(ctx, ui);
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            right_side_ui(ctx, wishes, ui);
            if let Some(text) = counts(ctx.snapshot) {
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    ui.add(
                        egui::Label::new(RichText::new(text).color(ctx.theme.weak_text()))
                            .truncate(),
                    );
                });
            }
        });
    });
}

fn file_menu_ui(snapshot: &Snapshot, wishes: &mut Vec<Wish>, can_monitor: bool, ui: &mut Ui) {
    ui.menu_button("File", |ui| {
        if can_monitor {
            if ui
                .button("Connect…")
                .on_hover_text("Watch a running job")
                .clicked()
            {
                wishes.push(Wish::Monitor);
                ui.close();
            }
            ui.separator();
        }
        let mut item = |ui: &mut Ui, purpose: FilePurpose, keys: &str, is_enabled: bool| {
            let button = Button::new(format!("{}…", purpose.title())).shortcut_text(keys);
            if ui.add_enabled(is_enabled, button).clicked() {
                wishes.push(Wish::File(purpose));
                ui.close();
            }
        };
        let has_trees = snapshot.analysis.is_some();
        item(ui, FilePurpose::OpenTrace, "Ctrl+O", true);
        ui.separator();
        item(ui, FilePurpose::LoadSession, "", true);
        item(
            ui,
            FilePurpose::SaveSession,
            "Ctrl+S",
            snapshot.source.is_some(),
        );
        ui.separator();
        item(ui, FilePurpose::ImportLabels, "", has_trees);
        item(ui, FilePurpose::ExportLabels, "", has_trees);
        ui.separator();
        item(ui, FilePurpose::LoadModel, "", has_trees);
        item(ui, FilePurpose::SaveModel, "", has_trees);
    });
}

fn right_side_ui(ctx: &mut ViewContext<'_>, wishes: &mut Vec<Wish>, ui: &mut Ui) {
    if ui
        .button("?")
        .on_hover_text("Keys and help (?)")
        .accessible_name("Help")
        .clicked()
    {
        wishes.push(Wish::Help);
    }
    let text = if ctx.theme.is_dark() {
        "Light appearance"
    } else {
        "Dark appearance"
    };
    if ui
        .button("◐")
        .on_hover_text(text)
        .accessible_name(text)
        .clicked()
    {
        wishes.push(Wish::SwitchAppearance);
    }
    ui.separator();
    let snapshot = ctx.snapshot;
    let steps = [
        ("↷", "Redo", "Ctrl+Shift+Z", &snapshot.redo, Command::Redo),
        ("↶", "Undo", "Ctrl+Z", &snapshot.undo, Command::Undo),
    ];
    for (sign, verb, keys, what, command) in steps {
        let button = ui.add_enabled(what.is_some(), Button::new(sign));
        let help = what.as_ref().map_or_else(
            || format!("Nothing to {}", verb.to_lowercase()),
            |what| format!("{verb}: {what} ({keys})"),
        );
        if button
            .on_hover_text(&help)
            .on_disabled_hover_text(&help)
            .accessible_name(verb)
            .clicked()
        {
            ctx.send(command);
        }
    }
    ui.separator();
}

fn counts(snapshot: &Snapshot) -> Option<String> {
    let analysis = snapshot.analysis.as_ref()?;
    let mut parts = vec![
        count_of(analysis.forest.len(), "tree"),
        count_of(analysis.num_subtrees, "structure"),
    ];
    if let Some(detection) = &snapshot.detection {
        parts.push(format!("{} abnormal", thousands(detection.num_abnormal)));
    }
    parts.push(count_of(snapshot.labels.len(), "label"));
    Some(parts.join("  ·  "))
}

/// The last two names of a path: many runs keep their trace in a folder called the same.
fn end_of_path(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    let mut slashes = path.rmatch_indices('/').map(|(at, _)| at + 1);
    slashes.nth(1).map_or(path, |start| &path[start..])
}

/// The end of a long name says more than its beginning.
fn shortened(name: &str, max_chars: usize) -> String {
    let num_chars = name.chars().count();
    if num_chars <= max_chars {
        return name.to_owned();
    }
    let end: String = name.chars().skip(num_chars + 1 - max_chars).collect();
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_known_by_the_end_of_its_path() {
        let shown = ["/data/lammps/bp/", "lammps/bp", "run.bp", "/run.bp", ""].map(end_of_path);
        assert_eq!(shown, ["lammps/bp", "lammps/bp", "run.bp", "/run.bp", ""]);
        assert_eq!(shortened("0123456789", 10), "0123456789");
        assert_eq!(shortened("0123456789a", 10), "…23456789a");
    }
}
