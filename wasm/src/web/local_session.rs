//! The connection to a session in a worker of the page, with both of its ends.
//!
//! Frames and viewer messages are bytes. All else is a list: a name and the browser's handle of a file, which the
//! worker reads itself; a key and a text for the browser's storage (with a third element if storing failed); or the
//! message of a worker that panicked.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use callgrove_session::{Analysis, Command, SessionHandle, Snapshot};
use callgrove_wire::SessionLink;
use eframe::egui;
use js_sys::{Array, Function, Uint8Array};
use wasm_bindgen::prelude::*;
use web_sys::{
    Blob, DedicatedWorkerGlobalScope, ErrorEvent, FileReaderSync, MessageEvent, StorageEvent,
};

use super::remote_session::show;
use super::{browser, files, page};
use crate::file_store::FileStore;
use crate::host::JOURNAL;
use crate::sliced_files::UserFiles;
use crate::worker::{Worker, WorkerPage};

/// The page's end of the connection.
pub(super) struct LocalConnection(Rc<Inner>);

struct Inner {
    /// Creates a worker.
    spawn: Function,
    link: RefCell<SessionLink>,
    session: SessionHandle,
    worker: RefCell<Option<Running>>,
    /// True once the worker receives messages.
    is_ready: Cell<bool>,
    /// Number of stored files that the worker has.
    num_files: Cell<u64>,
    /// The run that was open when the worker was last idle.
    open: RefCell<Option<Open>>,
    /// True if that run is to be reopened, because the previous worker was stopped.
    is_reopened: Cell<bool>,
    store: FileStore<Blob>,
    context: egui::Context,
}

/// An open forest and its source.
struct Open {
    analysis: Arc<Analysis>,
    source: String,
}

struct Running {
    raw: web_sys::Worker,
    _came: Closure<dyn FnMut(MessageEvent)>,
    _failed: Closure<dyn FnMut(ErrorEvent)>,
}

impl LocalConnection {
    /// Starts a worker with `spawn`, and another one whenever the current work is to be stopped.
    pub(super) fn open(
        spawn: Function,
        store: FileStore<Blob>,
        context: egui::Context,
    ) -> (SessionHandle, Self) {
        let (session, link) = SessionLink::new(0, None);
        let inner = Rc::new(Inner {
            spawn,
            link: RefCell::new(link.with_external_stop()),
            session: session.clone(),
            worker: RefCell::default(),
            is_ready: Cell::default(),
            num_files: Cell::default(),
            open: RefCell::default(),
            is_reopened: Cell::default(),
            store,
            context,
        });
        start(&inner);
        inner.listen_to_other_pages();
        (session, Self(inner))
    }

    /// Sends all waiting messages.
    pub(super) fn send(&self) {
        let last = self.0.session.snapshot();
        if last.work.is_none() {
            self.0.remember(&last);
        }
        if self.0.link.borrow_mut().wants_stop() && last.work.is_some() {
            self.0.stop();
            start(&self.0);
        }
        self.0.send();
    }
}

fn start(inner: &Rc<Inner>) {
    match begin(inner) {
        Ok(worker) => *inner.worker.borrow_mut() = Some(worker),
        Err(error) => page::show_panic(&page::error_text(&error)),
    }
}

fn begin(inner: &Rc<Inner>) -> Result<Running, JsValue> {
    let raw: web_sys::Worker = inner.spawn.call0(&JsValue::NULL)?.dyn_into()?;
    let came = {
        let inner = Rc::clone(inner);
        Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
            if let Err(error) = inner.take(&message.data()) {
                page::show_panic(&page::error_text(&error));
            }
        })
    };
    let failed = {
        let inner = Rc::clone(inner);
        Closure::<dyn FnMut(ErrorEvent)>::new(move |error: ErrorEvent| {
            page::show_panic(&if inner.is_ready.get() {
                // The browser gives no details when memory is used up.
                format!(
                    "the worker has stopped ({}). If the run is large, its browser ran out of memory: run `callgrove serve \
                     RUN` where the run is, and open the address that it prints",
                    error.message()
                )
            } else {
                "could not start the worker".to_owned()
            });
        })
    };
    raw.set_onmessage(Some(came.as_ref().unchecked_ref()));
    raw.set_onerror(Some(failed.as_ref().unchecked_ref()));
    Ok(Running {
        raw,
        _came: came,
        _failed: failed,
    })
}

