//! The page: all code that needs a browser.

mod address;
mod app;
mod browser;
mod dropped_files;
mod files;
mod local_session;
mod mirror;
mod page;
mod platform;
mod remote_session;

use wasm_bindgen::prelude::*;
use web_sys::HtmlCanvasElement;

use app::WebApp;
pub use local_session::serve;

/// Starts the application on the page's canvas. `spawn` creates a worker for a local session.
///
/// # Errors
/// If the page has no canvas, or the browser provides no WebGL.
#[wasm_bindgen]
pub async fn start(spawn: js_sys::Function) -> Result<(), JsValue> {
    // The runner calls this hook after it has logged the stack.
    std::panic::set_hook(Box::new(|panic| page::show_panic(&panic.to_string())));
    let canvas: HtmlCanvasElement = page::element("canvas")?;
    let runner = eframe::WebRunner::new();
    let served = remote_session::served().await?;
    let create = |creation: &eframe::CreationContext<'_>| {
        Ok(Box::new(WebApp::new(creation, served, spawn)) as Box<dyn eframe::App>)
    };
    runner
        .start(canvas, eframe::WebOptions::default(), Box::new(create))
        .await?;
    page::element::<web_sys::HtmlElement>("message")?.set_hidden(true);
    Ok(())
}
