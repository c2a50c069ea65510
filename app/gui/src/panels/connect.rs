//! The form for the address of a database or server, and the state of a connection without data.

use callgrove_actions::Action;
use callgrove_actions::context::ViewContext;
use callgrove_watch::{Connection, WatchCommand};
use egui::{Id, Key, Modal, RichText, TextEdit, Ui};

/// Width of the texts, in points.
const WIDTH: f32 = 560.0;

/// The text that the user has typed.
#[derive(Default)]
pub(crate) struct ConnectForm {
    address: String,
    token: String,
    wants_focus: bool,
}

impl ConnectForm {
    /// Opens the form over the views.
    pub(crate) fn open(&mut self, address: &str) {
        address.clone_into(&mut self.address);
        self.wants_focus = true;
    }

    fn fields_ui(&mut self, ui: &mut Ui) -> Option<WatchCommand> {
        let address = TextEdit::singleline(&mut self.address)
            .hint_text("found/, localhost:5559 or https://node17:5559")
            .desired_width(f32::INFINITY);
        let address = ui.add(address).accessible_name("Folder or address");
        if std::mem::take(&mut self.wants_focus) {
            address.request_focus();
        }
        let token = TextEdit::singleline(&mut self.token)
            .password(true)
            .hint_text("Token, if the server requires one")
            .desired_width(f32::INFINITY);
        let token = ui.add(token).accessible_name("Token");
        let entered = (address.lost_focus() || token.lost_focus())
            && ui.input(|input| input.key_pressed(Key::Enter));
        let wanted = self.address.trim();
        let button = ui.add_enabled(!wanted.is_empty(), egui::Button::new("Attach"));
        if wanted.is_empty() || !(button.clicked() || entered) {
            return None;
        }
        let token = self.token.trim();
        Some(WatchCommand::Connect {
            address: wanted.to_owned(),
            token: (!token.is_empty()).then(|| token.to_owned()),
        })
    }

    /// Draws the form over everything else. Returns whether it stays open.
    pub(crate) fn modal_ui(&mut self, ctx: &mut ViewContext<'_>, egui_ctx: &egui::Context) -> bool {
        let modal = Modal::new(Id::unique("connect")).show(egui_ctx, |ui| {
            ui.set_width(WIDTH.min(egui_ctx.content_rect().width() - 60.0));
            ui.heading("Attach records or a running job");
            ui.label("Enter the folder of a provenance database, or the address of a pipeline's server, as printed by `callgrove run` or `callgrove pserver`.");
            let command = self.fields_ui(ui);
            ui.weak("For another machine, open a tunnel first and enter localhost here:");
            ui.label(RichText::new("ssh -L 5559:localhost:5559 node17").monospace());
            (command, ui.button("Cancel").clicked())
        });
        let is_closed = modal.should_close();
        let (command, is_refused) = modal.inner;
        let is_done = command.is_some() || is_refused || is_closed;
        if let Some(command) = command {
            ctx.watch(command);
        }
        !is_done
    }
}

/// Shows the state of the connection while no data has arrived.
pub(crate) fn waiting_ui(ctx: &mut ViewContext<'_>, ui: &mut Ui) {
    let address = ctx.snapshot.watch.address().to_owned();
    match ctx.snapshot.watch.connection() {
        Connection::Idle => {
            ui.heading("No run is watched");
        }
        Connection::Connecting => {
            ui.heading(format!("Connecting to {address}"));
            ui.weak("Waiting for an answer…");
            if ui.button("Cancel").clicked() {
                ctx.watch(WatchCommand::Disconnect);
            }
            return;
        }
        Connection::Live => {
            ui.heading("Connected; no anomaly detector has reported yet");
            ui.label(format!(
                "{address} answers. The first I/O step of the job appears here as soon as a detector (callgrove ad) has scored it."
            ));
            return;
        }
        Connection::Lost { cause, retry_in_ms } => {
            ui.heading(format!("{address} does not answer"));
            ui.label(RichText::new(cause).color(ctx.theme.warning()));
            if let Some(retry_in_ms) = retry_in_ms {
                let seconds = *retry_in_ms as f64 / 1e3;
                ui.weak(format!("Retrying every {seconds:.1} s."));
            }
        }
        Connection::Ended => {
            ui.heading("The run is over");
            ui.label("No detector reported any data. Check the output of the detectors.");
        }
    }
    if ui.button("Attach another…").clicked() {
        ctx.actions.push(Action::Connect);
    }
}
