//! A session for pages. Each WebSocket is a viewer with its own selection and files; labels are shared.
//!
//! The session runs wherever its transport puts it; its commands and snapshots are encoded as in
//! [`callgrove_wire`]. A slow viewer gets fewer snapshots, not late ones. A forbidden request is refused with
//! a message, and the connection stays open.

mod closed;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Extension, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::get;
use axum::{Router, body::Bytes};
use callgrove_query::CallQuestion;
use callgrove_session::{Command, Presence, SendError, SessionHandle, ViewerId, Wake};
use callgrove_watch::{ConnectionId, QueryRequest, WatchHandle, WatchRequest, WatchUpdate};
use callgrove_wire::{
    MAX_FILE_BYTES, SnapshotSender, ViewerMessage, Viewers, WIRE_VERSION, refusal_frame,
    watch_frame, welcome_frame,
};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::info;

use closed::Closed;

use crate::access::{Access, ViewerRights};
use crate::connection::Stopping;
use crate::questions::Questions;

/// The path of the WebSocket.
const VIEW_PATH: &str = "/view";
/// The header that announces the path to a page.
pub(crate) const VIEW_HEADER: HeaderName = HeaderName::from_static("callgrove-view");
/// The header that announces the run that a page can watch.
pub(crate) const WATCH_HEADER: HeaderName = HeaderName::from_static("callgrove-watch");
/// Maximum number of viewers; each has a connection and the newest snapshot.
const MAX_VIEWERS: usize = 64;
/// Maximum size of a viewer's message: a file with its name, and a group of a million trees fit.
const MAX_MESSAGE_BYTES: usize = MAX_FILE_BYTES as usize + (4 << 20);
/// Minimum interval of snapshots; a person does not see shorter ones.
const MIN_SNAPSHOT_INTERVAL: Duration = Duration::from_millis(33);
/// Pause before a command is sent again to a session whose queue is full.
const BUSY_PAUSE: Duration = Duration::from_millis(20);
/// Timeout for a viewer's hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for a viewer whose connection broke to reconnect before it is removed.
const RECONNECT_TIMEOUT: Duration = Duration::from_mins(2);

/// A session that pages view.
#[derive(Clone)]
pub struct ViewedSession {
    /// The handle for commands and snapshots.
    pub session: SessionHandle,
    /// Notified with every snapshot.
    pub news: watch::Receiver<()>,
    /// The viewers of the session, which the session's host shares.
    pub viewers: Viewers,
    /// Epoch of the session: a different number after each restart of the session.
    pub epoch: u64,
    /// The run that pages can watch.
    pub watched: Option<WatchedRun>,
}

/// A run that pages watch, each over a connection of its own.
#[derive(Clone)]
pub struct WatchedRun {
    /// Address of the run; a page may watch no other.
    pub address: String,
    /// Opens a connection to the run for one page. The callback is called after each update. The error is a message.
    pub dial: Dial,
}

/// See [`WatchedRun::dial`].
pub type Dial = Arc<dyn Fn(Wake) -> Result<WatchHandle, String> + Send + Sync>;

/// Adds headers to the page's answer that announce the session and the run to watch.
pub fn announce(page: Router, session: &ViewedSession) -> Router {
    let watched = session.watched.as_ref();
    let watched = watched.and_then(|run| HeaderValue::from_str(&run.address).ok());
    page.layer(map_response(move |mut response: Response| {
        let headers = response.headers_mut();
        headers.insert(VIEW_HEADER, HeaderValue::from_static(VIEW_PATH));
        if let Some(address) = &watched {
            headers.insert(WATCH_HEADER, address.clone());
        }
        async { response }
    }))
}

/// The route of the WebSocket.
pub fn router(session: ViewedSession) -> Router {
    Router::new()
        .route(VIEW_PATH, get(enter))
        .with_state(session)
}

