//! Files of the person: dropped on the page, chosen in the browser's dialog, or told of by the document.
//!
//! The worker of a page that is alone gets the browser's handle of a file and reads it itself, a slice at a time, so the
//! page holds nothing of it and draws on. A server cannot reach the person's disk: it is sent the file as a whole.

use callgrove_session::wire::MAX_FILE_BYTES;
use callgrove_session::{Command, SessionHandle};
use eframe::egui;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Blob, HtmlInputElement, Response};

use super::page;
use crate::shelf::{Shelf, open_command};

/// How much is read at a time between two frames.
const SLICE_BYTES: f64 = (4_u32 << 20) as f64;

/// Where files go.
#[derive(Clone)]
pub(super) enum Files {
    /// To the page's own worker.
    Own(Shelf<Blob>),
    /// To a server.
    Far(Shelf<Vec<u8>>),
}

impl Files {
    /// Takes a file that the program itself brings.
    pub(super) fn put(&self, name: &str, content: &[u8]) {
        match self {
            Self::Own(shelf) => {
                let parts = Array::of1(&Uint8Array::from(content));
                match Blob::new_with_u8_array_sequence(&parts) {
                    Ok(file) => shelf.put(name, file),
                    Err(error) => page::log(&page::words_of(&error)),
                }
            }
            Self::Far(shelf) => shelf.put(name, content.to_vec()),
        }
    }

    /// Takes a file of the person. Of one that cannot be read, or that is too large, the session says that it did not
    /// arrive, and what to do.
    async fn take(&self, name: &str, file: Blob) {
        match self {
            Self::Own(shelf) => shelf.put(name, file),
            Self::Far(_) if file.size() > MAX_FILE_BYTES as f64 => {}
            Self::Far(shelf) => match content_of(&file).await {
                Ok(content) => shelf.put(name, content),
                Err(error) => {
                    let cause = page::words_of(&error);
                    page::log(&format!("{name} cannot be read: {cause}"));
                }
            },
        }
    }

    /// Takes a file that was dropped, and opens it.
    pub(super) fn open_dropped(
        &self,
        file: &egui::DroppedFileHandle,
        session: &SessionHandle,
        ctx: &egui::Context,
    ) {
        let Some(file) = file.web_file().cloned() else {
            return;
        };
        let (files, session, ctx) = (self.clone(), session.clone(), ctx.clone());
        spawn_local(async move {
            let name = file.name();
            files.take(&name, file.into()).await;
            open(open_command(&name), &name, &session, &ctx);
        });
    }

    /// Opens what the document says that it comes with.
    pub(super) fn open_told(&self, session: &SessionHandle, ctx: &egui::Context) {
        let Some(names) = page::told("callgrove-open") else {
            return;
        };
        let (files, session, ctx) = (self.clone(), session.clone(), ctx.clone());
        spawn_local(async move {
            for name in names.split(' ') {
                match fetched(name).await {
                    Ok(file) => files.take(name, file).await,
                    Err(error) => {
                        let cause = page::words_of(&error);
                        page::log(&format!("{name} cannot be fetched: {cause}"));
                    }
                }
            }
            let last = names.rsplit(' ').next().unwrap_or_default();
            let mut command = open_command(last);
            if let Command::OpenTrace { function, .. } = &mut command {
                *function = page::told("callgrove-function");
            }
            open(command, last, &session, &ctx);
        });
    }

    /// Asks for a file whose name ends as in `accept`; `reply` gets its name once it can be read.
    pub(super) fn choose(
        &self,
        accept: &str,
        reply: Box<dyn FnOnce(Option<String>)>,
    ) -> Result<(), JsValue> {
        let input: HtmlInputElement = page::document()?.create_element("input")?.unchecked_into();
        input.set_type("file");
        input.set_accept(accept);
        let (chosen, files) = (input.clone(), self.clone());
        let take = Closure::once_into_js(move || {
            spawn_local(async move {
                let file = chosen.files().and_then(|files| files.get(0));
                let name = file.as_ref().map(web_sys::File::name);
                if let (Some(file), Some(name)) = (file, &name) {
                    files.take(name, file.into()).await;
                }
                reply(name);
            });
        });
        input.set_onchange(Some(take.unchecked_ref()));
        input.click();
        Ok(())
    }
}

fn open(command: Command, name: &str, session: &SessionHandle, ctx: &egui::Context) {
    if session.send(command).is_err() {
        page::log(&format!("the session does not take {name} now"));
    }
    ctx.request_repaint();
}

async fn fetched(name: &str) -> Result<Blob, JsValue> {
    let window = page::window().ok_or("this is no page")?;
    let answer: Response = JsFuture::from(window.fetch_with_str(name))
        .await?
        .dyn_into()?;
    if !answer.ok() {
        return Err(JsValue::from_str(&answer.status_text()));
    }
    JsFuture::from(answer.blob()?).await?.dyn_into()
}

/// Fills `bytes` with what was read of a file, which may have changed since it was chosen.
pub(super) fn copy(slice: &Uint8Array, bytes: &mut [u8]) -> Result<(), JsValue> {
    if slice.length() as usize != bytes.len() {
        return Err(JsValue::from_str("it has become shorter"));
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
