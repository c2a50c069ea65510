//! Files and folders that the user drops on the page.

use js_sys::{Array, Function, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, DragEvent, FileSystemDirectoryEntry, FileSystemEntry, FileSystemFileEntry};

use super::page;

/// Maximum depth of folders: more is no run.
const MAX_DEPTH: usize = 8;

/// Returns the files and folders of a drop.
pub(super) fn entries(event: &DragEvent) -> Vec<FileSystemEntry> {
    let items = event.data_transfer().map(|data| data.items());
    let all = (0..).map_while(|at| items.as_ref()?.get(at));
    let entries = all.filter_map(|item| item.webkit_get_as_entry().ok().flatten());
    entries.collect()
}

/// Returns a file, or all files in a folder, with their paths from the folder on. What cannot be read is logged and
/// left out.
pub(super) async fn files_of(entry: FileSystemEntry) -> Vec<(String, Blob)> {
    let mut files = Vec::new();
    let name = entry.name();
    let mut open = vec![(entry, name, 0)];
    while let Some((entry, name, depth)) = open.pop() {
        let read = if entry.is_file() {
            let file = file_of(entry.unchecked_ref()).await;
            file.map(|file| files.push((name.clone(), file)))
        } else if depth < MAX_DEPTH {
            let below = entries_of(entry.unchecked_ref()).await;
            below.map(|below| {
                open.extend(below.into_iter().map(|entry| {
                    let name = format!("{name}/{}", entry.name());
                    (entry, name, depth + 1)
                }));
            })
        } else {
            Ok(())
        };
        if let Err(error) = read {
            page::log(&format!(
                "{name} cannot be read: {}",
                page::error_text(&error)
            ));
        }
    }
    files
}

async fn file_of(entry: &FileSystemFileEntry) -> Result<Blob, JsValue> {
    let file = Promise::new(&mut |accept: Function, refuse: Function| {
        entry.file_with_callback_and_callback(&accept, &refuse);
    });
    JsFuture::from(file).await?.dyn_into()
}

/// Returns the entries of a folder, which the browser delivers in parts.
async fn entries_of(folder: &FileSystemDirectoryEntry) -> Result<Vec<FileSystemEntry>, JsValue> {
    let reader = folder.create_reader();
    let mut entries = Vec::new();
    loop {
        let part = Promise::new(&mut |accept: Function, refuse: Function| {
            if let Err(error) = reader.read_entries_with_callback_and_callback(&accept, &refuse) {
                page::log(&page::error_text(&error));
            }
        });
        let part: Array = JsFuture::from(part).await?.dyn_into()?;
        if part.length() == 0 {
            return Ok(entries);
        }
        entries.extend(part.iter().map(JsCast::unchecked_into::<FileSystemEntry>));
    }
}
