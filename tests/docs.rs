//! Writes the parts of `docs/` that are made from the program: `cargo xtask docs` and `cargo xtask screenshots` run it.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use callgrove_tests::shell::data;
use callgrove_tests::xvfb::{Display, Running};
use callgrove_tests::{cli_page, program};

/// Time in which a window must have drawn all of its views.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Time between two pictures of which the second shows whether anything still moves.
const PAUSE: Duration = Duration::from_secs(2);

/// Number of colours that a picture with all views has at least; an empty window has fewer.
const MIN_COLOURS: usize = 300;

/// Largest picture in `docs/pictures`, in bytes.
const MAX_BYTES: u64 = 150_000;

/// A picture of the window on the example trace.
struct Shot {
    /// Its file in `docs/pictures`.
    file: &'static str,
    is_dark: bool,
    /// Width and height of the window in pixels.
    window: [u32; 2],
    /// Keys that are pressed one after the other, named as `xdotool` does.
    keys: &'static [&'static str],
    /// The part that is kept, as width, height and place of its upper left corner.
    area: &'static str,
}

const SHOTS: &[Shot] = &[
    Shot {
        file: "window.png",
        is_dark: true,
        window: [1600, 1000],
        keys: &[],
        area: "1600x1000+0+0",
    },
    Shot {
        file: "candidate.png",
        is_dark: true,
        window: [1600, 1000],
        // The candidates, and from the sixth, which is selected, to the first.
        keys: &["1", "comma", "comma", "comma", "comma", "comma", "3"],
        area: "656x512+944+40",
    },
    Shot {
        file: "delay.png",
        is_dark: true,
        window: [1600, 1000],
        keys: &[],
        area: "1216x302+384+555",
    },
    Shot {
        file: "labels-light.png",
        is_dark: false,
        window: [1400, 860],
        // Two incidents are labelled as a whole, then the waits are shown.
        keys: &["x", "x", "h"],
        area: "1400x860+0+0",
    },
];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["commands"] => Ok(fs::write(data(cli_page::PATH), cli_page::text()?)?),
        ["pictures"] => SHOTS.iter().try_for_each(take),
        _ => bail!("usage: callgrove-docs commands|pictures"),
    }
}

/// Opens a window on the example and writes one picture of it.
fn take(shot: &Shot) -> Result<()> {
    let home = tempfile::tempdir()?;
    let display = Display::start()?;
    let window = demo(&display, home.path(), shot)?;
    wait_until_drawn(&display)?;
    for key in shot.keys {
        display.key(key)?;
        wait_until_drawn(&display)?;
    }
    let path = data("docs/pictures").join(shot.file);
    display.screenshot_of(shot.area, &path)?;
    window.kill()?;
    let size = fs::metadata(&path)?.len();
    ensure!(
        size <= MAX_BYTES,
        "{size} bytes are too many: {}",
        shot.file
    );
    Ok(())
}

/// Starts the program on the example, with settings, journal and cache in `home`.
fn demo(display: &Display, home: &Path, shot: &Shot) -> Result<Running> {
    let settings = home.join("config/callgrove");
    fs::create_dir_all(&settings)?;
    let [width, height] = shot.window;
    let text = format!(
        r#"{{"window":[{width},{height}],"is_dark":{}}}"#,
        shot.is_dark
    );
    fs::write(settings.join("window.json"), text)?;
    let mut command = program::command()?;
    command
        .arg("demo")
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_STATE_HOME", home.join("state"))
        .env("XDG_CACHE_HOME", home.join("cache"));
    let running = display.spawn(command)?;
    display.wait_for_window("Callgrove", TIMEOUT)?;
    Ok(running)
}

/// Waits until all views are drawn and nothing moves any more.
fn wait_until_drawn(display: &Display) -> Result<()> {
    let end = Instant::now() + TIMEOUT;
    let mut before = display.picture()?;
    while Instant::now() < end {
        sleep(PAUSE);
        let now = display.picture()?;
        if now == before && now.num_colours() >= MIN_COLOURS {
            return Ok(());
        }
        before = now;
    }
    bail!("the window did not come to rest")
}
