//! The browser's storage and downloads.

use callgrove_wire::ViewerFile;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{Blob, BlobPropertyBag, HtmlAnchorElement, Storage, Url};

use super::page;

/// Returns the text that is stored under a key.
pub(super) fn stored(key: &str) -> Option<String> {
    storage()?.get_item(key).ok().flatten()
}

/// Returns all keys with a prefix, and their texts.
pub(super) fn stored_with_prefix(start: &str) -> Vec<(String, String)> {
    let Some(storage) = storage() else {
        return Vec::new();
    };
    let keys = (0..storage.length().unwrap_or(0)).filter_map(|at| storage.key(at).ok()?);
    let wanted = keys.filter(|key| key.starts_with(start));
    wanted
        .filter_map(|key| Some((stored(&key)?, key)))
        .map(|(text, key)| (key, text))
        .collect()
}

/// Stores a text under a key, beyond the lifetime of the page. The error is a message.
pub(super) fn store(key: &str, text: &str) -> Result<(), String> {
    let storage = storage().ok_or("this browser stores no data for this page; allow site data")?;
    let result = storage.set_item(key, text);
    result.map_err(|error| format!("{}: free some site data", page::error_text(&error)))
}

/// Downloads a file.
pub(super) fn download(file: &ViewerFile) {
    if let Err(error) = save(&file.name, &file.content) {
        let cause = page::error_text(&error);
        page::log(&format!("cannot download {}: {cause}", file.name));
    }
}

/// Returns the storage; `None` if the user has blocked it.
fn storage() -> Option<Storage> {
    page::window()?.local_storage().ok().flatten()
}

/// Downloads a file with this name and content.
///
/// # Errors
/// The browser's error.
pub(super) fn save(name: &str, content: &[u8]) -> Result<(), JsValue> {
    let parts = Array::of1(&Uint8Array::from(content));
    let options = BlobPropertyBag::new();
    options.set_type("application/octet-stream");
    let blob = Blob::new_with_u8_array_sequence_and_options(&parts, &options)?;
    let url = Url::create_object_url_with_blob(&blob)?;
    let link: HtmlAnchorElement = page::document()?.create_element("a")?.unchecked_into();
    link.set_href(&url);
    link.set_download(name);
    link.click();
    Url::revoke_object_url(&url)
}
