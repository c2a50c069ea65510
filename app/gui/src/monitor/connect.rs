//! Where a server is named, and what is said while there is nothing to show.

use callgrove_session::monitor::{Connection, MonitorCommand};
use egui::{Id, Key, Modal, RichText, ScrollArea, TextEdit, Ui};

use super::context::MonitorContext;

/// Width of the texts, in points.
const WIDTH: f32 = 560.0;

/// What is typed.
#[derive(Default)]
pub(super) struct ConnectForm {
    address: String,
    token: String,
    /// Whether it lies over the views, asked for by the person.
    pub(super) is_open: bool,
    wants_focus: bool,
}

impl ConnectForm {
    /// A form that knows the token that the program was started with.
    pub(super) fn new(token: Option<String>) -> Self {
        Self {
            token: token.unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Lays the form over the views.
    pub(super) fn open(&mut self, address: &str) {
        address.clone_into(&mut self.address);
        self.is_open = true;
        self.wants_focus = true;
    }

    fn fields_ui(&mut self, ui: &mut Ui) -> Option<MonitorCommand> {
        let address = TextEdit::singleline(&mut self.address)
            .hint_text("localhost:5559 or https://node17:5559")
            .desired_width(f32::INFINITY);
        let address = ui.add(address).accessible_name("Address of the server");
        if std::mem::take(&mut self.wants_focus) {
            address.request_focus();
        }
        let token = TextEdit::singleline(&mut self.token)
            .password(true)
            .hint_text("Token, if the server asks for one")
            .desired_width(f32::INFINITY);
        let token = ui.add(token).accessible_name("Token");
        let entered = (address.lost_focus() || token.lost_focus())
            && ui.input(|input| input.key_pressed(Key::Enter));
        let wanted = self.address.trim();
        let button = ui.add_enabled(!wanted.is_empty(), egui::Button::new("Connect"));
        if wanted.is_empty() || !(button.clicked() || entered) {
            return None;
        }
        self.is_open = false;
        let token = self.token.trim();
        Some(MonitorCommand::Connect {
            address: wanted.to_owned(),
            token: (!token.is_empty()).then(|| token.to_owned()),
        })
    }

    /// Draws the form over everything else, if it is open.
    pub(super) fn modal_ui(&mut self, ctx: &mut MonitorContext<'_>, egui_ctx: &egui::Context) {
        if !self.is_open {
            return;
        }
        let modal = Modal::new(Id::unique("connect")).show(egui_ctx, |ui| {
            ui.set_width(WIDTH);
            ui.heading("Connect");
            let command = self.fields_ui(ui);
            (command, ui.button("Not now").clicked())
        });
        if modal.inner.1 || modal.should_close() {
            self.is_open = false;
        }
        if let Some(command) = modal.inner.0 {
            ctx.send(command);
        }
    }
}

/// Whether there is nothing yet for the pages to show.
pub(super) fn needs_start(ctx: &MonitorContext<'_>) -> bool {
    let overview = ctx.monitor.overview();
    overview.ranks.is_empty() && overview.funcs.is_empty() && overview.counters.is_empty()
}

/// Fills the window while there is nothing to show: the form, what is waited for, or what went wrong.
pub(super) fn start_ui(ctx: &mut MonitorContext<'_>, form: &mut ConnectForm, ui: &mut Ui) {
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.add_space((ui.available_height() * 0.22).min(200.0));
        let margin = ((ui.available_width() - WIDTH) / 2.0).max(0.0);
        ui.horizontal(|ui| {
            ui.add_space(margin);
            ui.vertical(|ui| {
                ui.set_width(WIDTH.min(ui.available_width()));
                ui.spacing_mut().item_spacing.y = 10.0;
                state_ui(ctx, form, ui);
            });
        });
    });
}

fn state_ui(ctx: &mut MonitorContext<'_>, form: &mut ConnectForm, ui: &mut Ui) {
    let address = ctx.monitor.address().to_owned();
    match ctx.monitor.connection() {
        Connection::Idle => {
            ui.heading("Watch a running job");
            ui.label("Name the server of the pipeline: the address that `callgrove run` or `callgrove pserver` printed.");
            if let Some(command) = form.fields_ui(ui) {
                ctx.send(command);
            }
            ui.weak("On another machine, make a tunnel first, and name localhost here:");
            ui.label(RichText::new("ssh -L 5559:localhost:5559 node17").monospace());
        }
        Connection::Connecting => {
            ui.heading(format!("Connecting to {address}"));
            ui.weak("Waiting for its answer…");
            if ui.button("Cancel").clicked() {
                ctx.send(MonitorCommand::Disconnect);
            }
        }
        Connection::Live => {
            ui.heading("Connected; no anomaly detector has reported yet");
            ui.label(format!(
                "{address} answers. The first I/O step of the job appears here as soon as a detector (callgrove ad) has judged it."
            ));
        }
        Connection::Lost { cause, retry_in_ms } => {
            ui.heading(format!("{address} does not answer"));
            ui.label(RichText::new(cause).color(ctx.theme.warning()));
            if let Some(retry_in_ms) = retry_in_ms {
                ui.weak(format!(
                    "Tries again every {:.1} s.",
                    *retry_in_ms as f64 / 1e3
                ));
            }
            if let Some(command) = form.fields_ui(ui) {
                ctx.send(command);
            }
        }
        Connection::Ended => {
            ui.heading("The run is over");
            ui.label("No detector reported anything. Look at the detectors' own messages.");
        }
    }
}
