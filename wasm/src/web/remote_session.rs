//! The connection to a session on the server that sent the page: a WebSocket, reopened whenever it breaks.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use callgrove_session::SessionHandle;
use callgrove_watch::WatchHandle;
use callgrove_wire::{LinkEvent, SessionLink, WireError};
use eframe::egui;
use js_sys::{ArrayBuffer, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{
    AbortSignal, BinaryType, CloseEvent, MessageEvent, RequestInit, Response, WebSocket,
};

use super::{browser, page};
use crate::file_store::FileStore;

/// The response header with the path of the server's session.
const VIEW_HEADER: &str = "callgrove-view";
/// The response header with the address of the run to watch.
const WATCH_HEADER: &str = "callgrove-watch";
/// Pauses between attempts to connect, in milliseconds; the last one is repeated.
const PAUSES_MS: [i32; 6] = [200, 500, 1_000, 2_000, 4_000, 8_000];
/// Minimum interval of repaints while parts of a snapshot arrive.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(300);
/// Timeout of the request that finds out why a connection was closed.
const STATUS_TIMEOUT_MS: u32 = 2_000;
/// Maximum number of bytes in the browser's send buffer; further messages wait.
const MAX_BUFFERED_BYTES: u32 = 4 << 20;

/// The session that the server of this page offers.
pub(super) struct Served {
    /// Address of the session.
    pub(super) address: String,
    /// Address of the run to watch.
    pub(super) watched: Option<String>,
}

/// Returns the session that the server of this page offers, if there is one.
///
/// # Errors
/// If the page cannot send the request.
pub(super) async fn served() -> Result<Option<Served>, JsValue> {
    let location = page::window().ok_or("not in a page")?.location();
    let Some(answer) = ask(None).await? else {
        return Ok(None);
    };
    let headers = answer.headers();
    let (path, watched) = (headers.get(VIEW_HEADER)?, headers.get(WATCH_HEADER)?);
    let scheme = if location.protocol()? == "https:" {
        "wss"
    } else {
        "ws"
    };
    let host = location.host()?;
    Ok(path.map(|path| Served {
        address: format!("{scheme}://{host}{path}"),
        watched,
    }))
}

/// Requests the page's headers from its server. Returns `None` without a server (a page from a disk), while the server
/// is unreachable, and after the signal.
async fn ask(until: Option<&AbortSignal>) -> Result<Option<Response>, JsValue> {
    let window = page::window().ok_or("not in a page")?;
    let how = RequestInit::new();
    how.set_method("HEAD");
    how.set_signal(until);
    let asked = window.fetch_with_str_and_init(&window.location().href()?, &how);
    let answer = JsFuture::from(asked).await.ok();
    answer.map(JsCast::dyn_into).transpose()
}

/// Returns why a connection closed without a reason: browsers hide a refused token from their pages.
async fn why_lost() -> &'static str {
    let answer = ask(Some(&AbortSignal::timeout_with_u32(STATUS_TIMEOUT_MS))).await;
    if answer.is_ok_and(|answer| answer.is_some_and(|it| it.status() == 401)) {
        "The server wants another token, because it was restarted: open the address that it printed in \
         another tab, and this page reconnects"
    } else {
        "Lost the connection to the server"
    }
}

/// The connection.
pub(super) struct RemoteConnection(Rc<Inner>);

struct Inner {
    address: String,
    link: RefCell<SessionLink>,
    socket: RefCell<Option<Socket>>,
    num_failures: Cell<usize>,
    store: FileStore<Vec<u8>>,
    context: egui::Context,
}

/// A WebSocket, and the browser's callbacks for its events.
struct Socket {
    raw: WebSocket,
    _opened: Closure<dyn FnMut()>,
    _came: Closure<dyn FnMut(MessageEvent)>,
    _closed: Closure<dyn FnMut(CloseEvent)>,
}

impl RemoteConnection {
    /// Connects to the served session, and reconnects whenever the connection is lost.
    pub(super) fn open(
        served: &Served,
        store: FileStore<Vec<u8>>,
        context: egui::Context,
    ) -> (SessionHandle, Option<WatchHandle>, Self) {
        let (handle, mut link) = SessionLink::new(random_key(), None);
        let watch = served.watched.is_some().then(|| link.watch());
        let inner = Rc::new(Inner {
            address: served.address.clone(),
            link: RefCell::new(link),
            socket: RefCell::new(None),
            num_failures: Cell::new(0),
            store,
            context,
        });
        connect(&inner);
        (handle, watch, Self(inner))
    }