impl Inner {
    fn take(&self, data: &JsValue) -> Result<(), JsValue> {
        if let Some(frame) = data.dyn_ref::<Uint8Array>() {
            let taken = self.link.borrow_mut().take(&frame.to_vec());
            show(
                &self.context,
                &taken.map_err(|error| page::js_error(&error))?,
            );
        } else if data.is_string() {
            self.greet()?;
        } else if let Some(list) = data.dyn_ref::<Array>() {
            let texts: Vec<String> = list.iter().filter_map(|text| text.as_string()).collect();
            match &texts[..] {
                [key, text] => {
                    if let Err(cause) = browser::store(key, text) {
                        self.post_list(&[key, &cause, "refused"])?;
                    }
                }
                texts => page::show_panic(&texts.concat()),
            }
        }
        self.send();
        Ok(())
    }

    /// Initializes a new worker that is ready for messages.
    fn greet(&self) -> Result<(), JsValue> {
        for (key, text) in browser::stored_with_prefix(JOURNAL) {
            self.post_list(&[&key, &text])?;
        }
        self.num_files.set(0);
        self.is_ready.set(true);
        let hello = self
            .link
            .borrow_mut()
            .connected()
            .map_err(|error| page::js_error(&error))?;
        self.post(&hello)?;
        let open = self.open.borrow();
        let open = open.as_ref().filter(|_| self.is_reopened.take());
        let open = open.map(|open| Command::OpenTrace {
            source: open.source.clone(),
            function: Some(open.analysis.root_name.clone()),
        });
        if open.is_some_and(|open| self.session.send(open).is_err()) {
            page::log("the run cannot be opened again now");
        }
        Ok(())
    }

    fn post(&self, bytes: &[u8]) -> Result<(), JsValue> {
        let bytes = Uint8Array::from(bytes);
        match &*self.worker.borrow() {
            Some(worker) => {
                let transfer = Array::of1(&bytes.buffer());
                worker.raw.post_message_with_transfer(&bytes, &transfer)
            }
            None => Ok(()),
        }
    }

    fn post_list(&self, texts: &[&str]) -> Result<(), JsValue> {
        match &*self.worker.borrow() {
            Some(worker) => worker.raw.post_message(&list_of(texts)),
            None => Ok(()),
        }
    }

    fn send(&self) {
        if !self.is_ready.get() {
            return;
        }
        if let Err(error) = self.try_send() {
            page::log(&page::error_text(&error));
        }
    }

    fn try_send(&self) -> Result<(), JsValue> {
        let (files, num_files) = self.store.since(self.num_files.get());
        self.num_files.set(num_files);
        for (name, file) in files {
            if let Some(worker) = &*self.worker.borrow() {
                let entry = Array::of2(&JsValue::from_str(&name), &file);
                worker.raw.post_message(&entry)?;
            }
        }
        loop {
            let message = self.link.borrow_mut().next_message(|_| None);
            let Some(message) = message.map_err(|error| page::js_error(&error))? else {
                return Ok(());
            };
            self.post(&message)?;
        }
    }

    /// Remembers the open run. Valid only while the worker is idle: while a run is being opened, the snapshot has its
    /// name together with the previous forest.
    fn remember(&self, last: &Snapshot) {
        let mut open = self.open.borrow_mut();
        let Some((analysis, source)) = last.analysis().zip(last.source.as_ref()) else {
            return;
        };
        let is_known = |open: &Open| Arc::ptr_eq(&open.analysis, analysis);
        if !open.as_ref().is_some_and(is_known) {
            *open = Some(Open {
                analysis: Arc::clone(analysis),
                source: source.clone(),
            });
        }
    }

    /// Terminates the worker and its work. The next worker reopens the run that was open.
    fn stop(&self) {
        if let Some(worker) = self.worker.take() {
            worker.raw.terminate();
        }
        self.is_ready.set(false);
        self.link.borrow_mut().discard_commands();
        self.is_reopened.set(true);
    }

    /// Forwards changes of the storage by other pages, which may write to a journal that the worker has open.
    fn listen_to_other_pages(self: &Rc<Self>) {
        let inner = Rc::clone(self);
        let handle = Closure::<dyn FnMut(StorageEvent)>::new(move |event: StorageEvent| {
            if let (Some(key), Some(text)) = (event.key(), event.new_value())
                && key.starts_with(JOURNAL)
                && let Err(error) = inner.post_list(&[&key, &text])
            {
                page::log(&page::error_text(&error));
            }
        });
        let handle = handle.into_js_value();
        let added = page::window().map(|window| {
            window.add_event_listener_with_callback("storage", handle.unchecked_ref())
        });
        if let Some(Err(error)) = added {
            page::log(&page::error_text(&error));
        }
    }
}

