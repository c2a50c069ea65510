//! The address of the page: where the person is, to be sent to others and to go back to.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use callgrove_gui::{CallgroveApp, Place};
use eframe::egui;
use wasm_bindgen::prelude::*;

use super::page;

/// A place is written down once it has been the same for so long; browsers allow a few writes a second.
const REST: Duration = Duration::from_millis(400);

/// What the address says, and what it shall say.
pub(super) struct Address {
    /// As it was written, or read.
    written: Place,
    /// Where the person has been since when, in milliseconds since the epoch.
    latest: (Place, f64),
    /// Whether the person used the browser's own way to go elsewhere.
    has_moved: Rc<RefCell<bool>>,
}

impl Address {
    /// Goes where the address leads.
    pub(super) fn open(app: &mut CallgroveApp, ctx: &egui::Context) -> Self {
        let has_moved = Rc::new(RefCell::new(false));
        let listening = {
            let (has_moved, ctx) = (Rc::clone(&has_moved), ctx.clone());
            Closure::<dyn FnMut()>::new(move || {
                *has_moved.borrow_mut() = true;
                ctx.request_repaint();
            })
        };
        let listening = listening.into_js_value();
        let listened = page::window().map(|window| {
            // It comes with steps back and forward, and when a person changes the address.
            window.add_event_listener_with_callback("popstate", listening.unchecked_ref())
        });
        if let Some(Err(error)) = listened {
            page::log(&page::words_of(&error));
        }
        let text = fragment();
        let written = Place::from_text(&text);
        if !text.is_empty() {
            app.go_to_place(written.clone());
        }
        Self {
            latest: (written.clone(), 0.0),
            written,
            has_moved,
        }
    }

    /// Follows the person, or the browser.
    pub(super) fn update(&mut self, app: &mut CallgroveApp, ctx: &egui::Context) {
        if self.has_moved.replace(false) {
            let place = Place::from_text(&fragment());
            if place != self.written {
                self.written = place.clone();
                app.go_to_place(place);
            }
        }
        let Some(place) = app.place() else {
            return;
        };
        let now_ms = js_sys::Date::now();
        if place != self.latest.0 {
            self.latest = (place, now_ms);
        }
        let (place, since_ms) = &self.latest;
        if *place == self.written {
            return;
        }
        let rested_ms = now_ms - since_ms;
        if rested_ms < REST.as_millis() as f64 {
            return ctx.request_repaint_after(REST);
        }
        // What is only moved in time is no place of its own, nor is the first one.
        let is_step =
            self.written != Place::default() && !place.differs_in_time_alone(&self.written);
        if let Err(error) = write(&place.to_text(), is_step) {
            page::log(&page::words_of(&error));
        }
        self.written = place.clone();
    }
}

/// What stands behind the `#` of the address.
fn fragment() -> String {
    let hash = page::window().and_then(|window| window.location().hash().ok());
    hash.map_or_else(String::new, |hash| hash.trim_start_matches('#').to_owned())
}

fn write(text: &str, is_step: bool) -> Result<(), JsValue> {
    let history = page::window().ok_or("this is no page")?.history()?;
    let address = format!("#{text}");
    if is_step {
        history.push_state_with_url(&JsValue::NULL, "", Some(&address))
    } else {
        history.replace_state_with_url(&JsValue::NULL, "", Some(&address))
    }
}