async fn enter(
    State(viewed): State<ViewedSession>,
    Extension(Stopping(stopping)): Extension<Stopping>,
    Extension(access): Extension<Access>,
    upgrade: WebSocketUpgrade,
) -> Response {
    upgrade
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .on_upgrade(move |socket| serve(viewed, stopping, access, socket))
}

async fn serve(
    viewed: ViewedSession,
    stopping: watch::Receiver<bool>,
    access: Access,
    mut socket: WebSocket,
) {
    let (key, name) = match timeout(HELLO_TIMEOUT, hello(&mut socket)).await {
        Ok(Ok(viewer)) => viewer,
        Ok(Err(closed)) => return closed.send_close(socket).await,
        Err(_) => {
            return Closed::refused("no hello arrived in time")
                .send_close(socket)
                .await;
        }
    };
    let viewers = viewed.viewers.clone();
    let commands = viewed.session.clone();
    // Sent over the socket, since browsers hide the status of a failed upgrade from their pages.
    if viewers.len() >= MAX_VIEWERS && !viewers.contains(key) {
        let text = format!(
            "{MAX_VIEWERS} pages view this run already, or did so a moment ago; close one of them"
        );
        return Closed::refused(text).send_close(socket).await;
    }
    let viewer = viewers.connect(key);
    let presence = Presence::Connected { name };
    info!(viewer = viewer.0, "a page connected");
    let viewing = Viewing {
        sender: SnapshotSender::new(viewer),
        questions: Questions::default(),
        viewer,
        waiting: VecDeque::from([Command::Viewer { viewer, presence }]),
        watch: None,
        watch_news: Arc::default(),
        rights: ViewerRights::new(access.clone()),
        viewed,
    };
    let closed = viewing.run((stopping.clone(), access), &mut socket).await;
    let has_left = matches!(closed, Closed::Left);
    closed.send_close(socket).await;
    // A stopping server waits until all receivers of `stopping` are dropped.
    drop(stopping);
    // Fails only if the session is too busy or has ended, and then nothing needs to be done.
    let notify = |presence| commands.send(Command::Viewer { viewer, presence }).ok();
    if viewers.disconnect(viewer) {
        notify(Presence::Lost);
    }
    info!(viewer = viewer.0, "a page disconnected");
    if !has_left {
        sleep(RECONNECT_TIMEOUT).await;
    }
    if viewers.remove(viewer) {
        notify(Presence::Gone);
    }
}

/// Returns the next message and its length in bytes.
async fn next(socket: &mut WebSocket) -> Result<(ViewerMessage, usize), Closed> {
    loop {
        match socket.recv().await.transpose()? {
            Some(Message::Close(Some(why))) if why.code == close_code::AWAY => {
                return Err(Closed::Left);
            }
            None | Some(Message::Close(_)) => return Err(Closed::Lost),
            Some(Message::Binary(bytes)) => {
                return Ok((ViewerMessage::from_bytes(&bytes)?, bytes.len()));
            }
            Some(Message::Text(_)) => return Err(Closed::refused("messages are binary")),
            Some(Message::Ping(_) | Message::Pong(_)) => {}
        }
    }
}

/// Receives the viewer's key and name.
async fn hello(socket: &mut WebSocket) -> Result<(u64, String), Closed> {
    match next(socket).await?.0 {
        ViewerMessage::Hello {
            version: WIRE_VERSION,
            key,
            name,
        } => Ok((key, name.unwrap_or_default())),
        ViewerMessage::Hello { version, .. } => Err(Closed::refused(format!(
            "the page speaks version {version} of the protocol, this server version {WIRE_VERSION}: load the page \
             again"
        ))),
        _ => Err(Closed::refused("the first message must be a hello")),
    }
}

async fn stop_requested(stopping: &mut watch::Receiver<bool>) {
    // An error means that the server has been dropped, which is a reason to stop as well.
    stopping.wait_for(|stop| *stop).await.ok();
}

