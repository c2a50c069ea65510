//! Keeps an outline of the frame in the document, for screen readers and tests.
//!
//! The elements lie over the canvas where their widgets are drawn, transparent and without pointer events. A click by a
//! screen reader is passed on to the widget.

use std::sync::{Arc, Mutex, PoisonError};

use eframe::egui::accesskit::{Action, ActionRequest, NodeId, TreeId};
use eframe::egui::{Context, Event, FullOutput, Plugin, RawInput};
use wasm_bindgen::prelude::*;
use web_sys::{Element, HtmlElement};

use super::page;
use crate::outline::{OutlineItem, outline_of};

/// Minimum time between two updates: often enough for a reader, rare enough not to cost a frame.
const UPDATE_INTERVAL_MS: f64 = 250.0;
/// Attributes that an element may have, in addition to id and text.
const ATTRIBUTES: [&str; 8] = [
    "role",
    "aria-label",
    "aria-owns",
    "aria-checked",
    "aria-pressed",
    "aria-current",
    "aria-disabled",
    "aria-valuetext",
];

pub(super) struct Mirror {
    /// The outline in the document.
    shown: Vec<OutlineItem>,
    next_ms: f64,
    /// Ids of widgets that a screen reader clicked.
    clicks: Arc<Mutex<Vec<u64>>>,
}

impl Mirror {
    pub(super) fn new(ctx: &Context) -> Self {
        let clicks = Arc::default();
        if let Err(error) = listen(ctx.clone(), Arc::clone(&clicks)) {
            page::log(&page::error_text(&error));
        }
        Self {
            shown: Vec::new(),
            next_ms: 0.0,
            clicks,
        }
    }
}

impl Plugin for Mirror {
    fn debug_name(&self) -> &'static str {
        "mirror"
    }

    fn setup(&mut self, ctx: &Context) {
        ctx.enable_accesskit();
    }

    fn input_hook(&mut self, _: &Context, input: &mut RawInput) {
        let mut clicks = self.clicks.lock().unwrap_or_else(PoisonError::into_inner);
        for node in clicks.drain(..) {
            input
                .events
                .push(Event::AccessKitActionRequest(ActionRequest {
                    action: Action::Click,
                    target_tree: TreeId::ROOT,
                    target_node: NodeId(node),
                    data: None,
                }));
        }
    }

    fn output_hook(&mut self, ctx: &Context, output: &mut FullOutput) {
        let Some(update) = &output.platform_output.accesskit_update else {
            return;
        };
        let now_ms = js_sys::Date::now();
        if now_ms < self.next_ms {
            let left_ms = (self.next_ms - now_ms).min(UPDATE_INTERVAL_MS);
            ctx.request_repaint_after_secs((left_ms / 1e3) as f32);
            return;
        }
        self.next_ms = now_ms + UPDATE_INTERVAL_MS;
        let items = outline_of(update);
        if items == self.shown {
            return;
        }
        if let Err(error) = write(&self.shown, &items) {
            page::log(&page::error_text(&error));
        }
        self.shown = items;
    }
}

/// Updates the document from one outline to the next. Elements that do not change are not touched.
fn write(before: &[OutlineItem], items: &[OutlineItem]) -> Result<(), JsValue> {
    let document = page::document()?;
    let outline: Element = page::element("outline")?;
    for (index, item) in items.iter().enumerate() {
        if before.get(index) == Some(item) {
            continue;
        }
        let known = outline.children().item(index as u32);
        let element = if let Some(element) = known {
            element
        } else {
            let made = document.create_element("div")?;
            outline.append_child(&made)?;
            made
        };
        describe(&element, item)?;
    }
    while let Some(surplus) = outline.children().item(items.len() as u32) {
        surplus.remove();
    }
    let canvas: Element = page::element("canvas")?;
    match items.iter().find(|item| item.is_focused) {
        Some(item) => canvas.set_attribute("aria-activedescendant", &id_of(item.node)),
        None => canvas.remove_attribute("aria-activedescendant"),
    }
}

fn describe(element: &Element, item: &OutlineItem) -> Result<(), JsValue> {
    for attribute in ATTRIBUTES {
        element.remove_attribute(attribute)?;
    }
    let id = id_of(item.node);
    element.set_id(&if item.owned.is_empty() {
        id
    } else {
        format!("{id}-list")
    });
    if !item.role.is_empty() {
        element.set_attribute("role", item.role)?;
    }
    if item.owned.is_empty() {
        match &item.value {
            Some(value) => {
                element.set_attribute("aria-label", &item.name)?;
                element.set_attribute("aria-valuetext", value)?;
                element.set_text_content(Some(value));
            }
            None => element.set_text_content(Some(&item.name)),
        }
    } else {
        let owned: Vec<String> = item.owned.iter().copied().map(id_of).collect();
        element.set_attribute("aria-owns", &owned.join(" "))?;
        element.set_text_content(None);
    }
    if let Some((attribute, is_on)) = item.state {
        element.set_attribute(attribute, is_on)?;
    }
    if item.is_disabled {
        element.set_attribute("aria-disabled", "true")?;
    }
    let style = element.unchecked_ref::<HtmlElement>().style();
    for (property, points) in ["left", "top", "width", "height"].iter().zip(item.rect) {
        style.set_property(property, &format!("{points}px"))?;
    }
    Ok(())
}

fn id_of(node: u64) -> String {
    format!("widget-{node}")
}

/// Listens to clicks on the elements.
fn listen(ctx: Context, clicks: Arc<Mutex<Vec<u64>>>) -> Result<(), JsValue> {
    let take = move |event: web_sys::Event| {
        let target = event.target().and_then(|target| target.dyn_into().ok());
        let id = target.map(|element: Element| element.id());
        let node = id.and_then(|id| id.strip_prefix("widget-")?.parse().ok());
        if let Some(node) = node {
            clicks
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(node);
            ctx.request_repaint();
        }
    };
    let take = Closure::<dyn FnMut(web_sys::Event)>::new(take).into_js_value();
    let outline: Element = page::element("outline")?;
    outline.add_event_listener_with_callback("click", take.unchecked_ref())
}
