//! The live view in a window of its own.

use callgrove_session::monitor::{MonitorCommand, MonitorHandle};

use super::MonitorView;
use crate::theme::Theme;

/// The window of `callgrove monitor`.
pub struct MonitorApp {
    pub(super) view: MonitorView,
}

impl MonitorApp {
    /// A window on what the carrier behind `handle` fetches. The carrier wakes the window with
    /// [`egui::Context::request_repaint`] after each update.
    ///
    /// With an address it connects at once; without one it asks for it.
    pub fn new(
        creation: &eframe::CreationContext<'_>,
        handle: MonitorHandle,
        address: Option<String>,
        token: Option<String>,
    ) -> Self {
        Theme::install(&creation.egui_ctx);
        let mut view = MonitorView::new(handle, token.clone());
        if let Some(address) = address {
            view.carry_out(MonitorCommand::Connect { address, token });
        }
        Self { view }
    }
}

impl eframe::App for MonitorApp {
    fn logic(&mut self, ctx: &egui::Context, _: &mut eframe::Frame) {
        self.view.update(ctx);
    }

    fn ui(&mut self, ui: &mut egui::Ui, _: &mut eframe::Frame) {
        self.view.ui(ui);
    }
}
