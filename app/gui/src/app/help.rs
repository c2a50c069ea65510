//! The help overlay: all keys, which can be changed here, and a glossary of terms and values.

use callgrove_actions::context::ViewContext;
use callgrove_actions::{ACTIONS, Entry, KeyMap, Menu, View, any_pressed};
use egui::{Context, Grid, Id, Modal, RichText, ScrollArea, Ui};

/// State of the help overlay while it is open.
#[derive(Default)]
pub(super) struct Help {
    /// The action whose new key is awaited.
    waiting: Option<&'static str>,
}

/// The introduction, one paragraph an entry.
const STEPS: [&str; 5] = [
    "An incident is a delay that began on one rank and reached others. The Incidents view lists when and on which rank each began, what it cost, and which ranks waited. The timeline shows how the delay spread.",
    "A trend is a rank or host that is slower than its peers throughout the run, a function whose exclusive time grows, or a permanent change. Trends are listed above the incidents. Click one to see its ranks and calls on the timeline.",
    "Each point on the map is one execution of the root function; nearby points have similar call trees.",
    "Candidates are executions sorted by score, the most unusual first. Diamonds on the map are called abnormal; about 1 in 10 of them may be so by chance, unless you change the false-alarm rate.",
    "Inspect the tree and the timeline, then label the execution Normal or Abnormal. The model is retrained and the candidates are ranked again at once.",
];

/// Names and meanings of the values of records.
const VALUES: [(&str, &str); 4] = [
    (
        "Score",
        "How unlikely the execution is under the detector's model of its function. Larger means less likely. No unit.",
    ),
    (
        "Severity",
        "How important the anomaly is: the runtime that the detector scored. Stored in microseconds, shown with a unit.",
    ),
    (
        "Exclusive, inclusive",
        "Runtime without and with the called functions.",
    ),
    (
        "I/O step",
        "The data that one rank wrote in one step. Steps of two ranks cover different time ranges.",
    ),
];

/// Draws the overlay over everything else. Returns whether it stays open.
pub(super) fn help_ui(
    ctx: &ViewContext<'_>,
    help: &mut Help,
    keys: &mut KeyMap,
    egui_ctx: &Context,
) -> bool {
    let is_waiting = help.waiting.is_some();
    take_new_key(help, keys, egui_ctx);
    let modal = Modal::new(Id::unique("help")).show(egui_ctx, |ui| {
        let available = egui_ctx.content_rect().size();
        ui.set_width((available.x - 80.0).min(860.0));
        ScrollArea::vertical()
            .max_height(available.y - 140.0)
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

/// Takes the pressed key as the new key; Escape keeps the old one.
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
        ui.weak("Click a key to change it");
        if keys.is_changed() && ui.button("Reset all keys").clicked() {
            *keys = KeyMap::default();
        }
    });
    let menus = Menu::ALL.into_iter().chain([(Menu::None, "Anywhere")]);
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
        ui.weak(format!("{} (when focused)", view.name()));
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
        .accessible_name(format!("Key for {}", entry.name));
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
