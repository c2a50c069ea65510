//! Pages that view a session, for tests: a session of made-up trees, its server, and a client that does what a page does.

use std::fmt::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use callgrove_forest::{ForestFileLimits, read_forest};
use callgrove_model::{Progress, RunIdentity, TimeNs, Trace};
use callgrove_server::view::{self, ViewedSession, WatchedRun};
use callgrove_server::{RunningServer, ServerConfig};
use callgrove_session::{
    Command, Engine, Host, HostError, JournalWriter, LearnSettings, OpenJournal, SessionHandle,
    Snapshot, SnapshotCell,
};
use callgrove_wire::{SessionLink, ViewerHost, Viewers};
use tokio::sync::watch;
use tungstenite::client::IntoClientRequest as _;
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket, connect};

/// Timeout of all waits.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// Number of trees of the session.
pub const NUM_TREES: u32 = 60;

/// A host with a run of made-up trees, one of which is slow.
pub struct Trees;

impl JournalWriter for Trees {
    fn append(&mut self, _: &str) -> Result<(), HostError> {
        Ok(())
    }
}

impl Host for Trees {
    fn load_trace(&mut self, _: &str, progress: Progress<'_>) -> Result<Trace, HostError> {
        let mut text =
            String::from("{\"format\":\"callgrove-forest\",\"version\":1,\"unit\":\"us\"}\n");
        for number in 0..NUM_TREES {
            let slow = if number == 31 { 900 } else { 40 + number % 3 };
            writeln!(
                text,
                "{{\"entry\":{number},\"parent\":[-1,0,1],\"names\":[\"step\",\"solve\",\"send\"],\"w\":[{},{slow},5]}}",
                slow + 10
            )
            .unwrap();
        }
        let limits = ForestFileLimits::default();
        let read = read_forest(text.as_bytes(), text.len() as u64, limits, progress);
        Ok(Trace::clone(read.unwrap().forest.trace()))
    }

    fn open_journal(&mut self, _: &str, _: &RunIdentity) -> Result<OpenJournal, HostError> {
        Ok(OpenJournal {
            lines: Vec::new(),
            place: "a test".to_owned(),
            writer: Box::new(Self),
        })
    }

    fn now(&self) -> TimeNs {
        TimeNs(1)
    }

    fn user(&self) -> Option<String> {
        None
    }

    fn read_file(&mut self, path: &str) -> Result<Vec<u8>, HostError> {
        panic!("{path} is on this machine")
    }

    fn write_file(&mut self, path: &str, _: &[u8]) -> Result<(), HostError> {
        panic!("{path} is on this machine")
    }
}

/// Starts a server of a session.
pub fn serve(config: ServerConfig) -> RunningServer {
    serve_with(config, None)
}

/// Starts a server of a session that watches a run.
pub fn serve_with(config: ServerConfig, watched: Option<WatchedRun>) -> RunningServer {
    let viewed = session(watched);
    RunningServer::start(config, || view::router(viewed)).unwrap()
}

/// Starts a session.
pub fn session(watched: Option<WatchedRun>) -> ViewedSession {
    let viewers = Viewers::default();
    let host = ViewerHost::new(Trees, viewers.clone(), "run".to_owned());
    let (sender, commands) = sync_channel(64);
    let cell = SnapshotCell::default();
    let (news_sender, news) = watch::channel(());
    let session = SessionHandle::new(sender, cell.clone());
    let wake = Arc::new(move || {
        news_sender.send_replace(());
    });
    let thread = std::thread::Builder::new().name("session".to_owned());
    let run = move || {
        let settings = LearnSettings::with_seed(1);
        Engine::new(Box::new(host), settings, cell, wake).run(&commands);
    };
    thread.spawn(run).unwrap();
    let open = Command::OpenTrace {
        source: "run".to_owned(),
        function: Some("step".to_owned()),
    };
    session.send(open).unwrap();
    ViewedSession {
        session,
        news,
        viewers,
        epoch: 1,
        watched,
    }
}

pub type Socket = WebSocket<MaybeTlsStream<TcpStream>>;

/// Opens a WebSocket of the session, with these headers.
pub fn dial(
    server: &RunningServer,
    headers: &[(&'static str, &str)],
) -> tungstenite::Result<Socket> {
    let address = format!("ws://{}/view", server.local_addr());
    let mut request = address.into_client_request()?;
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    let (socket, _) = connect(request)?;
    let MaybeTlsStream::Plain(stream) = socket.get_ref() else {
        panic!("unexpected TLS");
    };
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    Ok(socket)
}

/// A page.
pub struct Page {
    pub socket: Socket,
    pub handle: SessionHandle,
    pub link: SessionLink,
}

impl Page {
    pub fn open(server: &RunningServer, key: u64) -> Self {
        Self::named(server, key, None)
    }

    pub fn named(server: &RunningServer, key: u64, name: Option<&str>) -> Self {
        Self::connect(dial(server, &[]).unwrap(), key, name)
    }

    /// Opens a page with a token.
    pub fn with_token(server: &RunningServer, key: u64, secret: &str) -> Self {
        let bearer = format!("Bearer {secret}");
        let socket = dial(server, &[("authorization", &bearer)]);
        Self::connect(socket.unwrap(), key, None)
    }

    fn connect(mut socket: Socket, key: u64, name: Option<&str>) -> Self {
        let (handle, mut link) = SessionLink::new(key, name.map(str::to_owned));
        socket
            .send(Message::Binary(link.connected().unwrap().into()))
            .unwrap();
        Self {
            socket,
            handle,
            link,
        }
    }

    /// Sends all waiting messages, and receives until a snapshot fulfils the condition.
    pub fn until(&mut self, is_there: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        let start = Instant::now();
        loop {
            while let Some(message) = self.link.next_message(|_| None).unwrap() {
                self.socket.send(Message::Binary(message.into())).unwrap();
            }
            let seen = self.handle.snapshot();
            if is_there(&seen) {
                return seen;
            }
            assert!(start.elapsed() < TIMEOUT, "{:?}", seen.notices);
            if let Message::Binary(frame) = self.socket.read().unwrap() {
                self.link.take(&frame).unwrap();
            }
        }
    }
}

/// Returns the reason with which the server closes the connection.
pub fn reason(socket: &mut Socket) -> String {
    loop {
        match socket.read() {
            Ok(Message::Close(frame)) => {
                return frame.map_or_else(String::new, |it| it.reason.to_string());
            }
            Ok(_) => {}
            Err(error) => return error.to_string(),
        }
    }
}
