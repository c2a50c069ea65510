//! A private display for tests of the window: an X server without a screen, with input and pictures.
//!
//! There is no window manager: a window appears where it requests to, and gets the keyboard focus from
//! [`Display::wait_for_window`].

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::picture::Picture;

/// Interval between checks of a condition that is waited for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A running X server; it is killed when this is dropped.
#[derive(Debug)]
pub struct Display {
    _server: Running,
    /// The value of `DISPLAY` for its clients, such as `:99`.
    name: String,
}

/// A program on a display; it is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
}

impl Display {
    /// Starts an X server of 1600 × 1000 pixels on an unused display number.
    ///
    /// # Errors
    /// `Xvfb` is not installed or does not start.
    pub fn start() -> Result<Self> {
        let mut command = Command::new("Xvfb");
        command
            .args(["-displayfd", "1", "-nolisten", "tcp"])
            .args(["-screen", "0", "1600x1000x24"])
            // Otherwise the server resets, pointer included, whenever the last client has ended.
            .arg("-noreset")
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut server = Running::start(command)?;
        let stdout = server.child.stdout.take().context("Xvfb has no output")?;
        let mut number = String::new();
        BufReader::new(stdout).read_line(&mut number)?;
        ensure!(!number.is_empty(), "Xvfb ended immediately");
        Ok(Self {
            _server: server,
            name: format!(":{}", number.trim_end()),
        })
    }

    /// Starts a program on the display, drawing in software.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(&self, mut command: Command) -> Result<Running> {
        self.direct(&mut command);
        Running::start(command)
    }

    /// Waits until a window is shown whose title matches a regular expression, and gives it the keyboard focus.
    ///
    /// # Errors
    /// No such window appears within `timeout`.
    pub fn wait_for_window(&self, title: &str, timeout: Duration) -> Result<()> {
        let found = wait_until(timeout, || {
            let windows = self.tool("xdotool", &["search", "--onlyvisible", "--name", title])?;
            Ok(String::from_utf8(windows)?
                .lines()
                .next()
                .map(str::to_owned))
        })?;
        let window = found.with_context(|| format!("no window appeared: {title}"))?;
        self.xdotool(&["windowfocus", "--sync", &window])
    }

    /// Presses and releases a key, with `xdotool`'s name: `x`, `Return`, `ctrl+z`.
    ///
    /// # Errors
    /// There is no such key.
    pub fn key(&self, name: &str) -> Result<()> {
        self.xdotool(&["key", name])
    }

    /// Types a text.
    ///
    /// # Errors
    /// `xdotool` fails.
    pub fn type_text(&self, text: &str) -> Result<()> {
        self.xdotool(&["type", "--delay", "20", text])
    }

    /// Moves the pointer, in pixels from the top left.
    ///
    /// # Errors
    /// `xdotool` fails.
    pub fn move_to(&self, x: u32, y: u32) -> Result<()> {
        self.xdotool(&["mousemove", &x.to_string(), &y.to_string()])
    }

    /// Clicks with the left button, in pixels from the top left.
    ///
    /// # Errors
    /// `xdotool` fails.
    pub fn click(&self, x: u32, y: u32) -> Result<()> {
        self.move_to(x, y)?;
        self.xdotool(&["click", "1"])
    }

    /// Drags with the left button from the first point through all others.
    ///
    /// # Errors
    /// `xdotool` fails, or there is no point.
    pub fn drag(&self, points: &[(u32, u32)]) -> Result<()> {
        let (&(x, y), rest) = points.split_first().context("a drag needs a point")?;
        self.move_to(x, y)?;
        self.xdotool(&["mousedown", "1"])?;
        for &(x, y) in rest {
            self.move_to(x, y)?;
            // One move per frame, as a user would; programs merge simultaneous moves.
            sleep(Duration::from_millis(20));
        }
        self.xdotool(&["mouseup", "1"])
    }

    /// Turns the wheel: down for positive `clicks`, up for negative ones.
    ///
    /// # Errors
    /// `xdotool` fails.
    pub fn scroll(&self, clicks: i32) -> Result<()> {
        let button = if clicks > 0 { "5" } else { "4" };
        let count = clicks.unsigned_abs().to_string();
        self.xdotool(&["click", "--repeat", &count, button])
    }

    /// Writes a picture of the display to an image file, best below `CARGO_TARGET_TMPDIR`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn screenshot(&self, path: &Path) -> Result<()> {
        let path = path.to_str().context("the path is not UTF-8")?;
        self.tool("import", &["-window", "root", path])?;
        Ok(())
    }

    /// Writes a part of the display, such as `640x480+10+20`, to a PNG file of 64 colours without dithering.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn screenshot_of(&self, area: &str, path: &Path) -> Result<()> {
        let path = path.to_str().context("the path is not UTF-8")?;
        let mut args = vec!["-window", "root", "-crop", area, "+repage"];
        args.extend(["+dither", "-colors", "64", "-strip"]);
        // Rows of palette indexes compress best without a filter.
        args.extend(["-define", "png:compression-filter=0"]);
        args.extend(["-define", "png:compression-level=9"]);
        let target = format!("png8:{path}");
        args.push(&target);
        self.tool("import", &args).map(|_| ())
    }

    /// Returns a picture of the display.
    ///
    /// # Errors
    /// The picture cannot be taken.
    pub fn picture(&self) -> Result<Picture> {
        Picture::from_png(&self.tool("import", &["-window", "root", "png24:-"])?)
    }

    /// Waits until the picture meets a condition, and returns it.
    ///
    /// # Errors
    /// It does not within `timeout`.
    pub fn wait_for_picture(
        &self,
        timeout: Duration,
        condition: impl Fn(&Picture) -> bool,
    ) -> Result<Picture> {
        let found = wait_until(timeout, || Ok(Some(self.picture()?).filter(&condition)))?;
        found.context("the expected picture did not appear")
    }

    fn xdotool(&self, args: &[&str]) -> Result<()> {
        self.tool("xdotool", args).map(|_| ())
    }

    /// Runs a tool on the display to its end, and returns its output.
    fn tool(&self, program: &str, args: &[&str]) -> Result<Vec<u8>> {
        let mut command = Command::new(program);
        self.direct(command.args(args));
        let output = command.output().with_context(|| cannot_start(program))?;
        // A search without results exits with 1 and prints nothing.
        let is_empty_search = args.first() == Some(&"search") && output.stderr.is_empty();
        if !output.status.success() && !is_empty_search {
            bail!(
                "{program} {}: {}",
                args.join(" "),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(output.stdout)
    }

    /// Directs a program to this display and to software drawing, even under a desktop's own display.
    fn direct(&self, command: &mut Command) {
        command
            .env("DISPLAY", &self.name)
            .env("LIBGL_ALWAYS_SOFTWARE", "1")
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("WAYLAND_SOCKET");
    }
}

impl Running {
    fn start(mut command: Command) -> Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().with_context(|| cannot_start(&program))?;
        Ok(Self { child })
    }

    /// Waits until the program ends by itself, and returns its exit code.
    ///
    /// # Errors
    /// It still runs after `timeout`, or a signal ended it.
    pub fn wait(&mut self, timeout: Duration) -> Result<i32> {
        let status = wait_until(timeout, || Ok(self.child.try_wait()?))?;
        let status = status.context("the program did not end")?;
        status.code().with_context(|| format!("ended by {status}"))
    }

    /// Kills the program immediately, like a crash.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // If the child is already gone, killing it fails, which is fine.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn cannot_start(program: &str) -> String {
    format!("cannot start {program}; `cargo xtask setup` installs what these tests need")
}

