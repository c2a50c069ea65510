//! The top bar: menus, source, layouts, counts, connection, undo, appearance, help.

use callgrove_actions::context::ViewContext;
use callgrove_actions::{ACTIONS, Action, KeyMap, LayoutName, Menu};
use callgrove_model::count_of;
use callgrove_model::thousands;
use callgrove_session::Snapshot;
use callgrove_watch::{Connection, Scope, WatchCommand};
use egui::{Align, Button, Label, Layout, RichText, Ui};

use super::RootChooser;

/// Width below which only the root function is shown, without the source, in points.
const MIN_WIDTH_WITH_SOURCE: f32 = 300.0;
/// Width next to the menus below which the layouts are only in their menu, in points.
const MIN_WIDTH_WITH_LAYOUTS: f32 = 340.0;
/// Width below which elided names are unreadable, in points.
const MIN_WIDTH_OF_NAMES: f32 = 60.0;

/// Draws the bar. `layout` is the current one.
pub(crate) fn top_bar_ui(
    ctx: &mut ViewContext<'_>,
    chooser: &mut RootChooser,
    keys: &KeyMap,
    layout: LayoutName,
    ui: &mut Ui,
) {
    ui.horizontal_centered(|ui| {
        menus_ui(ctx, keys, ui);
        ui.separator();
        let has_layouts = ui.available_width() > MIN_WIDTH_WITH_LAYOUTS;
        // The right part gets its width first; names on the left are elided.
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            icons_ui(ctx, keys, ui);
            if has_layouts && !super::needs_start(ctx.snapshot) {
                layouts_ui(ctx, layout, ui);
            }
            if ctx.snapshot.watch.is_attached() {
                watch_ui(ctx, ui);
            }
            if ui.available_width() < MIN_WIDTH_OF_NAMES {
                return;
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                if ui.available_width() > MIN_WIDTH_WITH_SOURCE {
                    source_ui(ctx.snapshot, ui);
                }
                if ctx.snapshot.trace().is_some() {
                    chooser.ui(ctx, ui);
                }
                scope_ui(ctx, ui);
                if let Some(text) = counts(ctx.snapshot) {
                    let text = RichText::new(text).color(ctx.theme.weak_text());
                    ui.add(Label::new(text).truncate());
                }
            });
        });
    });
}

/// Draws the menus, all from the table of actions.
fn menus_ui(ctx: &mut ViewContext<'_>, keys: &KeyMap, ui: &mut Ui) {
    for (menu, name) in Menu::ALL {
        ui.menu_button(name, |ui| {
            for entry in ACTIONS.iter().filter(|entry| entry.menu == menu) {
                let button = Button::new(entry.name).shortcut_text(keys.text(entry));
                let is_possible = entry.action.is_possible(ctx.snapshot);
                if ui.add_enabled(is_possible, button).clicked() {
                    ctx.actions.push(entry.action);
                    ui.close();
                }
            }
        });
    }
}

fn source_ui(snapshot: &Snapshot, ui: &mut Ui) {
    let watch = &snapshot.watch;
    let trace = snapshot.source.as_deref();
    let records = Some(watch.address()).filter(|_| watch.is_attached());
    let Some(first) = trace.or(records) else {
        return;
    };
    let full: Vec<&str> = trace.into_iter().chain(records).collect();
    ui.add(Label::new(shortened(end_of_path(first), 28)).selectable(false))
        .on_hover_text(full.join("\n"));
}

fn layouts_ui(ctx: &mut ViewContext<'_>, shown: LayoutName, ui: &mut Ui) {
    for name in [LayoutName::Watch, LayoutName::Analyse] {
        let button = Button::selectable(shown == name, name.name());
        let button = ui.add(button).on_hover_text("Arrangement of the views");
        if button.clicked() {
            ctx.actions.push(Action::Layout(name));
        }
    }
    ui.separator();
}

/// Draws the selected scope of the watched run, and a button that clears it.
fn scope_ui(ctx: &mut ViewContext<'_>, ui: &mut Ui) {
    let scope = ctx.scope();
    if scope == Scope::default() {
        return;
    }
    let mut parts = Vec::new();
    parts.extend(scope.rank.map(|(app, rank)| ctx.rank_name(app, rank)));
    parts.extend(scope.func.map(|(app, fid)| ctx.func_name(app, fid)));
    parts.extend(scope.steps.map(|(first, last)| {
        if first == last {
            format!("step {first}")
        } else {
            format!("steps {first} to {last}")
        }
    }));
    let clear = ui.button("×").on_hover_text("Clear the selection");
    if clear.accessible_name("Clear the scope").clicked() {
        ctx.watch(WatchCommand::QueryScope(Scope::default()));
    }
    ui.add(Label::new(format!("Selected: {}", parts.join(", "))).truncate());
}