    /// Sends all waiting messages.
    pub(super) fn send(&self) {
        self.0.send();
    }
}

impl Inner {
    fn send(&self) {
        let socket = self.socket.borrow();
        let Some(socket) = socket.as_ref().map(|socket| &socket.raw) else {
            return;
        };
        while socket.ready_state() == WebSocket::OPEN
            && socket.buffered_amount() < MAX_BUFFERED_BYTES
        {
            let file = |name: &str| self.store.get(name);
            let message = self.link.borrow_mut().next_message(file);
            let sent = match message {
                Ok(None) => return,
                Ok(Some(message)) => socket.send_with_u8_array(&message),
                Err(error) => Err(page::js_error(&error)),
            };
            if let Err(error) = sent {
                page::log(&page::error_text(&error));
                return;
            }
        }
    }

    fn take(&self, frame: &[u8]) -> Result<(), WireError> {
        let taken = self.link.borrow_mut().take(frame)?;
        self.num_failures.set(0);
        self.send();
        show(&self.context, &taken);
        Ok(())
    }

    /// Shows the reason, and reconnects after a pause.
    fn lose(self: &Rc<Self>, why: &str) {
        self.link.borrow_mut().lost(why);
        self.context.request_repaint();
        let failures = self.num_failures.get();
        self.num_failures.set(failures + 1);
        let pause = PAUSES_MS[failures.min(PAUSES_MS.len() - 1)];
        let again = Rc::clone(self);
        let again = Closure::once_into_js(move || connect(&again));
        let window = page::window();
        let set = window.map(|window| {
            let again = again.unchecked_ref();
            window.set_timeout_with_callback_and_timeout_and_arguments_0(again, pause)
        });
        if let Some(Err(error)) = set {
            page::log(&page::error_text(&error));
        }
    }
}

/// Shows the received data.
pub(super) fn show(context: &egui::Context, taken: &LinkEvent) {
    match taken {
        LinkEvent::News => context.request_repaint(),
        // Without a GPU, drawing each part would take longer than receiving all of them.
        LinkEvent::Part => context.request_repaint_after(PROGRESS_INTERVAL),
        LinkEvent::File(file) => browser::download(file),
    }
}

fn connect(inner: &Rc<Inner>) {
    match begin(inner) {
        Ok(socket) => *inner.socket.borrow_mut() = Some(socket),
        Err(error) => inner.lose(&format!(
            "Could not reach the server: {}",
            page::error_text(&error)
        )),
    }
}

fn begin(inner: &Rc<Inner>) -> Result<Socket, JsValue> {
    let socket = WebSocket::new(&inner.address)?;
    socket.set_binary_type(BinaryType::Arraybuffer);
    let opened = {
        let (inner, socket) = (Rc::clone(inner), socket.clone());
        Closure::<dyn FnMut()>::new(move || {
            let hello = inner.link.borrow_mut().connected();
            let hello = hello.map_err(|error| page::js_error(&error));
            if let Err(error) = hello.and_then(|hello| socket.send_with_u8_array(&hello)) {
                page::log(&page::error_text(&error));
            }
        })
    };
    let came = {
        let (inner, socket) = (Rc::clone(inner), socket.clone());
        Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
            let Ok(buffer) = message.data().dyn_into::<ArrayBuffer>() else {
                return;
            };
            if let Err(error) = inner.take(&Uint8Array::new(&buffer).to_vec()) {
                page::log(&error.to_string());
                // The next frames depend on this one; the next connection starts over.
                socket.close().ok();
            }
        })
    };
    let closed = {
        let inner = Rc::clone(inner);
        Closure::<dyn FnMut(CloseEvent)>::new(move |closed: CloseEvent| {
            let (inner, reason) = (Rc::clone(&inner), closed.reason());
            spawn_local(async move {
                inner.lose(&match reason.as_str() {
                    "" => why_lost().await.to_owned(),
                    reason => format!("The server closed the connection: {reason}"),
                });
            });
        })
    };
    socket.set_onopen(Some(opened.as_ref().unchecked_ref()));
    socket.set_onmessage(Some(came.as_ref().unchecked_ref()));
    socket.set_onclose(Some(closed.as_ref().unchecked_ref()));
    Ok(Socket {
        raw: socket,
        _opened: opened,
        _came: came,
        _closed: closed,
    })
}

/// Returns a random key that identifies this page.
fn random_key() -> u64 {
    const PLACES: f64 = (1_u64 << 53) as f64;
    (js_sys::Math::random() * PLACES) as u64
}