fn list_of(texts: &[&str]) -> Array {
    texts.iter().map(|text| JsValue::from_str(text)).collect()
}

/// The worker's access to its page.
#[derive(Clone, Copy)]
struct PageHandle;

fn scope() -> DedicatedWorkerGlobalScope {
    js_sys::global().unchecked_into()
}

impl UserFiles for PageHandle {
    fn names(&self) -> Vec<String> {
        FILES.with(|files| files.borrow().keys().cloned().collect())
    }

    fn num_bytes(&self, name: &str) -> Option<u64> {
        Some(file_named(name)?.size() as u64)
    }

    fn read_slice(&self, name: &str, at: u64, slice: &mut [u8]) -> Result<(), String> {
        let file = file_named(name).ok_or("the file is gone")?;
        let end = at as f64 + slice.len() as f64;
        let mut read = || -> Result<(), JsValue> {
            let part = file.slice_with_f64_and_f64(at as f64, end)?;
            let part = FileReaderSync::new()?.read_as_array_buffer(&part)?;
            files::copy(&Uint8Array::new(&part), slice)
        };
        read().map_err(|error| {
            let cause = page::error_text(&error);
            format!("{cause}; if the file has changed since it was chosen, choose it again")
        })
    }
}

impl WorkerPage for PageHandle {
    fn show(&self, frame: &[u8]) {
        let frame = Uint8Array::from(frame);
        let transfer = Array::of1(&frame.buffer());
        if let Err(error) = scope().post_message_with_transfer(&frame, &transfer) {
            page::log(&page::error_text(&error));
        }
    }

    fn store(&self, key: &str, text: &str) {
        post_list(&[key, text]);
    }

    fn now_ms(&self) -> f64 {
        js_sys::Date::now()
    }
}

fn post_list(texts: &[&str]) {
    if let Err(error) = scope().post_message(&list_of(texts)) {
        page::log(&page::error_text(&error));
    }
}

/// Runs the session for the page that created this worker.
///
/// # Errors
/// If the page cannot be notified.
#[wasm_bindgen]
pub fn serve() -> Result<(), JsValue> {
    std::panic::set_hook(Box::new(|panic| post_list(&[&panic.to_string()])));
    let worker = Rc::new(RefCell::new(Worker::new(PageHandle)));
    let task = {
        let worker = Rc::clone(&worker);
        Rc::new(Closure::<dyn FnMut()>::new(move || {
            if worker.borrow_mut().work() {
                work_soon();
            }
        }))
    };
    WORK.with(|work| *work.borrow_mut() = Some(task));
    let handle = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
        let data = message.data();
        let mut worker = worker.borrow_mut();
        if let Some(bytes) = data.dyn_ref::<Uint8Array>() {
            if let Err(error) = worker.handle(&bytes.to_vec()) {
                page::log(&error.to_string());
            }
            work_soon();
        } else if let Some(list) = data.dyn_ref::<Array>() {
            if let (Some(name), Some(file)) = (list.get(0).as_string(), list.get(1).dyn_ref()) {
                return hold(name, Blob::clone(file));
            }
            let mut texts = list.iter().filter_map(|text| text.as_string());
            match (texts.next(), texts.next(), texts.next()) {
                (Some(key), Some(text), None) => worker.add_stored(key, text),
                (Some(key), Some(cause), _) => worker.note_failure(&key, cause),
                _ => {}
            }
        }
    });
    scope().set_onmessage(Some(handle.into_js_value().unchecked_ref()));
    scope().post_message(&JsValue::from_str("ready"))
}

/// Stores a file that the page handed over.
fn hold(name: String, file: Blob) {
    FILES.with(|files| files.borrow_mut().insert(name, file));
}

fn file_named(name: &str) -> Option<Blob> {
    FILES.with(|files| files.borrow().get(name).cloned())
}

/// A callback of the browser.
type Work = Rc<Closure<dyn FnMut()>>;

thread_local! {
    /// The files that the page handed over, in the worker.
    static FILES: RefCell<BTreeMap<String, Blob>> = const { RefCell::new(BTreeMap::new()) };
    /// The worker's task between two messages.
    static WORK: RefCell<Option<Work>> = const { RefCell::new(None) };
}

/// Schedules the task after the messages that have arrived meanwhile.
fn work_soon() {
    let work = WORK.with(|work| work.borrow().clone());
    let set = work.map(|work| {
        let work = work.as_ref().as_ref().unchecked_ref();
        scope().set_timeout_with_callback(work)
    });
    if let Some(Err(error)) = set {
        page::log(&page::error_text(&error));
    }
}