fn watch_ui(ctx: &mut ViewContext<'_>, ui: &mut Ui) {
    let watch = &ctx.snapshot.watch;
    let is_paused = watch.is_paused();
    let is_over = *watch.connection() == Connection::Ended;
    let name = if is_paused {
        let num_waiting = watch.num_waiting() as usize;
        format!("Resume ({} waiting)", count_of(num_waiting, "update"))
    } else {
        "Pause".to_owned()
    };
    if is_paused || !is_over {
        let button = Button::new(name).selected(is_paused);
        let button = ui
            .add_enabled(Action::Pause.is_possible(ctx.snapshot), button)
            .on_hover_text("Freeze the view; no data is lost");
        if button.clicked() {
            ctx.actions.push(Action::Pause);
        }
    }
    connection_ui(ctx, ui);
    ui.separator();
}

/// Draws the connection state of the watched run, with a sign in addition to the colour.
fn connection_ui(ctx: &ViewContext<'_>, ui: &mut Ui) {
    let watch = &ctx.snapshot.watch;
    let (text, color, help) = match watch.connection() {
        Connection::Idle => ("○ Not watched", ctx.theme.weak_text(), String::new()),
        Connection::Connecting => ("◌ Connecting", ctx.theme.weak_text(), String::new()),
        Connection::Live => ("● Live", ctx.theme.label_normal(), String::new()),
        Connection::Ended => ("■ Run is over", ctx.theme.text(), String::new()),
        Connection::Lost { cause, retry_in_ms } => {
            let retry = retry_in_ms.map_or("No further retries.".to_owned(), |ms| {
                format!("Retrying every {:.1} s.", ms as f64 / 1e3)
            });
            let help = format!("\n{cause}\n{retry}");
            ("▲ Connection lost", ctx.theme.warning(), help)
        }
    };
    ui.label(RichText::new(text).color(color))
        .on_hover_text(format!("{}{help}", watch.address()));
}

fn icons_ui(ctx: &mut ViewContext<'_>, keys: &KeyMap, ui: &mut Ui) {
    let appearance = if ctx.theme.is_dark() {
        "Light appearance"
    } else {
        "Dark appearance"
    };
    let snapshot = ctx.snapshot;
    let step = |verb: &str, what: &Option<String>| match what {
        Some(what) => format!("{verb}: {what}"),
        None => format!("Nothing to {}", verb.to_lowercase()),
    };
    let icons = [
        ("?", "Help", "Keys and help".to_owned(), Action::Help),
        (
            "◐",
            appearance,
            appearance.to_owned(),
            Action::SwitchAppearance,
        ),
        (
            "↷",
            "Redo",
            step("Redo", &snapshot.edits.redo),
            Action::Redo,
        ),
        (
            "↶",
            "Undo",
            step("Undo", &snapshot.edits.undo),
            Action::Undo,
        ),
        ("→", "Forward", "Forward".to_owned(), Action::Forward),
        (
            "←",
            "Back",
            "Back to the previous location".to_owned(),
            Action::Back,
        ),
    ];
    for (sign, name, help, action) in icons {
        let is_of_watch = matches!(action, Action::Back | Action::Forward);
        if is_of_watch && !snapshot.watch.is_attached() {
            continue;
        }
        let help = match keys.short_text(action) {
            key if key.is_empty() => help,
            key => format!("{help} ({key})"),
        };
        let button = ui
            .add_enabled(action.is_possible(snapshot), Button::new(sign))
            .on_hover_text(&help)
            .on_disabled_hover_text(&help)
            .accessible_name(name);
        if button.clicked() {
            ctx.actions.push(action);
        }
    }
    ui.separator();
}

fn counts(snapshot: &Snapshot) -> Option<String> {
    let analysis = snapshot.analysis()?;
    let mut parts = vec![
        count_of(analysis.forest.len(), "tree"),
        count_of(analysis.num_subtrees, "structure"),
    ];
    if let Some(detection) = snapshot.detection() {
        parts.push(format!("{} abnormal", thousands(detection.num_abnormal)));
    }
    parts.push(count_of(snapshot.edits.labels.len(), "label"));
    Some(parts.join("  ·  "))
}

/// Returns the last two names of a path: many runs store their trace in a folder with the same name.
fn end_of_path(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    let mut slashes = path.rmatch_indices('/').map(|(at, _)| at + 1);
    slashes.nth(1).map_or(path, |start| &path[start..])
}

/// Returns the end of a long name, which is more specific than its beginning.
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
    fn a_source_is_named_by_the_end_of_its_path() {
        let shown = ["/data/lammps/bp/", "lammps/bp", "run.bp", "/run.bp", ""].map(end_of_path);
        assert_eq!(shown, ["lammps/bp", "lammps/bp", "run.bp", "/run.bp", ""]);
        assert_eq!(shortened("0123456789", 10), "0123456789");
        assert_eq!(shortened("0123456789a", 10), "…23456789a");
    }
}
