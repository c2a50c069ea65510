//! A session for pages: each WebSocket is a viewer with a selection and files of its own; labels are everybody's.
//!
//! The session runs wherever its carrier puts it; its commands and snapshots go over the wire as
//! [`callgrove_session::wire`] says. A viewer who is slow gets fewer snapshots, not late ones. What a page may not ask
//! for is refused with words, and the connection stays.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Extension, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::get;
use axum::{Router, body::Bytes};
use callgrove_session::watch::{ConnectionId, WatchHandle, WatchRequest, WatchUpdate};
use callgrove_session::wire::{
    MAX_FILE_BYTES, SnapshotSender, ViewerMessage, Viewers, WIRE_VERSION, WireError, refusal_frame,
    watch_frame, welcome_frame,
};
use callgrove_session::{
    CallQuestion, Command, Presence, SendError, SessionHandle, ViewerId, Wake,
};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{debug, info};

use crate::connection::Stopping;
use crate::questions::Questions;

/// The path of the WebSocket.
const VIEW_PATH: &str = "/view";
/// The header that tells it to a page.
pub(crate) const VIEW_HEADER: HeaderName = HeaderName::from_static("callgrove-view");
/// The header that tells a page which run there is to watch.
pub(crate) const WATCH_HEADER: HeaderName = HeaderName::from_static("callgrove-watch");
/// Viewers at once; each has a connection and the newest snapshot.
const MAX_VIEWERS: usize = 64;
/// Larger messages of a viewer are refused: a file fits with its name, and a group of a million trees.
const MAX_MESSAGE_BYTES: usize = MAX_FILE_BYTES as usize + (4 << 20);
/// Snapshots come at most this often; a person does not see more.
const LEAST_PAUSE: Duration = Duration::from_millis(33);
/// When the session takes no more commands, this long until it is asked again.
const BUSY_PAUSE: Duration = Duration::from_millis(20);
/// A viewer who does not say hello for so long is none.
const HELLO_WITHIN: Duration = Duration::from_secs(10);
/// A viewer whose connection broke and who does not come back for so long is forgotten.
const COMES_BACK_WITHIN: Duration = Duration::from_mins(2);
/// How long a viewer may take to hear why it is let go.
const GOOD_BYE: Duration = Duration::from_secs(2);

/// A session that pages look at.
#[derive(Clone)]
pub struct ViewedSession {
    /// Its commands and snapshots.
    pub session: SessionHandle,
    /// Changes with every snapshot.
    pub news: watch::Receiver<()>,
    /// Those who look at it; the session's host must know them too.
    pub viewers: Viewers,
    /// Another number whenever the session has begun anew.
    pub life: u64,
    /// The run that pages may watch.
    pub watched: Option<WatchedRun>,
}

/// A run that pages watch, each for itself.
#[derive(Clone)]
pub struct WatchedRun {
    /// What stands for it; a page asks for no other.
    pub address: String,
    /// Starts what fetches the news for one page, and calls what it is given after each; why it cannot, in words.
    pub dial: Dial,
}

/// See [`WatchedRun::dial`].
pub type Dial = Arc<dyn Fn(Wake) -> Result<WatchHandle, String> + Send + Sync>;

/// Lets a page know, by headers of its own answer, what there is to look at.
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
    upgrade: WebSocketUpgrade,
) -> Response {
    upgrade
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES)
        .on_upgrade(move |socket| serve(viewed, stopping, socket))
}

async fn serve(viewed: ViewedSession, stopping: watch::Receiver<bool>, mut socket: WebSocket) {
    let (key, name) = match timeout(HELLO_WITHIN, hello(&mut socket)).await {
        Ok(Ok(viewer)) => viewer,
        Ok(Err(gone)) => return gone.tell(socket).await,
        Err(_) => return Gone::refused("no hello came").tell(socket).await,
    };
    let viewers = viewed.viewers.clone();
    let commands = viewed.session.clone();
    // Told over the socket: browsers keep what else a server says of it from their pages.
    if viewers.len() >= MAX_VIEWERS && !viewers.knows(key) {
        let text = format!(
            "{MAX_VIEWERS} pages look at this run already, or did so a moment ago; close one of them"
        );
        return Gone::refused(text).tell(socket).await;
    }
    let viewer = viewers.enter(key);
    let presence = Presence::Here { name };
    info!(viewer = viewer.0, "a page has come");
    let viewing = Viewing {
        sender: SnapshotSender::new(viewer),
        questions: Questions::default(),
        viewer,
        waiting: VecDeque::from([Command::Viewer { viewer, presence }]),
        watch: None,
        watch_news: Arc::default(),
        viewed,
    };
    let gone = viewing.run(stopping.clone(), &mut socket).await;
    let has_left = matches!(gone, Gone::Left);
    gone.tell(socket).await;
    // A server that stops waits for those who hold it.
    drop(stopping);
    // Where the session is too busy or has ended, there is nobody to be told.
    let tell = |presence| commands.send(Command::Viewer { viewer, presence }).ok();
    if viewers.lose(viewer) {
        tell(Presence::Lost);
    }
    info!(viewer = viewer.0, "a page has gone");
    if !has_left {
        sleep(COMES_BACK_WITHIN).await;
    }
    if viewers.forget(viewer) {
        tell(Presence::Gone);
    }
}

