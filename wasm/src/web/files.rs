//! Files on their way to the shelf: dropped on the page, or chosen in the browser's dialog.

use callgrove_session::{Command, SessionHandle};
use eframe::egui;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{File, HtmlInputElement, Response};

use super::page;
use crate::shelf::{Shelf, open_command};

/// Reads a file that was dropped, and opens it.
pub(super) fn open_dropped(
    file: egui::DroppedFileHandle,
    shelf: &Shelf,
    session: &SessionHandle,
    ctx: &egui::Context,
) {
    let (shelf, session, ctx) = (shelf.clone(), session.clone(), ctx.clone());
    spawn_local(async move {
        let name = file.path().to_string_lossy().into_owned();
        // Without its content the session says that the file is not there, and what to do.
        match file.bytes_async().await {
            Ok(content) => shelf.put(&name, content),
            Err(cause) => page::log(&format!("{name} cannot be read: {cause}")),
        }
        if session.send(open_command(&name)).is_err() {
            page::log(&format!("the session does not take {name} now"));
        }
        ctx.request_repaint();
    });
}

/// Opens what the document says that it comes with.
pub(super) fn open_told(shelf: &Shelf, session: &SessionHandle, ctx: &egui::Context) {
    let Some(names) = page::told("callgrove-open") else {
        return;
    };
    let (shelf, session, ctx) = (shelf.clone(), session.clone(), ctx.clone());
    spawn_local(async move {
        for name in names.split(' ') {
            match fetched(name).await {
                Ok(content) => shelf.put(name, content),
                Err(error) => page::log(&format!(
                    "{name} cannot be fetched: {}",
                    page::words_of(&error)
                )),
            }
        }
        let last = names.rsplit(' ').next().unwrap_or_default();
        let mut open = open_command(last);
        if let Command::OpenTrace { function, .. } = &mut open {
            *function = page::told("callgrove-function");
        }
        if session.send(open).is_err() {
            page::log(&format!("the session does not take {last} now"));
        }
        ctx.request_repaint();
    });
}

async fn fetched(name: &str) -> Result<Vec<u8>, JsValue> {
    let window = page::window().ok_or("this is no page")?;
    let answer: Response = JsFuture::from(window.fetch_with_str(name))
        .await?
        .dyn_into()?;
    if !answer.ok() {
        return Err(JsValue::from_str(&answer.status_text()));
    }
    let content = JsFuture::from(answer.array_buffer()?).await?;
    Ok(js_sys::Uint8Array::new(&content).to_vec())
}

/// Asks for a file whose name ends as in `accept`; `reply` gets its name once it is on the shelf.
pub(super) fn choose(
    accept: &str,
    shelf: &Shelf,
    reply: Box<dyn FnOnce(Option<String>)>,
) -> Result<(), JsValue> {
    let input: HtmlInputElement = page::document()?.create_element("input")?.unchecked_into();
    input.set_type("file");
    input.set_accept(accept);
    let (chosen, shelf) = (input.clone(), shelf.clone());
    let take = Closure::once_into_js(move || {
        spawn_local(async move {
            let file = chosen.files().and_then(|files| files.get(0));
            let name = file.as_ref().map(File::name);
            if let (Some(file), Some(name)) = (file, &name) {
                match content_of(&file).await {
                    Ok(content) => shelf.put(name, content),
                    Err(error) => {
                        page::log(&format!(
                            "{name} cannot be read: {}",
                            page::words_of(&error)
                        ));
                    }
                }
            }
            reply(name);
        });
    });
    input.set_onchange(Some(take.unchecked_ref()));
    input.click();
    Ok(())
}

async fn content_of(file: &File) -> Result<Vec<u8>, JsValue> {
    let buffer = JsFuture::from(file.array_buffer()).await?;
    Ok(js_sys::Uint8Array::new(&buffer).to_vec())
}
