//! Callgrove in a browser's page, operated by the names of its elements.

use std::ops::Deref;
use std::path::Path;

use anyhow::{Context, Result};
use callgrove_tests::browser::{Browser, Page, wait_until};
use callgrove_tests::picture::Picture;
use serde_json::Value;

/// The outline of the page: role, name, value and position of every named element.
const OUTLINE: &str = "[...document.querySelectorAll('#outline > div')].map((it) => [
    it.role ?? '', it.ariaLabel ?? it.textContent, ...['left', 'top', 'width', 'height'].map((side) => parseFloat(it.style[side])),
])";

/// Beginnings of the errors that a browser reports when a server does not answer.
const OF_LOST_SERVERS: &[&str] = &["WebSocket connection to", "Failed to load resource"];

/// The colour of abnormal trees.
pub(crate) const ABNORMAL: [u8; 3] = [0xff, 0x7a, 0x1f];

/// The page with Callgrove in it.
pub(crate) struct App(Page);

/// A named element of the page.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) role: String,
    pub(crate) name: String,
    /// Left, top, width and height, in CSS pixels.
    pub(crate) rect: [f64; 4],
}

impl Item {
    /// Returns its centre, in CSS pixels.
    pub(crate) fn middle(&self) -> [f64; 2] {
        let [left, top, width, height] = self.rect;
        [left + width / 2.0, top + height / 2.0]
    }

    /// Returns the number of labels that it states, if above 0.
    pub(crate) fn num_labels(&self) -> Option<u64> {
        let words = self.name.strip_suffix(" labels");
        let words = words.or_else(|| self.name.strip_suffix(" label"))?;
        let number = words.rsplit(' ').next()?.parse().ok()?;
        (number > 0).then_some(number)
    }
}

impl Deref for App {
    type Target = Page;

    fn deref(&self) -> &Page {
        &self.0
    }
}

impl App {
    /// Opens an address in a new page.
    pub(crate) fn open(browser: &Browser, address: &str) -> Result<Self> {
        let page = browser.new_page()?;
        page.go_to(address)?;
        Ok(Self(page))
    }

    /// Opens the address of a page without a run, and waits until it is ready.
    pub(crate) fn open_alone(browser: &Browser, address: &str) -> Result<Self> {
        let app = Self::open(browser, address)?;
        app.wait_until_ready()?;
        Ok(app)
    }

    /// Opens an address with a run, and waits until its trees are learned.
    pub(crate) fn open_run(browser: &Browser, address: &str) -> Result<Self> {
        let app = Self::open(browser, address)?;
        app.wait_for_text("196 trees")?;
        Ok(app)
    }

    /// Waits until a page without a run is ready.
    pub(crate) fn wait_until_ready(&self) -> Result<()> {
        self.wait_for("getComputedStyle(document.getElementById('message')).display === 'none'")?;
        self.wait_for_text("Open a run").map(drop)
    }

    /// Opens the example.
    pub(crate) fn open_demo(&self) -> Result<()> {
        self.click("button", "Demo")?;
        self.wait_for_text("196 trees").map(drop)
    }

    /// Returns the elements of the page.
    pub(crate) fn outline(&self) -> Result<Vec<Item>> {
        let rows = self.evaluate(OUTLINE)?;
        let rows = rows.as_array().context("an outline")?;
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let items = rows.iter().map(|row| Item {
            role: word(&row[0]),
            name: word(&row[1]),
            rect: [2, 3, 4, 5].map(|at| row[at].as_f64().unwrap_or_default()),
        });
        Ok(items.collect())
    }

    /// Returns the names of the elements with a role.
    pub(crate) fn names(&self, role: &str) -> Result<Vec<String>> {
        let items = self.outline()?.into_iter();
        Ok(items
            .filter(|it| it.role == role)
            .map(|it| it.name)
            .collect())
    }

    /// Waits until an element exists, and returns it.
    pub(crate) fn item(&self, what: &str, is_it: impl Fn(&Item) -> bool) -> Result<Item> {
        wait_until(what, || Ok(self.outline()?.iter().any(&is_it)))
            .with_context(|| format!("in {:?}", self.outline().unwrap_or_default()))?;
        let found = self.outline()?.into_iter().find(&is_it);
        found.with_context(|| format!("{what} appeared and vanished"))
    }

    /// Waits until an element exists whose name contains this text.
    pub(crate) fn wait_for_text(&self, text: &str) -> Result<Item> {
        self.item(text, |it| it.name.contains(text))
    }

    /// Waits until `number` labels are learned.
    pub(crate) fn wait_for_labels(&self, number: u64) -> Result<()> {
        self.item(&format!("{number} labels"), |it| {
            it.num_labels() == Some(number)
        })
        .map(drop)
    }

    /// Clicks on an element by its role and the beginning of its name; in menus a name continues with a key.
    pub(crate) fn click(&self, role: &str, name: &str) -> Result<()> {
        let item = self.item(name, |it| it.role == role && it.name.starts_with(name))?;
        self.click_at(item.middle())
    }

    /// Waits until the title begins with a text.
    pub(crate) fn wait_for_title(&self, start: &str) -> Result<()> {
        wait_until(start, || Ok(self.title()?.starts_with(start)))
    }

    /// Returns the status line.
    pub(crate) fn status(&self) -> Result<String> {
        self.text_of("document.getElementById('status').textContent")
    }

    /// Waits until the status line contains a text, and returns it.
    pub(crate) fn wait_for_status(&self, text: &str) -> Result<String> {
        wait_until(text, || Ok(self.status()?.contains(text)))?;
        self.status()
    }

    /// Drops a file on the page.
    pub(crate) fn drop_on_canvas(&self, file: &Path) -> Result<()> {
        self.drop_file(file, [700.0, 450.0])
    }

    /// Chooses a file in the browser's dialog.
    pub(crate) fn browse(&self, file: &Path) -> Result<()> {
        self.choose_file(file, || self.click("button", "Browse…"))
    }

    /// Returns a part of the address that describes the view, such as `trees`.
    pub(crate) fn part_of_address(&self, name: &str) -> Result<String> {
        self.text_of(&format!(
            "new URLSearchParams(location.hash.slice(1)).get('{name}')"
        ))
    }

    /// Takes a picture of the page, and stores it for the analysis of a failed test.
    pub(crate) fn screenshot(&self, name: &str) -> Result<Picture> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("web");
        std::fs::create_dir_all(&folder)?;
        self.save_picture(&folder.join(format!("{name}.png")))
    }

    /// Asserts that the page and its workers reported no errors.
    pub(crate) fn assert_clean(&self) -> Result<()> {
        assert_eq!(self.errors()?, Vec::<String>::new());
        Ok(())
    }

    /// Asserts that the page and its workers reported no errors, except of a server that did not answer.
    pub(crate) fn assert_clean_but_for_lost_servers(&self) -> Result<()> {
        let mut errors = self.errors()?;
        errors.retain(|error| !OF_LOST_SERVERS.iter().any(|start| error.starts_with(start)));
        assert_eq!(errors, Vec::<String>::new());
        Ok(())
    }
}
