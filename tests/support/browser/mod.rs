//! Chromium, driven over its DevTools protocol: tests open pages, click, type and read them, and take pictures.
//!
//! The protocol is JSON over a WebSocket, so the client is `tungstenite` and `serde_json`, which the workspace has
//! anyway. `chromiumoxide` 0.9 and `headless_chrome` 1.0 were tried first: each generates types for the protocol of one
//! Chromium release (90 to 110 CPU seconds of compilation) and neither attaches to dedicated workers, where the page
//! learns and where its errors would be missed.
//!
//! * [`Browser`]: a process with a profile of its own, which ends when it is dropped
//! * [`Page`]: one tab
//! * `connection`: requests, replies and events

mod connection;
mod input;
mod page;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::Process;
use connection::Connection;

pub use input::Finger;
pub use page::Page;

/// Timeout of everything that a test waits for.
const TIMEOUT: Duration = Duration::from_mins(2);
/// Interval between checks of a page that a test waits for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of starts of Chromium: occasionally it dies before it has opened a page.
const MAX_STARTS: usize = 3;

/// Flags of every browser. Chromium's sandbox refuses to run as root, as servers do in tests.
const FLAGS: &[&str] = &[
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--remote-debugging-port=0",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];
/// Flags for drawing in software, so that every machine draws the same.
const WITH_WEBGL: &[&str] = &[
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
];
/// Flags of a browser that cannot draw the page.
const WITHOUT_WEBGL: &[&str] = &["--disable-3d-apis", "--disable-webgl", "--disable-webgl2"];

/// Properties of a browser and its pages.
#[derive(Clone, Debug)]
pub struct Options {
    /// Width and height of a page, in CSS pixels.
    pub size_px: [u32; 2],
    /// Device pixels per CSS pixel, set on the browser's own display.
    pub density: u32,
    /// Preferred colours of pages.
    pub theme: Theme,
    /// True if pages have touch input.
    pub has_touch: bool,
    /// True if the browser supports WebGL.
    pub has_webgl: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            size_px: [1400, 900],
            density: 1,
            theme: Theme::Dark,
            has_touch: false,
            has_webgl: true,
        }
    }
}

/// A preference for dark or light pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Light text on a dark page.
    Dark,
    /// Dark text on a light page.
    Light,
}

/// A running Chromium with an empty profile; it ends when it is dropped.
pub struct Browser {
    connection: Rc<RefCell<Connection>>,
    options: Options,
    _process: Process,
    profile: TempDir,
}

impl Browser {
    /// Starts Chromium, which must be in `PATH`.
    ///
    /// # Errors
    /// It is not installed, does not start, or opens no port.
    pub fn start(options: &Options) -> Result<Self> {
        let mut started = Self::start_once(options);
        for _ in 1..MAX_STARTS {
            started = started.or_else(|_| Self::start_once(options));
        }
        started
    }

    fn start_once(options: &Options) -> Result<Self> {
        let profile = tempfile::tempdir()?;
        let [width, height] = options.size_px;
        let process = Process::start(
            Command::new("chromium")
                .args(FLAGS)
                .args(if options.has_webgl {
                    WITH_WEBGL
                } else {
                    WITHOUT_WEBGL
                })
                // A merely emulated density does not affect the size of the canvas.
                .arg(format!("--force-device-scale-factor={}", options.density))
                .arg(format!("--window-size={width},{height}"))
                .arg(format!("--user-data-dir={}", profile.path().display()))
                .arg("about:blank"),
        )
        .context("cannot start chromium; `cargo xtask setup` installs what these tests need")?;
        let line = process.line_with("DevTools listening on ")?;
        let address = line.rsplit(' ').next().context("an address")?;
        let mut connection = Connection::open(address.trim())?;
        let downloads = profile.path().join("downloads");
        connection.call(
            None,
            "Browser.setDownloadBehavior",
            &json!({ "behavior": "allow", "downloadPath": downloads }),
        )?;
        Ok(Self {
            connection: Rc::new(RefCell::new(connection)),
            options: options.clone(),
            _process: process,
            profile,
        })
    }

