//! The application with what only a page needs: its engine, its title, and files that are dropped on it.

use callgrove_gui::CallgroveApp;
use callgrove_session::watch::WatchCommand;
use callgrove_session::{Command, Session, SessionHandle, Snapshot};
use eframe::egui;
use js_sys::Function;

use super::address::Address;
use super::connection::{Served, ServerLine};
use super::files::Files;
use super::mirror::Mirror;
use super::own::OwnLine;
use super::page;
use super::platform::BrowserPlatform;
use crate::shelf::Shelf;

pub(super) struct WebApp {
    app: CallgroveApp,
    address: Address,
    line: Line,
    session: SessionHandle,
    files: Files,
    /// What the page says of the session outside the canvas.
    told: Told,
}

/// How the page reaches its session.
enum Line {
    /// It is the page's own.
    Own(OwnLine),
    /// It lies on the server that sent the page.
    Far(ServerLine),
}

impl Line {
    /// Sends what waits to be sent.
    fn send(&self) {
        match self {
            Self::Own(line) => line.send(),
            Self::Far(line) => line.send(),
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
    /// The application over the session that is served, or over one of its own.
    pub(super) fn new(
        creation: &eframe::CreationContext<'_>,
        served: Option<Served>,
        spawn: Function,
    ) -> Self {
        let context = &creation.egui_ctx;
        let (handle, watch, line, files) = if let Some(served) = &served {
            let shelf = Shelf::default();
            let (handle, watch, line) = ServerLine::open(served, shelf.clone(), context.clone());
            (handle, watch, Line::Far(line), Files::Far(shelf))
        } else {
            let shelf = Shelf::default();
            let (handle, line) = OwnLine::open(spawn, shelf.clone(), context.clone());
            let files = Files::Own(shelf);
            files.open_told(&handle, context);
            (handle, None, Line::Own(line), files)
        };
        let platform = BrowserPlatform::new(files.clone());
        let mut session = Session::new(handle.clone(), watch);
        if let Some(address) = served.and_then(|served| served.watched) {
            let token = None;
            session.send(Command::Watch(WatchCommand::Connect { address, token }));
        }
        context.add_plugin(Mirror::new(context));
        let mut app = CallgroveApp::new(creation, session, Box::new(platform));
        let address = Address::open(&mut app, context);
        Self {
            app,
            address,
            line,
            session: handle,
            files,
            told: Told::default(),
        }
    }
}

impl eframe::App for WebApp {
    fn logic(&mut self, ctx: &egui::Context, frame: &mut eframe::Frame) {
        self.line.send();
        let now = Told::of(self.app.snapshot());
        if now != self.told {
            page::tell(now.source.as_deref(), &now.status);
            self.told = now;
        }
        self.app.logic(ctx, frame);
        self.address.update(&mut self.app, ctx);
    }

    fn ui(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        self.app.ui(ui, frame);
        // What was drawn asked for more.
        self.line.send();
    }

    fn raw_input_hook(&mut self, ctx: &egui::Context, input: &mut egui::RawInput) {
        for file in std::mem::take(&mut input.dropped_files) {
            self.files.open_dropped(&file, &self.session, ctx);
        }
    }

    fn on_exit(&mut self, gl: Option<&eframe::glow::Context>) {
        self.app.on_exit(gl);
    }
}

impl Told {
    fn of(snapshot: &Snapshot) -> Self {
        let (open, watch) = (snapshot.analysis.as_ref(), &snapshot.watch);
        let state = if let Some(work) = &snapshot.work {
            work.stage.clone()
        } else if let Some(open) = open {
            format!("{} executions of {}", open.forest.len(), open.root_name)
        } else if watch.is_attached() {
            format!("Watching {}", watch.address())
        } else {
            "Nothing is open".to_owned()
        };
        let status = match snapshot.notices.last() {
            Some(notice) => format!("{state} · {}", notice.text),
            None => state,
        };
        let source = snapshot.source.clone().filter(|_| open.is_some());
        let watched = watch.is_attached().then(|| watch.address().to_owned());
        Self {
            source: source.or(watched),
            status,
        }
    }
}
