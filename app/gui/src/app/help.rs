//! All keys on one page, where they can be changed too, and what the words and numbers mean.

use egui::{Context, Grid, Id, Modal, RichText, ScrollArea, Ui};

use super::actions::{ACTIONS, Entry, Menu};
use super::keymap::{KeyMap, any_pressed};
use super::view::View;
use crate::context::ViewContext;

/// The page while it is open.
#[derive(Default)]
pub(super) struct Help {
    /// The action that waits for its new key.
    waiting: Option<&'static str>,
}

const STEPS: [&str; 5] = [
    "An incident is a delay that began on one rank and reached others. The first list has them: when, on which rank, what it cost, who waited. The timeline draws the way that it took.",
    "A trend is a rank or host that is slower than its peers throughout, a function whose own time grows, or a change for good. It stands above the incidents; a click shows its ranks and its calls on the timeline.",
    "Each point on the map is one execution of the root function; near points have like call stacks.",
    "The candidates are executions from the least usual on. A negative score means abnormal: a diamond on the map.",
    "Look at structure and timeline, then say Normal or Abnormal. The model learns at once and ranks anew.",
];

/// Names and meanings of the values of records.
const VALUES: [(&str, &str); 4] = [
    (
        "Score",
        "How unlikely the execution is by the detector's model of its function; larger is less likely. No unit.",
    ),
    (
        "Severity",
        "How important it is: the runtime that was judged. Microseconds in the records, shown with its unit.",
    ),
    (
        "Exclusive, inclusive",
        "Runtime without and with the functions that it called.",
    ),
    (
        "I/O step",
        "What one rank wrote at once. Steps of two ranks cover different times.",
    ),
];

/// Draws the page over everything else; whether it shall stay open.
pub(super) fn help_ui(
    ctx: &ViewContext<'_>,
    help: &mut Help,
    keys: &mut KeyMap,
    egui_ctx: &Context,
) -> bool {
    let is_waiting = help.waiting.is_some();
    take_new_key(help, keys, egui_ctx);
    let modal = Modal::new(Id::unique("help")).show(egui_ctx, |ui| {
        let room = egui_ctx.content_rect().size();
        ui.set_width((room.x - 80.0).min(860.0));
        ScrollArea::vertical()
            .max_height(room.y - 140.0)
            .auto_shrink([false, true])
            .show(ui, |ui| {
                ui.heading("How it works");
                for (at, step) in STEPS.iter().enumerate() {
                    ui.horizontal_wrapped(|ui| {
                        let number = RichText::new(format!("{}", at + 1)).monospace();
                        ui.label(number.color(ctx.theme.weak_text()));
                        ui.label(*step);
                    });
                }
                ui.separator();
                keys_ui(help, keys, ui);
                ui.separator();
                ui.label(RichText::new("Values of records").strong());
                pairs_ui("values", &VALUES, ui);
            });
        ui.vertical_centered(|ui| ui.button("Close").clicked())
            .inner
    });
    !modal.inner && (is_waiting || !modal.should_close())
}

/// Escape keeps the old key.
fn take_new_key(help: &mut Help, keys: &mut KeyMap, ctx: &Context) {
    let Some(entry) = (ACTIONS.iter()).find(|entry| Some(entry.id) == help.waiting) else {
        return;
    };
    if let Some(shortcut) = any_pressed(ctx) {
        if shortcut.logical_key != egui::Key::Escape {
            keys.choose(entry, shortcut);
        }
        help.waiting = None;
    }
}

fn keys_ui(help: &mut Help, keys: &mut KeyMap, ui: &mut Ui) {
    ui.horizontal(|ui| {
        ui.label(RichText::new("Keys").strong());
        ui.weak("Click a key to change it.");
        if keys.is_changed() && ui.button("All keys as they were").clicked() {
            *keys = KeyMap::default();
        }
    });
    let menus = Menu::ALL.into_iter().chain([(Menu::None, "Always")]);
    for (menu, name) in menus {
        ui.add_space(4.0);
        ui.weak(name);
        Grid::new(("keys", name))
            .num_columns(4)
            .spacing([12.0, 4.0])
            .show(ui, |ui| {
                let entries = ACTIONS.iter().filter(|entry| entry.menu == menu);
                for (at, entry) in entries.enumerate() {
                    key_ui(help, keys, entry, ui);
                    ui.label(entry.name);
                    if at % 2 == 1 {
                        ui.end_row();
                    }
                }
            });
    }
    for view in View::ALL.into_iter().filter(|view| !view.keys().is_empty()) {
        ui.add_space(4.0);
        ui.weak(format!("{}, while it has the focus", view.name()));
        pairs_ui(view.name(), view.keys(), ui);
    }
}

fn key_ui(help: &mut Help, keys: &KeyMap, entry: &Entry, ui: &mut Ui) {
    let is_waiting = help.waiting == Some(entry.id);
    let text = match keys.text(entry) {
        _ if is_waiting => "Press a key…".to_owned(),
        text if text.is_empty() => "–".to_owned(),
        text => text,
    };
    let button = egui::Button::selectable(is_waiting, RichText::new(text).monospace());
    let button = ui
        .add(button)
        .accessible_name(format!("Key of: {}", entry.name));
    if button.clicked() {
        help.waiting = Some(entry.id);
        button.surrender_focus();
    }
}

fn pairs_ui(id: &str, pairs: &[(&str, &str)], ui: &mut Ui) {
    Grid::new(id)
        .num_columns(2)
        .spacing([12.0, 4.0])
        .show(ui, |ui| {
            for (name, meaning) in pairs {
                ui.label(RichText::new(*name).monospace());
                ui.label(*meaning);
                ui.end_row();
            }
        });
}