/// Retries until there is a result, or until `timeout` is over.
fn wait_until<T>(
    timeout: Duration,
    mut attempt: impl FnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
    let begin = Instant::now();
    loop {
        let found = attempt()?;
        if found.is_some() || begin.elapsed() > timeout {
            return Ok(found);
        }
        sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(20);

    #[test]
    fn a_window_is_visible_and_takes_keys() {
        let display = Display::start().unwrap();
        assert_eq!(display.picture().unwrap().num_colours(), 1);

        let mut viewer = Command::new("display");
        viewer.args(["-title", "a red window", "-geometry", "+0+0"]);
        viewer.args(["-size", "800x500", "xc:#ff0000"]);
        let mut viewer = display.spawn(viewer).unwrap();
        display.wait_for_window("a red window", TIMEOUT).unwrap();
        let is_red = |picture: &Picture| picture.share_of([255, 0, 0], 0) > 0.2;
        let picture = display.wait_for_picture(TIMEOUT, is_red).unwrap();
        assert_eq!((picture.width, picture.height), (1600, 1000));

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("red.png");
        display.screenshot(&file).unwrap();
        assert!(std::fs::read(file).unwrap().starts_with(b"\x89PNG"));

        // The viewer quits on this key.
        display.key("q").unwrap();
        assert_eq!(viewer.wait(TIMEOUT).unwrap(), 0);
        let error = display.wait_for_window("a red window", Duration::ZERO);
        assert!(error.is_err());
    }

    #[test]
    fn the_pointer_goes_where_it_is_sent() {
        let display = Display::start().unwrap();
        display.drag(&[(10, 20), (300, 40), (500, 600)]).unwrap();
        display.click(700, 800).unwrap();
        let place = display.tool("xdotool", &["getmouselocation"]).unwrap();
        let place = String::from_utf8(place).unwrap();
        assert!(place.starts_with("x:700 y:800"), "{place}");
    }

    #[test]
    fn displays_are_separate_and_end_with_their_test() {
        let first = Display::start().unwrap();
        let second = Display::start().unwrap();
        assert_ne!(first.name, second.name);
        let name = first.name.clone();
        drop(first);
        let mut looker = Command::new("xdotool");
        looker.arg("getmouselocation").env("DISPLAY", name);
        assert!(!looker.output().unwrap().status.success());
        second.move_to(1, 1).unwrap();
    }

    #[test]
    fn a_tool_that_fails_says_why() {
        let display = Display::start().unwrap();
        let message = display.key("no-such-key").unwrap_err().to_string();
        assert!(message.contains("no-such-key"), "{message}");
    }
}
