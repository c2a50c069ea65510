//! The application in a page: its session, its title, and files that are dropped on it.

use callgrove_gui::CallgroveApp;
use callgrove_session::{Session, Snapshot};
use callgrove_watch::WatchCommand;
use eframe::egui;
use js_sys::Function;

use super::address::Address;
use super::files::Files;
use super::local_session::LocalConnection;
use super::mirror::Mirror;
use super::page;
use super::platform::BrowserPlatform;
use super::remote_session::{RemoteConnection, Served};
use crate::file_store::FileStore;

pub(super) struct WebApp {
    app: CallgroveApp,
    address: Address,
    connection: PageConnection,
    /// Title and status that the page shows.
    status: PageStatus,
}

/// The connection between page and session.
enum PageConnection {
    /// A session in a worker of the page.
    Local(LocalConnection),
    /// A session on the server that sent the page.
    Remote(RemoteConnection),
}

impl PageConnection {
    /// Sends all waiting messages.
    fn send(&self) {
        match self {
            Self::Local(connection) => connection.send(),
            Self::Remote(connection) => connection.send(),
        }
    }
}

/// Title and status of the page.
#[derive(Default, PartialEq)]
struct PageStatus {
    source: Option<String>,
    status: String,
}

impl WebApp {
    /// The application over the served session, or over one in a worker of the page.
    pub(super) fn new(
        creation: &eframe::CreationContext<'_>,
        served: Option<Served>,
        spawn: Function,
    ) -> Self {
        let context = &creation.egui_ctx;
        let (handle, watch, connection, files) = if let Some(served) = &served {
            let store = FileStore::default();
            let (handle, watch, connection) =
                RemoteConnection::open(served, store.clone(), context.clone());
            (
                handle,
                watch,
                PageConnection::Remote(connection),
                Files::Remote(store),
            )
        } else {
            let store = FileStore::default();
            let (handle, connection) = LocalConnection::open(spawn, store.clone(), context.clone());
            let files = Files::Local(store);
            files.open_listed(&handle, context);
            (handle, None, PageConnection::Local(connection), files)
        };
        if let Err(error) = files.open_dropped(&handle, context) {
            page::log(&page::error_text(&error));
        }
        let platform = BrowserPlatform::new(files);
        let mut session = Session::new(handle.clone(), watch);
        if let Some(address) = served.and_then(|served| served.watched) {
            let token = None;
            session.send(WatchCommand::Connect { address, token });
        }
        context.add_plugin(Mirror::new(context));
        let mut app = CallgroveApp::new(creation, session, Box::new(platform));
        let address = Address::open(&mut app, context);
        Self {
            app,
            address,
            connection,
            status: PageStatus::default(),
        }
    }
}

impl eframe::App for WebApp {
    fn logic(&mut self, ctx: &egui::Context, frame: &mut eframe::Frame) {
        self.connection.send();
        let now = PageStatus::of(self.app.snapshot());
        if now != self.status {
            page::show_status(now.source.as_deref(), &now.status);
            self.status = now;
        }
        self.app.logic(ctx, frame);
        self.address.update(&mut self.app, ctx);
    }

    fn ui(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        self.app.ui(ui, frame);
        // Drawing has queued further commands.
        self.connection.send();
    }

    fn raw_input_hook(&mut self, _: &egui::Context, input: &mut egui::RawInput) {
        // The page opens them itself, with the folders among them.
        input.dropped_files.clear();
    }

    fn on_exit(&mut self, gl: Option<&eframe::glow::Context>) {
        self.app.on_exit(gl);
    }
}

impl PageStatus {
    fn of(snapshot: &Snapshot) -> Self {
        let (open, watch) = (snapshot.analysis(), &snapshot.watch);
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
