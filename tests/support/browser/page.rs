//! One tab of the browser.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::connection::{Connection, Events, described};
use super::{Options, Theme, wait_until};
use crate::picture::Picture;

/// A tab. Errors of the page and its workers are collected.
pub struct Page {
    connection: Rc<RefCell<Connection>>,
    session: String,
}

impl Page {
    pub(super) fn open(connection: &Rc<RefCell<Connection>>, options: &Options) -> Result<Self> {
        let session = {
            let mut connection = connection.borrow_mut();
            let target = connection.call(
                None,
                "Target.createTarget",
                &json!({ "url": "about:blank" }),
            )?;
            let attach = json!({ "targetId": target["targetId"], "flatten": true });
            let attached = connection.call(None, "Target.attachToTarget", &attach)?;
            let session = attached["sessionId"].as_str().context("a session")?;
            connection.watch(session);
            session.to_owned()
        };
        let page = Self {
            connection: Rc::clone(connection),
            session,
        };
        page.prepare(options)?;
        Ok(page)
    }

    fn prepare(&self, options: &Options) -> Result<()> {
        for domain in ["Page", "Runtime", "Log", "Network", "DOM"] {
            self.call(&format!("{domain}.enable"), &json!({}))?;
        }
        let workers =
            json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        self.call("Target.setAutoAttach", &workers)?;
        let scheme = match options.theme {
            Theme::Dark => "dark",
            Theme::Light => "light",
        };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call(
            "Emulation.setEmulatedMedia",
            &json!({ "features": features }),
        )?;
        if options.density == 1 {
            let [width, height] = options.size_px;
            let size = json!({
                "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
            });
            self.call("Emulation.setDeviceMetricsOverride", &size)?;
        }
        // A tab behind another one would not be drawn.
        let focus = json!({ "enabled": true });
        self.call("Emulation.setFocusEmulationEnabled", &focus)?;
        let touch = json!({ "enabled": options.has_touch });
        self.call("Emulation.setTouchEmulationEnabled", &touch)?;
        self.call(
            "Page.setInterceptFileChooserDialog",
            &json!({ "enabled": true }),
        )?;
        Ok(())
    }

    /// Opens an address, waits until it is loaded, and returns the status of the server's answer (0 without one).
    ///
    /// # Errors
    /// There is no reply, or the page is not loaded in time.
    pub fn go_to(&self, address: &str) -> Result<u16> {
        let num_loads = self.events()?.num_loads;
        let reply = self.call("Page.navigate", &json!({ "url": address }))?;
        let failure = reply["errorText"].as_str();
        // A server's refusal is a reply as well.
        if let Some(failure) = failure.filter(|it| *it != "net::ERR_HTTP_RESPONSE_CODE_FAILURE") {
            bail!("{failure}: {address}");
        }
        // A new fragment of the same page loads nothing.
        let Some(load) = reply["loaderId"].as_str() else {
            return Ok(0);
        };
        self.wait_for_load(num_loads)?;
        // No request to the page: it may already be navigating to another one.
        let events = self.connection.borrow().events(&self.session);
        Ok(events.statuses.get(load).copied().unwrap_or(0))
    }

    /// Loads the page again.
    ///
    /// # Errors
    /// It is not loaded in time.
    pub fn reload(&self) -> Result<()> {
        let num_loads = self.events()?.num_loads;
        self.call("Page.reload", &json!({}))?;
        self.wait_for_load(num_loads)
    }

    fn wait_for_load(&self, num_loads: u64) -> Result<()> {
        wait_until("the page to load", || {
            Ok(self.events()?.num_loads > num_loads)
        })
    }

    /// Returns the value of a JavaScript expression, of a promise its result.
    ///
    /// # Errors
    /// It throws, or its value has no JSON.
    pub fn evaluate(&self, expression: &str) -> Result<Value> {
        let params = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true,
        });
        let mut reply = self.call("Runtime.evaluate", &params)?;
        let exception = &reply["exceptionDetails"];
        ensure!(
            exception.is_null(),
            "{}: {expression}",
            described(exception)
        );
        Ok(reply["result"]["value"].take())
    }

    /// Returns the text that an expression gives, empty if it gives none.
    ///
    /// # Errors
    /// As [`Self::evaluate`].
    pub fn text_of(&self, expression: &str) -> Result<String> {
        let value = self.evaluate(expression)?;
        Ok(value.as_str().unwrap_or_default().to_owned())
    }

    /// Waits until a JavaScript expression is true. It may fail until then, for example while a page is loading.
    ///
    /// # Errors
    /// It is not true in time.
    pub fn wait_for(&self, expression: &str) -> Result<()> {
        wait_until(expression, || Ok(self.evaluate(expression)? == true))
    }

    /// Returns the address of the page.
    ///
    /// # Errors
    /// The page does not answer.
    pub fn url(&self) -> Result<String> {
        self.text_of("location.href")
    }

    /// Returns the title of the page.
    ///
    /// # Errors
    /// The page does not answer.
    pub fn title(&self) -> Result<String> {
        self.text_of("document.title")
    }

    /// Returns the picture of the page, in device pixels.
    ///
    /// # Errors
    /// The browser takes none.
    pub fn picture(&self) -> Result<Picture> {
        Picture::from_png(&self.png()?)
    }

    /// Writes the picture of the page to a file, and returns it.
    ///
    /// # Errors
    /// The browser takes none, or the file cannot be written.
    pub fn save_picture(&self, path: &Path) -> Result<Picture> {
        let png = self.png()?;
        std::fs::write(path, &png).with_context(|| path.display().to_string())?;
        Picture::from_png(&png)
    }

    fn png(&self) -> Result<Vec<u8>> {
        let shot = self.call("Page.captureScreenshot", &json!({ "format": "png" }))?;
        Ok(STANDARD.decode(shot["data"].as_str().context("a picture")?)?)
    }

    /// Returns the errors of the page and its workers so far.
    ///
    /// # Errors
    /// The page does not answer.
    pub fn errors(&self) -> Result<Vec<String>> {
        Ok(self.events()?.errors)
    }

    /// Returns the number of bytes that the page and its workers received over the network so far.
    ///
    /// # Errors
    /// The page does not answer.
    pub fn received_bytes(&self) -> Result<u64> {
        Ok(self.events()?.received_bytes)
    }

    /// Returns the events so far: a request whose reply comes after them makes the connection read them.
    pub(super) fn events(&self) -> Result<Events> {
        self.call("Page.getNavigationHistory", &json!({}))?;
        Ok(self.connection.borrow().events(&self.session))
    }

    pub(super) fn call(&self, method: &str, params: &Value) -> Result<Value> {
        let mut connection = self.connection.borrow_mut();
        connection.call(Some(&self.session), method, params)
    }
}