    /// Opens an empty page.
    ///
    /// # Errors
    /// The browser refuses.
    pub fn new_page(&self) -> Result<Page> {
        Page::open(&self.connection, &self.options)
    }

    /// Returns the cookies of the browser, in the form of the protocol.
    ///
    /// # Errors
    /// The browser refuses.
    pub fn cookies(&self) -> Result<Vec<Value>> {
        let mut connection = self.connection.borrow_mut();
        let reply = connection.call(None, "Storage.getCookies", &json!({}))?;
        Ok(reply["cookies"].as_array().cloned().unwrap_or_default())
    }

    /// Returns the folder into which pages save files.
    pub fn downloads(&self) -> PathBuf {
        self.profile.path().join("downloads")
    }
}

/// Waits until a condition holds. It may fail until then, for example while a page is loading.
///
/// # Errors
/// It does not hold in time.
pub fn wait_until(what: &str, condition: impl Fn() -> Result<bool>) -> Result<()> {
    let start = Instant::now();
    loop {
        let held = condition();
        if matches!(held, Ok(true)) {
            return Ok(());
        }
        if start.elapsed() > TIMEOUT {
            let late = format!("waited {TIMEOUT:?} for {what}");
            return Err(held.err().map_or_else(
                || anyhow!(late.clone()),
                |error| error.context(late.clone()),
            ));
        }
        sleep(POLL_INTERVAL);
    }
}

/// A path as text, which the protocol wants.
fn text_of(path: &Path) -> Result<&str> {
    path.to_str()
        .with_context(|| format!("not UTF-8: {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens a page with this HTML.
    fn page_of(browser: &Browser, html: &str) -> Page {
        let page = browser.new_page().unwrap();
        let address = format!("data:text/html,{}", html.replace('#', "%23"));
        page.go_to(&address).unwrap();
        page
    }

    #[test]
    fn errors_of_pages_and_workers_are_collected() {
        let browser = Browser::start(&Options::default()).unwrap();
        let quiet = page_of(&browser, "<p>good");
        assert_eq!(quiet.errors().unwrap(), Vec::<String>::new());
        for (html, error_output) in [
            ("<script>console.error('said', 5)</script>", "said 5"),
            ("<script>throw new Error('thrown')</script>", "thrown"),
            (
                "<meta http-equiv='Content-Security-Policy' content=\"img-src 'none'\">\
                 <img src='http://127.0.0.1:9/x'>",
                "Content Security Policy",
            ),
            (
                "<script>new Worker(URL.createObjectURL(new Blob(['console.error(\"by a worker\")'])))</script>",
                "by a worker",
            ),
            (
                "<script>new Worker(URL.createObjectURL(new Blob(['undefined.x'])))</script>",
                "TypeError",
            ),
        ] {
            let page = page_of(&browser, html);
            wait_until(error_output, || {
                let errors = page.errors()?;
                Ok(errors.iter().any(|it| it.contains(error_output)))
            })
            .unwrap_or_else(|error| panic!("{html}: {error}"));
        }
    }

    #[test]
    fn a_page_can_be_read_typed_in_and_captured() {
        let browser = Browser::start(&Options::default()).unwrap();
        let page = page_of(
            &browser,
            "<body style='margin:0;background:#ff0000'><script>\
             onkeydown = (event) => document.title += event.key + event.code;\
             onmousedown = (event) => document.title += `at ${event.clientX}`</script>",
        );
        page.press('x').unwrap();
        page.press('.').unwrap();
        page.click_at([30.0, 40.0]).unwrap();
        assert_eq!(page.title().unwrap(), "xKeyX.Periodat 30");
        let picture = page.picture().unwrap();
        assert!(picture.share_of([255, 0, 0], 0) > 0.99);
        let error = page.evaluate("missing + 1").unwrap_err().to_string();
        assert!(error.contains("missing is not defined"), "{error}");
    }
}
