//! The bar on top: pages, back and forward, what is chosen, connection, pause, appearance, help.

use callgrove_session::monitor::{Connection, Focus, MonitorCommand, Page};
use egui::{Align, Button, Layout, RichText, Ui};

use super::context::MonitorContext;
use crate::widgets::count_of;

/// What a person may wish of the window itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BarWish {
    /// Name another server.
    Connect,
    /// Show the keys.
    Help,
    /// Dark instead of light or the other way.
    SwitchAppearance,
    /// Back to the traces.
    Leave,
}

const PAGES: [(Page, &str); 5] = [
    (Page::Overview, "Overview"),
    (Page::Functions, "Functions"),
    (Page::Counters, "Counters"),
    (Page::Executions, "Executions"),
    (Page::Document, "Document"),
];

/// Draws the bar. `can_leave`: whether the window shows traces too.
pub(super) fn bar_ui(
    ctx: &mut MonitorContext<'_>,
    wishes: &mut Vec<BarWish>,
    can_leave: bool,
    ui: &mut Ui,
) {
    ui.horizontal_centered(|ui| {
        ui.label(RichText::new("Callgrove").strong().size(16.0));
        if can_leave
            && ui
                .button("Traces")
                .on_hover_text("Back to the traces")
                .clicked()
        {
            wishes.push(BarWish::Leave);
        }
        places_ui(ctx, ui);
        pages_ui(ctx, ui);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            right_side_ui(ctx, wishes, ui);
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| focus_ui(ctx, ui));
        });
    });
}

fn places_ui(ctx: &mut MonitorContext<'_>, ui: &mut Ui) {
    let steps = [
        (
            "←",
            "Back",
            "Alt+←",
            ctx.monitor.can_go_back(),
            MonitorCommand::Back,
        ),
        (
            "→",
            "Forward",
            "Alt+→",
            ctx.monitor.can_go_forward(),
            MonitorCommand::Forward,
        ),
    ];
    for (sign, name, keys, is_possible, command) in steps {
        let button = ui
            .add_enabled(is_possible, Button::new(sign))
            .on_hover_text(format!("{name} ({keys})"))
            .accessible_name(name);
        if button.clicked() {
            ctx.send(command);
        }
    }
}

fn pages_ui(ctx: &mut MonitorContext<'_>, ui: &mut Ui) {
    let now = ctx.monitor.place().page;
    for (at, (page, name)) in PAGES.iter().enumerate() {
        let is_possible = *page != Page::Document || ctx.monitor.place().document.is_some();
        let tab = ui
            .add_enabled(is_possible, Button::selectable(now == *page, *name))
            .on_hover_text(format!("Key {}", at + 1));
        if tab.clicked() {
            ctx.send(MonitorCommand::Show(*page));
        }
    }
}

/// What is chosen, and how to choose nothing.
fn focus_ui(ctx: &mut MonitorContext<'_>, ui: &mut Ui) {
    let focus = ctx.focus();
    if focus == Focus::default() {
        return;
    }
    let mut parts = Vec::new();
    parts.extend(focus.rank.map(|(app, rank)| ctx.rank_name(app, rank)));
    parts.extend(focus.func.map(|(app, fid)| ctx.func_name(app, fid)));
    parts.extend(focus.steps.map(|(first, last)| {
        if first == last {
            format!("step {first}")
        } else {
            format!("steps {first} to {last}")
        }
    }));
    ui.separator();
    if ui
        .button("×")
        .on_hover_text("Choose nothing (Esc)")
        .accessible_name("Choose nothing")
        .clicked()
    {
        ctx.send(MonitorCommand::Focus(Focus::default()));
    }
    ui.add(egui::Label::new(format!("Chosen: {}", parts.join(", "))).truncate());
}

fn right_side_ui(ctx: &mut MonitorContext<'_>, wishes: &mut Vec<BarWish>, ui: &mut Ui) {
    if ui
        .button("?")
        .on_hover_text("Keys and help (?)")
        .accessible_name("Help")
        .clicked()
    {
        wishes.push(BarWish::Help);
    }
    let appearance = if ctx.theme.is_dark() {
        "Light appearance"
    } else {
        "Dark appearance"
    };
    if ui
        .button("◐")
        .on_hover_text(appearance)
        .accessible_name(appearance)
        .clicked()
    {
        wishes.push(BarWish::SwitchAppearance);
    }
    if ui
        .button("Connect…")
        .on_hover_text("Watch another server (Ctrl+L)")
        .clicked()
    {
        wishes.push(BarWish::Connect);
    }
    pause_ui(ctx, ui);
    connection_ui(ctx, ui);
}

fn pause_ui(ctx: &mut MonitorContext<'_>, ui: &mut Ui) {
    let is_paused = ctx.monitor.is_paused();
    let name = if is_paused {
        let num_waiting = ctx.monitor.num_held_back() as usize;
        format!("Go on ({} waiting)", count_of(num_waiting, "update"))
    } else {
        "Pause".to_owned()
    };
    let button = Button::new(name).selected(is_paused);
    if ui
        .add(button)
        .on_hover_text("Hold the picture still; nothing is lost (P)")
        .clicked()
    {
        ctx.send(MonitorCommand::Pause(!is_paused));
    }
}

/// How the monitor and its server stand, with a sign beside the colour.
fn connection_ui(ctx: &MonitorContext<'_>, ui: &mut Ui) {
    let (text, color, help) = match ctx.monitor.connection() {
        Connection::Idle => ("○ Not connected", ctx.theme.weak_text(), String::new()),
        Connection::Connecting => ("◌ Connecting", ctx.theme.weak_text(), String::new()),
        Connection::Live => ("● Live", ctx.theme.label_normal(), String::new()),
        Connection::Ended => ("■ Run is over", ctx.theme.text(), String::new()),
        Connection::Lost { cause, retry_in_ms } => {
            let retry = retry_in_ms.map_or("It will not be tried again.".to_owned(), |ms| {
                format!("Tries again every {:.1} s.", ms as f64 / 1e3)
            });
            (
                "▲ Connection lost",
                ctx.theme.warning(),
                format!("{cause}\n{retry}"),
            )
        }
    };
    let help = if help.is_empty() {
        ctx.monitor.address().to_owned()
    } else {
        format!("{}\n{help}", ctx.monitor.address())
    };
    ui.label(RichText::new(text).color(color))
        .on_hover_text(help);
}
