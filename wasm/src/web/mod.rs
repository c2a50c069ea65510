//! The page: everything that needs a browser.

mod address;
mod app;
mod browser;
mod connection;
mod files;
mod mirror;
mod own;
mod page;
mod platform;

use wasm_bindgen::prelude::*;
use web_sys::HtmlCanvasElement;

use app::WebApp;
pub use own::serve;

/// Starts the application on the page's canvas; `spawn` makes a worker for a session of its own.
///
/// # Errors
/// The page lacks the canvas, or the browser gives no WebGL.
#[wasm_bindgen]
pub async fn start(spawn: js_sys::Function) -> Result<(), JsValue> {
    // The runner calls it after it has logged the stack.
    std::panic::set_hook(Box::new(|panic| page::tell_of_panic(&panic.to_string())));
    let canvas: HtmlCanvasElement = page::element("canvas")?;
    let runner = eframe::WebRunner::new();
    let served = connection::served().await?;
    let create = |creation: &eframe::CreationContext<'_>| {
        Ok(Box::new(WebApp::new(creation, served, spawn)) as Box<dyn eframe::App>)
    };
    runner
        .start(canvas, eframe::WebOptions::default(), Box::new(create))
        .await?;
    page::element::<web_sys::HtmlElement>("message")?.set_hidden(true);
    Ok(())
}