/// Why a connection ends.
enum Gone {
    /// It broke.
    Lost,
    /// The viewer has closed its page, or loaded it again, which comes as another viewer.
    Left,
    /// With a code and a reason.
    Refused(u16, String),
}

impl Gone {
    fn refused(why: impl Into<String>) -> Self {
        Self::Refused(close_code::POLICY, why.into())
    }

    /// Says so, if there is still somebody to hear it.
    async fn tell(self, mut socket: WebSocket) {
        let Self::Refused(code, reason) = self else {
            return;
        };
        debug!(reason, "a page is let go");
        let frame = CloseFrame {
            code,
            reason: reason.into(),
        };
        socket.send(Message::Close(Some(frame))).await.ok();
        // What is still on its way would reset the connection, and the reason would be lost with it.
        let rest = async { while let Some(Ok(_)) = socket.recv().await {} };
        timeout(GOOD_BYE, rest).await.ok();
    }
}

impl From<axum::Error> for Gone {
    fn from(error: axum::Error) -> Self {
        debug!(%error, "the connection to a page broke");
        Self::Lost
    }
}

impl From<WireError> for Gone {
    fn from(error: WireError) -> Self {
        Self::Refused(close_code::INVALID, error.to_string())
    }
}

/// The next message and its length in bytes; there is none once the viewer has gone.
async fn next(socket: &mut WebSocket) -> Result<(ViewerMessage, usize), Gone> {
    loop {
        match socket.recv().await.transpose()? {
            Some(Message::Close(Some(why))) if why.code == close_code::AWAY => {
                return Err(Gone::Left);
            }
            None | Some(Message::Close(_)) => return Err(Gone::Lost),
            Some(Message::Binary(bytes)) => {
                return Ok((ViewerMessage::from_bytes(&bytes)?, bytes.len()));
            }
            Some(Message::Text(_)) => return Err(Gone::refused("messages are binary")),
            Some(Message::Ping(_) | Message::Pong(_)) => {}
        }
    }
}

/// The viewer's key and name.
async fn hello(socket: &mut WebSocket) -> Result<(u64, String), Gone> {
    match next(socket).await?.0 {
        ViewerMessage::Hello {
            version: WIRE_VERSION,
            key,
            name,
        } => Ok((key, name.unwrap_or_default())),
        ViewerMessage::Hello { version, .. } => Err(Gone::refused(format!(
            "the page speaks version {version} of the protocol, this server version {WIRE_VERSION}: load the page \
             again"
        ))),
        _ => Err(Gone::refused("the first message must be a hello")),
    }
}

async fn told_to_stop(stopping: &mut watch::Receiver<bool>) {
    // An error means that the server is gone, which is a reason to stop as well.
    stopping.wait_for(|stop| *stop).await.ok();
}

/// One viewer.
struct Viewing {
    viewed: ViewedSession,
    viewer: ViewerId,
    sender: SnapshotSender,
    /// What the viewer wants to know of calls.
    questions: Questions,
    /// Commands that the session has not taken yet.
    waiting: VecDeque<Command>,
    /// What fetches the news of the watched run, once the viewer has asked for them.
    watch: Option<WatchHandle>,
    watch_news: Arc<Notify>,
}

impl Viewing {
    async fn run(mut self, stopping: watch::Receiver<bool>, socket: &mut WebSocket) -> Gone {
        let Err(gone) = self.view(stopping, socket).await;
        gone
    }

    async fn view(
        &mut self,
        mut stopping: watch::Receiver<bool>,
        socket: &mut WebSocket,
    ) -> Result<Infallible, Gone> {
        let welcome = welcome_frame(self.viewed.life)?;
        socket.send(Message::Binary(Bytes::from(welcome))).await?;
        self.pass_on()?;
        let mut has_news = true;
        let mut not_before = Instant::now();
        let watch_news = Arc::clone(&self.watch_news);
        loop {
            tokio::select! {
                message = next(socket), if self.waiting.is_empty() => self.hear(message?, socket).await?,
                () = watch_news.notified() => self.tell_of_run(socket).await?,
                answer = self.questions.next(), if self.questions.has_any() => {
                    if let Some(frame) = answer? {
                        socket.send(Message::Binary(Bytes::from(frame))).await?;
                    }
                }
                changed = self.viewed.news.changed(), if !has_news => {
                    if changed.is_err() {
                        return Err(Gone::refused("the session has ended"));
                    }
                    has_news = true;
                }
                () = sleep_until(not_before), if has_news => match self.tell(socket).await? {
                    Told::All => has_news = false,
                    Told::Part => {}
                    Told::Snapshot => not_before = Instant::now() + LEAST_PAUSE,
                },
                () = sleep(BUSY_PAUSE), if !self.waiting.is_empty() => self.pass_on()?,
                () = told_to_stop(&mut stopping) => {
                    return Err(Gone::Refused(close_code::AWAY, "the server ends".to_owned()));
                }
            }
        }
    }

