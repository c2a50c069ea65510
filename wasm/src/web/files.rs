//! The user's files: dropped on the page, chosen in the browser's dialog, or listed in the document.
//!
//! A local session gets the browser's handle of a file, and its worker reads the file itself in slices, so the page
//! holds nothing of it and keeps drawing. A server cannot reach the user's disk, so it is sent the whole file.

use callgrove_session::{Command, SessionHandle};
use callgrove_source::PATH_SEPARATOR;
use callgrove_wire::MAX_FILE_BYTES;
use eframe::egui;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Blob, DragEvent, HtmlInputElement, Response};

use super::{dropped_files, page};
use crate::file_store::{FileStore, open_command};

/// Number of bytes that are read between two frames.
const SLICE_BYTES: f64 = (4_u32 << 20) as f64;

/// The destination of files.
#[derive(Clone)]
pub(super) enum Files {
    /// The worker of the page.
    Local(FileStore<Blob>),
    /// A server.
    Remote(FileStore<Vec<u8>>),
}

impl Files {
    /// Adds a file that comes with the program.
    pub(super) fn put(&self, name: &str, content: &[u8]) {
        match self {
            Self::Local(store) => {
                let parts = Array::of1(&Uint8Array::from(content));
                match Blob::new_with_u8_array_sequence(&parts) {
                    Ok(file) => store.put(name, file),
                    Err(error) => page::log(&page::error_text(&error)),
                }
            }
            Self::Remote(store) => store.put(name, content.to_vec()),
        }
    }

    /// Adds a file of the user. For one that cannot be read, or is too large, the session reports that it did not
    /// arrive, and a remedy.
    async fn take(&self, name: &str, file: Blob) {
        match self {
            Self::Local(store) => store.put(name, file),
            Self::Remote(_) if file.size() > MAX_FILE_BYTES as f64 => {}
            Self::Remote(store) => match content_of(&file).await {
                Ok(content) => store.put(name, content),
                Err(error) => {
                    let cause = page::error_text(&error);
                    page::log(&format!("{name} cannot be read: {cause}"));
                }
            },
        }
    }

    /// Opens what is dropped on the page from now on: files and folders that are dropped together are one run.
    ///
    /// # Errors
    /// The browser's error.
    pub(super) fn open_dropped(
        &self,
        session: &SessionHandle,
        ctx: &egui::Context,
    ) -> Result<(), JsValue> {
        let (files, session, ctx) = (self.clone(), session.clone(), ctx.clone());
        let drop = Closure::<dyn FnMut(DragEvent)>::new(move |event: DragEvent| {
            event.prevent_default();
            // The entries can only be taken during the event.
            let entries = dropped_files::entries(&event);
            let (files, session, ctx) = (files.clone(), session.clone(), ctx.clone());
            spawn_local(async move {
                let mut names = Vec::new();
                for entry in entries {
                    names.push(entry.name());
                    for (name, file) in dropped_files::files_of(entry).await {
                        files.take(&name, file).await;
                    }
                }
                if !names.is_empty() {
                    let source = names.join(PATH_SEPARATOR);
                    open(open_command(&source), &source, &session, &ctx);
                }
            });
        });
        let page = page::document()?;
        // Before the canvas, which would take files only.
        page.add_event_listener_with_callback_and_bool(
            "drop",
            drop.into_js_value().unchecked_ref(),
            true,
        )
    }

    /// Opens the files that the document lists.
    pub(super) fn open_listed(&self, session: &SessionHandle, ctx: &egui::Context) {
        let Some(names) = page::meta_content("callgrove-open") else {
            return;
        };
        let (files, session, ctx) = (self.clone(), session.clone(), ctx.clone());
        spawn_local(async move {
            for name in names.split(' ') {
                match fetch(name).await {
                    Ok(file) => files.take(name, file).await,
                    Err(error) => {
                        let cause = page::error_text(&error);
                        page::log(&format!("{name} cannot be fetched: {cause}"));
                    }
                }
            }
            let last = names.rsplit(' ').next().unwrap_or_default();
            let mut command = open_command(last);
            if let Command::OpenTrace { function, .. } = &mut command {
                *function = page::meta_content("callgrove-function");
            }
            open(command, last, &session, &ctx);
        });
    }

    /// Lets the user choose a file whose name ends as in `accept`, or several. `reply` gets its name, or theirs as one
    /// source, once they can be read.
    pub(super) fn choose(
        &self,
        accept: &str,
        is_multiple: bool,
        reply: Box<dyn FnOnce(Option<String>)>,
    ) -> Result<(), JsValue> {
        let input: HtmlInputElement = page::document()?.create_element("input")?.unchecked_into();
        input.set_type("file");
        input.set_accept(accept);
        input.set_multiple(is_multiple);
        let (chosen, files) = (input.clone(), self.clone());
        let take = Closure::once_into_js(move || {
            spawn_local(async move {
                let list = chosen.files();
                let all = (0..).map_while(|at| list.as_ref()?.get(at));
                let mut names = Vec::new();
                for file in all.collect::<Vec<_>>() {
                    names.push(file.name());
                    files.take(&file.name(), file.into()).await;
                }
                reply((!names.is_empty()).then(|| names.join(PATH_SEPARATOR)));
            });
        });
        input.set_onchange(Some(take.unchecked_ref()));
        input.click();
        Ok(())
    }
}

fn open(command: Command, name: &str, session: &SessionHandle, ctx: &egui::Context) {
    if session.send(command).is_err() {
        page::log(&format!("the session cannot open {name} now"));
    }
    ctx.request_repaint();
}

async fn fetch(name: &str) -> Result<Blob, JsValue> {
    let window = page::window().ok_or("not in a page")?;
    let answer: Response = JsFuture::from(window.fetch_with_str(name))
        .await?
        .dyn_into()?;
    if !answer.ok() {
        return Err(JsValue::from_str(&answer.status_text()));
    }
    JsFuture::from(answer.blob()?).await?.dyn_into()
}

/// Copies a slice of a file into `bytes`. The file may have changed since it was chosen.
pub(super) fn copy(slice: &Uint8Array, bytes: &mut [u8]) -> Result<(), JsValue> {
    if slice.length() as usize != bytes.len() {
        return Err(JsValue::from_str("the file has become shorter"));
    }
    slice.copy_to(bytes);
    Ok(())
}

async fn content_of(file: &Blob) -> Result<Vec<u8>, JsValue> {
    let num_bytes = file.size();
    let mut content = Vec::with_capacity(num_bytes as usize);
    let mut at = 0.0;
    while at < num_bytes {
        let end = num_bytes.min(at + SLICE_BYTES);
        let slice = file.slice_with_f64_and_f64(at, end)?;
        let slice = Uint8Array::new(&JsFuture::from(slice.array_buffer()).await?);
        content.resize(end as usize, 0);
        copy(&slice, &mut content[at as usize..])?;
        at = end;
    }
    Ok(content)
}
