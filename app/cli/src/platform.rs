//! The desktop's own file dialogs.

use std::sync::Arc;

use callgrove_gui::{FilePurpose, Platform};
use callgrove_session::monitor::MonitorHandle;
use eframe::egui;

use crate::follow;
use crate::output::complain;

/// Dialogs of the desktop portal, where there is one.
pub(crate) struct NativePlatform;

impl Platform for NativePlatform {
    fn pick(
        &self,
        purpose: FilePurpose,
        suggested: &str,
        reply: Box<dyn FnOnce(Option<String>) + Send>,
    ) -> bool {
        if cfg!(target_os = "linux") && std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_none() {
            return false;
        }
        let mut dialog = rfd::FileDialog::new()
            .set_title(purpose.title())
            .set_file_name(suggested);
        if let Some(extension) = purpose.extension() {
            dialog = dialog.add_filter(purpose.title(), &[extension]);
        }
        // The dialog waits for the person; the window must not.
        let ask = move || {
            let path = match (purpose.is_folder(), purpose.is_save()) {
                (true, _) => dialog.pick_folder(),
                (false, true) => dialog.save_file(),
                (false, false) => dialog.pick_file(),
            };
            reply(path.map(|path| path.to_string_lossy().into_owned()));
        };
        std::thread::Builder::new()
            .name("file dialog".to_owned())
            .spawn(ask)
            .is_ok()
    }

    fn can_monitor(&self) -> bool {
        true
    }

    fn monitor(&self, ctx: &egui::Context) -> Option<MonitorHandle> {
        let ctx = ctx.clone();
        follow::start(None, Arc::new(move || ctx.request_repaint()))
            .inspect_err(|error| complain(&format!("{error:#}")))
            .ok()
    }
}
