//! The application with what only a page needs: its engine, its title, and files that are dropped on it.

use std::sync::Arc;

use callgrove_gui::CallgroveApp;
use callgrove_session::{Session, SessionHandle, Snapshot, Wake};
use eframe::egui;

use super::browser::LocalBrowser;
use super::connection::ServerLine;
use super::mirror::Mirror;
use super::platform::BrowserPlatform;
use super::{files, page};
use crate::carrier::Carrier;
use crate::host::BrowserHost;
use crate::shelf::Shelf;

pub(super) struct WebApp {
    app: CallgroveApp,
    line: Line,
    session: SessionHandle,
    shelf: Shelf,
    /// What the page says of the session outside the canvas.
    told: Told,
}

/// How the page reaches its session.
enum Line {
    /// It is the page's own.
    Own(Box<Carrier>),
    /// It lies on the server that sent the page.
    Far(ServerLine),
}

impl Line {
    /// Carries on what there is to carry; whether it shall be asked again soon.
    fn work(&mut self) -> bool {
        match self {
            Self::Own(carrier) => carrier.work(),
            Self::Far(connection) => {
                connection.send();
                false
            }
        }
    }
}

/// Title and status as they stand in the page.
#[derive(Default, PartialEq)]
struct Told {
    source: Option<String>,
    status: String,
}

impl WebApp {
    /// The application over the session at `address`, or over one of its own.
    pub(super) fn new(creation: &eframe::CreationContext<'_>, address: Option<String>) -> Self {
        let context = &creation.egui_ctx;
        let shelf = Shelf::default();
        let (handle, line) = if let Some(address) = address {
            let (handle, connection) = ServerLine::open(address, shelf.clone(), context.clone());
            (handle, Line::Far(connection))
        } else {
            let waker = context.clone();
            let wake: Wake = Arc::new(move || waker.request_repaint());
            let host = BrowserHost::new(LocalBrowser, shelf.clone());
            let (handle, carrier) = Carrier::start(Box::new(host), wake);
            (handle, Line::Own(Box::new(carrier)))
        };
        let platform = BrowserPlatform::new(shelf.clone());
        let session = Session::new(handle.clone(), None);
        context.add_plugin(Mirror::new(context));
        Self {
            app: CallgroveApp::new(creation, session, Box::new(platform)),
            line,
            session: handle,
            shelf,
            told: Told::default(),
        }
    }
}

impl eframe::App for WebApp {
    fn logic(&mut self, ctx: &egui::Context, frame: &mut eframe::Frame) {
        if self.line.work() {
            ctx.request_repaint();
        }
        let now = Told::of(&self.session.snapshot());
        if now != self.told {
            page::tell(now.source.as_deref(), &now.status);
            self.told = now;
        }
        self.app.logic(ctx, frame);
    }

    fn ui(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        self.app.ui(ui, frame);
    }

    fn raw_input_hook(&mut self, ctx: &egui::Context, input: &mut egui::RawInput) {
        for file in std::mem::take(&mut input.dropped_files) {
            files::open_dropped(file, &self.shelf, &self.session, ctx);
        }
    }

    fn on_exit(&mut self, gl: Option<&eframe::glow::Context>) {
        self.app.on_exit(gl);
    }
}

impl Told {
    fn of(snapshot: &Snapshot) -> Self {
        let open = snapshot.analysis.as_ref();
        let status = if let Some(notice) = snapshot.notices.last() {
            notice.text.clone()
        } else if let Some(work) = &snapshot.work {
            work.stage.clone()
        } else if let Some(open) = open {
            format!("{} executions of {}", open.forest.len(), open.root_name)
        } else {
            "Nothing is open".to_owned()
        };
        Self {
            source: snapshot.source.clone().filter(|_| open.is_some()),
            status,
        }
    }
}