/// The connection of one viewer.
struct Viewing {
    viewed: ViewedSession,
    viewer: ViewerId,
    sender: SnapshotSender,
    /// The viewer's questions about calls.
    questions: Questions,
    /// Commands that the session has not taken yet.
    waiting: VecDeque<Command>,
    /// The connection to the watched run, once the viewer has asked for it.
    watch: Option<WatchHandle>,
    /// Notified with every update of the watched run.
    watch_news: Arc<Notify>,
    rights: ViewerRights,
}

impl Viewing {
    async fn run(
        mut self,
        ends: (watch::Receiver<bool>, Access),
        socket: &mut WebSocket,
    ) -> Closed {
        let Err(closed) = self.view(ends, socket).await;
        closed
    }

    async fn view(
        &mut self,
        (mut stopping, mut access): (watch::Receiver<bool>, Access),
        socket: &mut WebSocket,
    ) -> Result<Infallible, Closed> {
        let welcome = welcome_frame(self.viewed.epoch)?;
        socket.send(Message::Binary(Bytes::from(welcome))).await?;
        self.forward_commands()?;
        let mut has_news = true;
        let mut not_before = Instant::now();
        let watch_news = Arc::clone(&self.watch_news);
        loop {
            tokio::select! {
                message = next(socket), if self.waiting.is_empty() => self.handle(message?, socket).await?,
                () = watch_news.notified() => self.send_run_updates(socket).await?,
                answer = self.questions.next(), if self.questions.has_any() => {
                    if let Some(frame) = answer? {
                        socket.send(Message::Binary(Bytes::from(frame))).await?;
                    }
                }
                changed = self.viewed.news.changed(), if !has_news => {
                    if changed.is_err() {
                        return Err(Closed::refused("the session has ended"));
                    }
                    has_news = true;
                }
                () = sleep_until(not_before), if has_news => match self.send_next(socket).await? {
                    Sent::All => has_news = false,
                    Sent::Part => {}
                    Sent::Snapshot => not_before = Instant::now() + MIN_SNAPSHOT_INTERVAL,
                },
                () = sleep(BUSY_PAUSE), if !self.waiting.is_empty() => self.forward_commands()?,
                () = stop_requested(&mut stopping) => {
                    return Err(Closed::Refused(close_code::AWAY, "the server is stopping".to_owned()));
                }
                () = access.ended() => return Err(Closed::refused("your token was revoked")),
            }
        }
    }

    async fn handle(
        &mut self,
        (message, num_bytes): (ViewerMessage, usize),
        socket: &mut WebSocket,
    ) -> Result<(), Closed> {
        match message {
            ViewerMessage::Hello { .. } => Err(Closed::refused("hello was sent already")),
            ViewerMessage::Cancel => {
                if self.rights.may_cancel() {
                    self.viewed.session.cancel();
                }
                Ok(())
            }
            ViewerMessage::File(file) => {
                let name = file.name.clone();
                if self.viewed.viewers.put_file(self.viewer, file) {
                    Ok(())
                } else {
                    Err(Closed::refused(format!("no memory for {name}")))
                }
            }
            ViewerMessage::Watch(request) => {
                let Some((connection, refusal)) = self.watch(request) else {
                    return Ok(());
                };
                let frame = watch_frame(connection, &refusal)?;
                Ok(socket.send(Message::Binary(Bytes::from(frame))).await?)
            }
            ViewerMessage::Ask {
                trace,
                number,
                question,
            } => {
                self.ask((trace, number), (question, num_bytes), socket)
                    .await
            }
            ViewerMessage::Forget { number } => {
                self.questions.cancel(number);
                Ok(())
            }
            ViewerMessage::Command { number, command } => {
                if command.is_server_only() {
                    return Err(Closed::refused("a page cannot send commands of the server"));
                }
                self.waiting.push_back(Command::ForViewer {
                    viewer: self.viewer,
                    number,
                    command: Box::new(self.rights.permitted(*command)),
                });
                self.forward_commands()
            }
        }
    }

