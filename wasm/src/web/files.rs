//! Files on their way to the shelf: dropped on the page, or chosen in the browser's dialog.

use callgrove_session::SessionHandle;
use eframe::egui;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{File, HtmlInputElement};

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
