//! Input to a page: keys, mouse, fingers and files.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::page::Page;
use super::{text_of, wait_until};

/// A finger's path on a page, in CSS pixels from the top left.
#[derive(Clone, Copy, Debug)]
pub struct Finger {
    /// Where it touches the page.
    pub from: [f64; 2],
    /// Where it leaves the page.
    pub to: [f64; 2],
}

/// Number of moves that a finger makes between touching and leaving.
const NUM_MOVES: u32 = 10;
/// Interval between two moves: browsers merge moves within a frame.
const MOVE_INTERVAL: Duration = Duration::from_millis(30);

impl Page {
    /// Presses and releases the key of a letter, a digit or `.`.
    ///
    /// # Errors
    /// The page does not answer.
    pub fn press(&self, key: char) -> Result<()> {
        let upper = key.to_ascii_uppercase();
        let (code, number) = match key {
            '.' => ("Period".to_owned(), 190),
            '0'..='9' => (format!("Digit{key}"), u32::from(key)),
            _ => (format!("Key{upper}"), u32::from(upper)),
        };
        for (kind, text) in [("keyDown", Some(key)), ("keyUp", None)] {
            let mut params = json!({
                "type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number,
            });
            if let Some(text) = text {
                params["text"] = text.to_string().into();
            }
            self.call("Input.dispatchKeyEvent", &params)?;
        }
        Ok(())
    }

    /// Moves the pointer, in CSS pixels from the top left.
    ///
    /// # Errors
    /// The page does not answer.
    pub fn move_to(&self, at: [f64; 2]) -> Result<()> {
        self.mouse("mouseMoved", at, "none")
    }

    /// Clicks with the left button, in CSS pixels from the top left.
    ///
    /// # Errors
    /// The page does not answer.
    pub fn click_at(&self, at: [f64; 2]) -> Result<()> {
        self.move_to(at)?;
        self.mouse("mousePressed", at, "left")?;
        self.mouse("mouseReleased", at, "left")
    }

    fn mouse(&self, kind: &str, [x, y]: [f64; 2], button: &str) -> Result<()> {
        let params = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", &params).map(drop)
    }

    /// Moves fingers over the page, one frame per move.
    ///
    /// # Errors
    /// The page does not answer.
    pub fn touch(&self, fingers: &[Finger]) -> Result<()> {
        let send = |kind: &str, points: Value| {
            let params = json!({ "type": kind, "touchPoints": points });
            self.call("Input.dispatchTouchEvent", &params).map(drop)
        };
        let points = |share: f64| {
            let points = fingers.iter().enumerate().map(|(number, finger)| {
                let at =
                    |axis: usize| finger.from[axis] + (finger.to[axis] - finger.from[axis]) * share;
                json!({ "id": number, "x": at(0), "y": at(1) })
            });
            points.collect::<Value>()
        };
        send("touchStart", points(0.0))?;
        for step in 1..=NUM_MOVES {
            send("touchMove", points(f64::from(step) / f64::from(NUM_MOVES)))?;
            sleep(MOVE_INTERVAL);
        }
        send("touchEnd", json!([]))
    }

    /// Drops a file of this machine on the page, in CSS pixels from the top left.
    ///
    /// # Errors
    /// The path is not UTF-8, or the page does not answer.
    pub fn drop_file(&self, file: &Path, [x, y]: [f64; 2]) -> Result<()> {
        let files = json!({ "items": [], "files": [text_of(file)?], "dragOperationsMask": 1 });
        for kind in ["dragEnter", "dragOver", "drop"] {
            let params = json!({ "type": kind, "x": x, "y": y, "data": files });
            self.call("Input.dispatchDragEvent", &params)?;
        }
        Ok(())
    }

    /// Chooses a file in the dialog that `open` makes the page request.
    ///
    /// # Errors
    /// No dialog is requested in time, or the file is refused.
    pub fn choose_file(&self, file: &Path, open: impl FnOnce() -> Result<()>) -> Result<()> {
        let num_before = self.events()?.file_inputs.len();
        open()?;
        wait_until("a dialog for files", || {
            Ok(self.events()?.file_inputs.len() > num_before)
        })?;
        let input = self.events()?.file_inputs.pop().context("a file input")?;
        let params = json!({ "files": [text_of(file)?], "backendNodeId": input });
        self.call("DOM.setFileInputFiles", &params).map(drop)
    }
}
