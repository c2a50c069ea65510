//! The address of the page, which encodes the current view for sharing and for the browser's history.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use callgrove_gui::{CallgroveApp, Place};
use eframe::egui;
use wasm_bindgen::prelude::*;

use super::page;

/// The time after which an unchanged place is written to the address; browsers allow a few writes a second.
const SETTLE_TIME: Duration = Duration::from_millis(400);

/// The state of the address.
pub(super) struct Address {
    /// The place that was last written or read.
    written: Place,
    /// The current place, and the time since when it is current, in milliseconds since the epoch.
    latest: (Place, f64),
    /// True if the user moved through the browser's history or changed the address.
    has_moved: Rc<RefCell<bool>>,
}

impl Address {
    /// Opens the place in the address.
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
            // Fired by back and forward, and when the user changes the address.
            window.add_event_listener_with_callback("popstate", listening.unchecked_ref())
        });
        if let Some(Err(error)) = listened {
            page::log(&page::error_text(&error));
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

    /// Follows the address or the application, whichever has changed.
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
        if rested_ms < SETTLE_TIME.as_millis() as f64 {
            return ctx.request_repaint_after(SETTLE_TIME);
        }
        // A change of the time range alone is not a step of the history, nor is the first place.
        let is_step =
            self.written != Place::default() && !place.differs_in_time_alone(&self.written);
        if let Err(error) = write(&place.to_text(), is_step) {
            page::log(&page::error_text(&error));
        }
        self.written = place.clone();
    }
}

/// Returns the text after the `#` of the address.
fn fragment() -> String {
    let hash = page::window().and_then(|window| window.location().hash().ok());
    hash.map_or_else(String::new, |hash| hash.trim_start_matches('#').to_owned())
}

fn write(text: &str, is_step: bool) -> Result<(), JsValue> {
    let history = page::window().ok_or("not in a page")?.history()?;
    let address = format!("#{text}");
    if is_step {
        history.push_state_with_url(&JsValue::NULL, "", Some(&address))
    } else {
        history.replace_state_with_url(&JsValue::NULL, "", Some(&address))
    }
}