    /// Adds a question. One about a trace that is no longer shown needs no answer.
    async fn ask(
        &mut self,
        (trace, number): (u64, u64),
        question: (CallQuestion, usize),
        socket: &mut WebSocket,
    ) -> Result<(), Closed> {
        let Some(calls) = self.sender.calls(trace) else {
            return Ok(());
        };
        if self.questions.add(calls, number, question) {
            return Ok(());
        }
        let frame = refusal_frame(number, "too many questions at once; ask again")?;
        Ok(socket.send(Message::Binary(Bytes::from(frame))).await?)
    }

    /// Forwards a request; returns the refusal, if it is refused.
    fn watch(&mut self, request: WatchRequest) -> Option<(ConnectionId, WatchUpdate)> {
        let refused = |request: WatchRequest, cause: String| match request {
            WatchRequest::Connect { connection, .. } => {
                let retry_in_ms = None;
                Some((connection, WatchUpdate::Lost { cause, retry_in_ms }))
            }
            WatchRequest::Query(QueryRequest { id, .. }) | WatchRequest::Ranks { id, .. } => {
                Some((
                    ConnectionId::default(),
                    WatchUpdate::QueryFailed { id, cause },
                ))
            }
            WatchRequest::Disconnect => None,
        };
        let Some(run) = &self.viewed.watched else {
            let cause =
                "this server watches no run: start it with the address or the database of one";
            return refused(request, cause.to_owned());
        };
        if let WatchRequest::Connect { address, .. } = &request
            && *address != run.address
        {
            let cause = format!(
                "this page watches {}; to watch {address}, serve that",
                run.address
            );
            return refused(request, cause);
        }
        if self.watch.is_none() {
            let news = Arc::clone(&self.watch_news);
            match (run.dial)(Arc::new(move || news.notify_one())) {
                Ok(handle) => self.watch = Some(handle),
                Err(cause) => return refused(request, cause),
            }
        }
        let busy = self.watch.as_ref()?.send(request).err()?;
        refused(busy, "too many questions at once; ask again".to_owned())
    }

    /// Sends the updates of the watched run.
    async fn send_run_updates(&mut self, socket: &mut WebSocket) -> Result<(), Closed> {
        while let Some((connection, update)) = self.watch.as_mut().and_then(|run| run.poll()) {
            let frame = watch_frame(connection, &update)?;
            socket.send(Message::Binary(Bytes::from(frame))).await?;
        }
        Ok(())
    }

    fn forward_commands(&mut self) -> Result<(), Closed> {
        while let Some(command) = self.waiting.pop_front() {
            match self.viewed.session.send(command) {
                Ok(()) => {}
                Err(SendError::Full(command)) => {
                    self.waiting.push_front(command);
                    break;
                }
                Err(SendError::Ended(_)) => return Err(Closed::refused("the session has ended")),
            }
        }
        Ok(())
    }

    /// Sends the next frame or file, if there is any.
    async fn send_next(&mut self, socket: &mut WebSocket) -> Result<Sent, Closed> {
        self.viewed.news.borrow_and_update();
        let newest = self.rights.with_refusal(self.viewed.session.snapshot());
        let frame = self.sender.next_frame(&newest)?;
        let Some(frame) = frame else {
            while let Some(file) = self.viewed.viewers.take_file(self.viewer) {
                let frame = file.to_frame()?;
                socket.send(Message::Binary(Bytes::from(frame))).await?;
            }
            return Ok(Sent::All);
        };
        let sent = if SnapshotSender::is_snapshot(&frame) {
            Sent::Snapshot
        } else {
            Sent::Part
        };
        socket.send(Message::Binary(Bytes::from(frame))).await?;
        Ok(sent)
    }
}

/// The result of one send.
enum Sent {
    /// Everything has been sent.
    All,
    /// A part of a snapshot.
    Part,
    /// A snapshot.
    Snapshot,
}
