//! The document around the canvas: title, icon, status, and the message that replaces a failed canvas.

use wasm_bindgen::prelude::*;
use web_sys::{Document, HtmlElement, Window};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console)]
    fn error(text: &str);
}

/// Title of the message after a panic.
const STOPPED: &str = "Callgrove has stopped";

pub(super) fn window() -> Option<Window> {
    web_sys::window()
}

pub(super) fn document() -> Result<Document, JsValue> {
    let document = window().and_then(|window| window.document());
    document.ok_or_else(|| JsValue::from_str("not in a page"))
}

/// Returns the element with an id.
pub(super) fn element<T: JsCast>(id: &str) -> Result<T, JsValue> {
    let found = document()?.get_element_by_id(id);
    let found = found.and_then(|element| element.dyn_into().ok());
    found.ok_or_else(|| JsValue::from_str(&format!("the page has no #{id} of this kind")))
}

/// Returns the content of the `<meta>` element with a name.
pub(super) fn meta_content(name: &str) -> Option<String> {
    let found = document()
        .ok()?
        .query_selector(&format!("meta[name={name}]"));
    found.ok()??.get_attribute("content")
}

/// Logs an error to the console, for developers only.
pub(super) fn log(text: &str) {
    error(text);
}

/// Returns the text of a browser error.
pub(super) fn error_text(thrown: &JsValue) -> String {
    let text = thrown
        .dyn_ref::<js_sys::Error>()
        .map(js_sys::Error::message);
    text.map_or_else(|| format!("{thrown:?}"), String::from)
}

/// Converts one of our errors to a browser error.
pub(super) fn js_error(error: &impl ToString) -> JsValue {
    JsValue::from_str(&error.to_string())
}

/// Shows the source in title and icon, and the status.
pub(super) fn show_status(source: Option<&str>, status: &str) {
    if let Err(error) = try_show_status(source, status) {
        log(&error_text(&error));
    }
}

fn try_show_status(source: Option<&str>, status: &str) -> Result<(), JsValue> {
    let title = source.map_or_else(
        || "Callgrove".to_owned(),
        |source| format!("{source} – Callgrove"),
    );
    document()?.set_title(&title);
    if let Some(source) = source {
        element::<web_sys::Element>("icon")?.set_attribute("href", &icon_of(source))?;
    }
    element::<HtmlElement>("status")?.set_text_content(Some(status));
    Ok(())
}

/// Returns an icon with a colour and a letter of the run, so that tabs can be distinguished.
fn icon_of(source: &str) -> String {
    // Names that differ in one letter get distant hues.
    let hue = source
        .bytes()
        .fold(0_u32, |hue, byte| (hue * 31 + u32::from(byte) * 47) % 360);
    let letter = source.chars().find(char::is_ascii_alphanumeric);
    let letter = letter.unwrap_or('C').to_ascii_uppercase();
    format!(
        "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E\
         %3Crect width='32' height='32' rx='7' fill='hsl({hue} 55%25 36%25)'/%3E\
         %3Ctext x='16' y='23' font-family='sans-serif' font-size='20' font-weight='bold' \
         text-anchor='middle' fill='white'%3E{letter}%3C/text%3E%3C/svg%3E"
    )
}

/// Covers the canvas with the panic and a remedy. Later panics, which follow from the first, are not shown.
pub(super) fn show_panic(panic: &str) {
    let shown = || -> Result<(), JsValue> {
        let title = element::<HtmlElement>("message-title")?;
        if title.text_content().as_deref() == Some(STOPPED) {
            return Ok(());
        }
        let text = "Labels are kept in this browser: reload the page and open the run again. If it happens again, \
                    report it with the text below.";
        title.set_text_content(Some(STOPPED));
        element::<HtmlElement>("message-text")?.set_text_content(Some(text));
        element::<HtmlElement>("message-detail")?.set_text_content(Some(panic));
        element::<HtmlElement>("message")?.set_hidden(false);
        Ok(())
    };
    if let Err(error) = shown() {
        log(&error_text(&error));
    }
}
