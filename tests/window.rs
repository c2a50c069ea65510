//! The real window on a private display: it opens real data, takes labels by key, and loses none of them when it is
//! killed.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use callgrove_tests::picture::Picture;
use callgrove_tests::program;
use callgrove_tests::xvfb::{Display, Running};

/// Timeout of every wait; a machine that is busy with other tests draws slowly.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Starts a window on the example trace whose journal and cache are in `home`.
fn demo(display: &Display, home: &Path) -> Result<Running> {
    let mut command = program::command()?;
    command
        .arg("demo")
        .env("XDG_STATE_HOME", home.join("state"))
        .env("XDG_CACHE_HOME", home.join("cache"));
    let running = display.spawn(command)?;
    display.wait_for_window("Callgrove", TIMEOUT)?;
    Ok(running)
}

/// Returns the complete lines of the only journal in `home`.
fn journal(home: &Path) -> Result<Vec<String>> {
    let folder = home.join("state/callgrove");
    let Ok(mut files) = fs::read_dir(folder) else {
        return Ok(Vec::new());
    };
    let Some(file) = files.next() else {
        return Ok(Vec::new());
    };
    let text = fs::read_to_string(file?.path())?;
    let complete = text.rfind('\n').map_or(0, |end| end + 1);
    Ok(text[..complete].lines().map(str::to_owned).collect())
}

/// Waits until the journal has `count` lines that contain `what`.
fn wait_for_lines(home: &Path, what: &str, count: usize) -> Result<Vec<String>> {
    let end = Instant::now() + TIMEOUT;
    loop {
        let lines: Vec<String> = journal(home)?
            .into_iter()
            .filter(|line| line.contains(what))
            .collect();
        if lines.len() >= count {
            return Ok(lines);
        }
        if Instant::now() > end {
            bail!(
                "the journal has {} lines with {what}, not {count}: {:?}",
                lines.len(),
                journal(home)?
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn labels_given_by_key_survive_a_kill() -> Result<()> {
    let home = tempfile::tempdir()?;
    let display = Display::start()?;
    let window = demo(&display, home.path())?;
    // The root function is journalled once its forest has been learned.
    wait_for_lines(home.path(), "root", 1)?;
    // Two incidents of the example affected executions.
    for given in 1..=2 {
        // A key pressed before the new selection is drawn would label the previous tree.
        display.key("x")?;
        wait_for_lines(home.path(), "abnormal", given)?;
    }
    window.kill()?;
    let before = journal(home.path())?;

    let window = demo(&display, home.path())?;
    wait_for_lines(home.path(), "root", 2)?;
    // Only a session with restored labels has something to undo.
    display.key("BackSpace")?;
    wait_for_lines(home.path(), "undo", 1)?;
    window.kill()?;
    let after = journal(home.path())?;
    assert_eq!(after[..before.len()], before, "what was journalled stays");
    Ok(())
}

#[test]
fn the_window_draws_functions_and_anomalies_of_the_example() -> Result<()> {
    let home = tempfile::tempdir()?;
    let display = Display::start()?;
    let window = demo(&display, home.path())?;
    wait_for_lines(home.path(), "root", 1)?;
    // The colours of MPI_Send and of abnormal trees: both are visible once all views are drawn.
    let (send, abnormal) = ([0x56, 0xB4, 0xE9], [0xFF, 0x7A, 0x1F]);
    let is_drawn = |picture: &Picture| {
        picture.share_of(send, 4) > 0.001 && picture.share_of(abnormal, 4) > 0.000_2
    };
    let found = display.wait_for_picture(TIMEOUT, is_drawn);
    let shot = Path::new(env!("CARGO_TARGET_TMPDIR")).join("window.png");
    display.screenshot(&shot)?;
    found.with_context(|| format!("see {}", shot.display()))?;
    window.kill()?;
    Ok(())
}