    async fn hear(
        &mut self,
        (message, num_bytes): (ViewerMessage, usize),
        socket: &mut WebSocket,
    ) -> Result<(), Gone> {
        match message {
            ViewerMessage::Hello { .. } => Err(Gone::refused("one hello is enough")),
            ViewerMessage::Cancel => {
                self.viewed.session.cancel();
                Ok(())
            }
            ViewerMessage::File(file) => {
                let name = file.name.clone();
                if self.viewed.viewers.give(self.viewer, file) {
                    Ok(())
                } else {
                    Err(Gone::refused(format!("there is no room for {name}")))
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
                self.questions.forget(number);
                Ok(())
            }
            ViewerMessage::Command { number, command } => {
                if command.is_of_server() {
                    return Err(Gone::refused("a page cannot speak for another"));
                }
                self.waiting.push_back(Command::Of {
                    viewer: self.viewer,
                    number,
                    command,
                });
                self.pass_on()
            }
        }
    }

    /// Takes a question; one about a trace that is not shown any more needs no answer.
    async fn ask(
        &mut self,
        (trace, number): (u64, u64),
        question: (CallQuestion, usize),
        socket: &mut WebSocket,
    ) -> Result<(), Gone> {
        let Some(calls) = self.sender.calls(trace) else {
            return Ok(());
        };
        if self.questions.take(calls, number, question) {
            return Ok(());
        }
        let frame = refusal_frame(number, "too many questions at once; ask again")?;
        Ok(socket.send(Message::Binary(Bytes::from(frame))).await?)
    }

    /// Passes a request on; the answer is a refusal.
    fn watch(&mut self, request: WatchRequest) -> Option<(ConnectionId, WatchUpdate)> {
        let refused = |request: WatchRequest, cause: String| match request {
            WatchRequest::Connect { connection, .. } => {
                let retry_in_ms = None;
                Some((connection, WatchUpdate::Lost { cause, retry_in_ms }))
            }
            WatchRequest::Query(query) => {
                let id = query.id;
                Some((
                    ConnectionId::default(),
                    WatchUpdate::QueryFailed { id, cause },
                ))
            }
            WatchRequest::Disconnect => None,
        };
        let Some(run) = &self.viewed.watched else {
            let cause = "this server watches no run: serve one, by its address or its database";
            return refused(request, cause.to_owned());
        };
        if let WatchRequest::Connect { address, .. } = &request
            && *address != run.address
        {
            let cause = format!(
                "this page watches {}; serve {address} to watch it",
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

    /// Tells what came of the watched run.
    async fn tell_of_run(&mut self, socket: &mut WebSocket) -> Result<(), Gone> {
        while let Some((connection, update)) = self.watch.as_mut().and_then(|run| run.poll()) {
            let frame = watch_frame(connection, &update)?;
            socket.send(Message::Binary(Bytes::from(frame))).await?;
        }
        Ok(())
    }

    fn pass_on(&mut self) -> Result<(), Gone> {
        while let Some(command) = self.waiting.pop_front() {
            match self.viewed.session.send(command) {
                Ok(()) => {}
                Err(SendError::Full(command)) => {
                    self.waiting.push_front(command);
                    break;
                }
                Err(SendError::Ended(_)) => return Err(Gone::refused("the session has ended")),
            }
        }
        Ok(())
    }

    /// Tells the next thing, if there is any.
    async fn tell(&mut self, socket: &mut WebSocket) -> Result<Told, Gone> {
        self.viewed.news.borrow_and_update();
        let newest = self.viewed.session.snapshot();
        let frame = self.sender.next_frame(&newest)?;
        let Some(frame) = frame else {
            while let Some(file) = self.viewed.viewers.get(self.viewer) {
                let frame = file.to_frame()?;
                socket.send(Message::Binary(Bytes::from(frame))).await?;
            }
            return Ok(Told::All);
        };
        let told = if SnapshotSender::is_snapshot(&frame) {
            Told::Snapshot
        } else {
            Told::Part
        };
        socket.send(Message::Binary(Bytes::from(frame))).await?;
        Ok(told)
    }
}

/// What was told.
enum Told {
    /// There was nothing left.
    All,
    /// Something that belongs to a snapshot.
    Part,
    /// A snapshot.
    Snapshot,
}
