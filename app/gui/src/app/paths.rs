//! Files that the user names: asks for the path, and does what it is for.

use std::sync::Arc;

use callgrove_actions::{FilePurpose, PictureView};
use callgrove_session::{Command, Severity, UserCommand};
use callgrove_views::picture::{PictureSubject, ViewPicture, draw_shown};
use egui::Context;

use super::CallgroveApp;
use super::overlay::Overlay;
use crate::panels::PathDialog;

/// Size of exported pictures, in points.
const PICTURE_SIZE: [f32; 2] = [1_200.0, 720.0];
/// Pixels per point of exported pictures.
const PICTURE_SCALE: f32 = 2.0;

impl CallgroveApp {
    /// Asks for the file of a picture of the focused view.
    pub(super) fn ask_for_picture(&mut self, ctx: &Context) {
        let has_incident = self.session.snapshot().inspected.incident.is_some();
        let view = PictureView::of_view(self.focus, has_incident);
        self.ask_for_path(ctx, FilePurpose::ExportView(view));
    }

    /// Asks for a path: in a native dialog, or in one of the window.
    pub(super) fn ask_for_path(&mut self, ctx: &Context, purpose: FilePurpose) {
        let (answers, waker) = (self.answers.0.clone(), ctx.clone());
        let reply = move |path: Option<String>| {
            let is_taken = path.is_some_and(|path| answers.try_send((purpose, path)).is_ok());
            if is_taken {
                waker.request_repaint();
            }
        };
        if !self
            .platform
            .pick(purpose, purpose.suggested_name(), Box::new(reply))
        {
            self.overlay = Some(Overlay::Path(PathDialog::new(purpose)));
        }
    }

    /// Returns the command for a path that the user chose. The window writes pictures itself.
    pub(super) fn take_path(&mut self, purpose: FilePurpose, path: String) -> Option<UserCommand> {
        match purpose {
            FilePurpose::OpenTrace => Some(self.platform.open(&path)),
            FilePurpose::SaveSession => {
                let view = serde_json::to_value(&self.layout).unwrap_or_default();
                Some(Command::SaveSession { path, view }.into())
            }
            FilePurpose::ExportView(view) => {
                self.export_view(view, &path);
                None
            }
            FilePurpose::ExportTable(table) => {
                self.export_table(table, path);
                None
            }
            FilePurpose::ExportReport(scope) => {
                self.export_report(scope, path);
                None
            }
            purpose => purpose.command(path).map(UserCommand::from),
        }
    }

    /// Draws a view as it is shown, and writes it to a file; the file name decides between SVG and PNG.
    fn export_view(&mut self, view: PictureView, path: &str) {
        let (severity, text) = match self.written_picture(view, path) {
            Ok(()) => (
                Severity::Info,
                format!("Exported the {} to {path}.", view.name()),
            ),
            Err(text) => (
                Severity::Error,
                format!("Could not export the {}: {text}.", view.name()),
            ),
        };
        self.session.add_notice(severity, text);
    }

    fn written_picture(&mut self, view: PictureView, path: &str) -> Result<(), String> {
        let snapshot = Arc::clone(self.session.snapshot());
        let wanted = ViewPicture {
            subject: PictureSubject::Run,
            scale: PICTURE_SCALE,
            is_dark: self.theme.is_dark(),
            ..ViewPicture::new(view, PICTURE_SIZE)
        };
        let states = &mut self.states.views;
        let picture = draw_shown(&snapshot, &wanted, states).map_err(|error| error.to_string())?;
        let content = picture.file(path).map_err(|error| error.to_string())?;
        self.platform.save(path, &content)
    }
}
