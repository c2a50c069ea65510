//! The page without a run, and with the example.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use callgrove_tests::browser::{Browser, Options, Theme, wait_until};

use crate::app::{ABNORMAL, App};
use crate::server::Server;

/// Maximum number of bytes sent to a browser that opens the page for the first time.
const MAX_SENT_BYTES: u64 = 3 << 20;

#[test]
fn the_example_opens_and_its_labels_outlive_a_reload() -> Result<()> {
    let server = Server::start(&[])?;
    let browser = Browser::start(&Options::default())?;
    let start = Instant::now();
    let app = App::open_alone(&browser, &server.address)?;
    let ready = start.elapsed();
    let buttons = app.names("button")?;
    assert!(buttons.iter().any(|it| it == "Demo"), "{buttons:?}");
    assert!(app.screenshot("start")?.num_colours() > 50);
    let start = Instant::now();
    app.open_demo()?;
    println!(
        "the page is ready after {ready:?}, the first points of the example {:?} later",
        start.elapsed()
    );
    let rows = app.names("listitem")?;
    assert!(
        rows.iter().any(|row| row.starts_with("Candidate #")),
        "{rows:?}"
    );
    app.wait_for_title("lammps-4r-small.callgrove")?;
    let icon = app.text_of("document.getElementById('icon').getAttribute('href')")?;
    assert!(icon.starts_with("data:image/svg+xml"), "{icon}");
    app.wait_for_status("196 executions")?;
    wait_until("abnormal trees", || {
        Ok(app.screenshot("demo")?.share_of(ABNORMAL, 6) > 100.0 / (1400.0 * 900.0))
    })?;
    // Two incidents, with the executions that each affected.
    app.press('x')?;
    app.wait_for_labels(4)?;
    app.press('n')?;
    app.wait_for_labels(6)?;
    let sent_bytes = app.received_bytes()?;
    println!("the page was sent in {sent_bytes} bytes");
    assert!(
        (1 << 20..=MAX_SENT_BYTES).contains(&sent_bytes),
        "{sent_bytes} bytes were sent"
    );
    app.reload()?;
    app.wait_until_ready()?;
    app.open_demo()?;
    app.wait_for_labels(6)?;
    app.assert_clean()
}

#[test]
fn a_light_high_density_page_is_operated_through_its_outline() -> Result<()> {
    let server = Server::start(&[])?;
    let browser = Browser::start(&Options {
        density: 2,
        theme: Theme::Light,
        ..Options::default()
    })?;
    let app = App::open_alone(&browser, &server.address)?;
    let share = app
        .screenshot("start-light")?
        .share_of([0xf4, 0xf4, 0xf4], 6);
    assert!(share > 0.25, "it is light: {share}");
    // As a screen reader does it.
    app.evaluate(
        "[...document.querySelectorAll('#outline > [role=button]')].find((it) => it.textContent === 'Demo').click()",
    )?;
    app.wait_for_text("196 trees")?;
    app.screenshot("light")?;
    for side in ["Width", "Height"] {
        let density = app.evaluate(&format!(
            "canvas.{}  / canvas.client{side}",
            side.to_lowercase()
        ))?;
        assert_eq!(density.as_f64(), Some(2.0), "{side}");
    }
    app.click("button", "File")?;
    app.click("button", "Save the model…")?;
    let file = browser.downloads().join("callgrove-model.json");
    wait_until("the saved model", || Ok(file.is_file()))?;
    let model: serde_json::Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    assert!(model.is_object());
    app.assert_clean()
}

#[test]
fn missing_webgl_is_reported_in_the_page() -> Result<()> {
    let server = Server::start(&[])?;
    let browser = Browser::start(&Options {
        has_webgl: false,
        ..Options::default()
    })?;
    let app = App::open(&browser, &server.address)?;
    app.wait_for("document.getElementById('message-title').textContent !== 'Callgrove'")?;
    let message = app.text_of("document.getElementById('message').textContent")?;
    assert!(
        message.contains("WebGL 2") && message.contains("acceleration"),
        "{message}"
    );
    app.screenshot("no-webgl")?;
    Ok(())
}

#[test]
fn a_panic_is_reported_in_html_with_a_remedy() -> Result<()> {
    let server = Server::start(&[])?;
    let browser = Browser::start(&Options::default())?;
    let app = App::open_alone(&browser, &server.address)?;
    // Makes the program panic: its browser has no clock any more.
    app.evaluate("Object.defineProperty(window, 'performance', { value: undefined }) && 0")?;
    app.move_to([300.0, 300.0])?;
    app.wait_for("getComputedStyle(document.getElementById('message')).display !== 'none'")?;
    let message = app.text_of("document.getElementById('message').textContent")?;
    for text in ["Callgrove has stopped", "reload the page", "panicked at"] {
        assert!(message.contains(text), "{message}");
    }
    app.screenshot("panic")?;
    Ok(())
}

#[test]
fn an_exported_run_works_on_a_plain_web_server() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let folder = disk.path().join("page");
    let args = [&["export"][..], crate::server::SERVE_RUN, &["--web"]].concat();
    let exported = callgrove_tests::program::command()?
        .args(args)
        .arg(&folder)
        .status()?;
    assert!(exported.success(), "it is not exported");
    let browser = Browser::start(&Options::default())?;
    let app = App::open_run(&browser, &crate::server::serve_folder(folder)?)?;
    app.item("an incident", |it| {
        it.role == "listitem" && it.name.starts_with("Incident")
    })?;
    let rows = app.names("listitem")?;
    assert!(
        rows.iter().any(|row| row.starts_with("Candidate #")),
        "{rows:?}"
    );
    app.press('x')?;
    let labels = app.item("labels", |it| it.num_labels().is_some())?;
    app.reload()?;
    app.wait_for_labels(labels.num_labels().context("a number")?)?;
    app.wait_for_status("of your last session")?;
    app.screenshot("exported")?;
    // No request is still in flight that would fail later.
    sleep(Duration::from_millis(200));
    app.assert_clean()
}
