//! The page on a session of a server: shared, linked to, lost and recovered, and with a running job.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};
use callgrove_tests::browser::{Browser, Finger, Options, wait_until};
use callgrove_tests::process::Process;
use callgrove_tests::program;

use crate::app::{ABNORMAL, App};
use crate::server::{SERVE_RUN, Server};

#[test]
fn pages_share_a_session_and_lose_nothing_when_its_server_comes_back() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let server = Server::of_run(disk.path())?;
    let browser = Browser::start(&Options::default())?;
    let app = App::open_run(&browser, &server.address)?;
    let other = App::open_run(&browser, &server.address)?;
    let rows = app.names("listitem")?;
    assert!(
        rows.iter().any(|row| row.starts_with("Candidate #")),
        "{rows:?}"
    );
    assert!(app.title()?.contains("lammps-4r-small-bp4"));
    // Label the executions of the first incident, and then without a server those of the second.
    app.press('x')?;
    let labels = app.item("labels", |it| it.num_labels().is_some())?;
    let first = labels.num_labels().context("a number")?;
    other.wait_for_labels(first)?;
    let port = server.kill()?;
    app.wait_for_text("Trying again")?;
    app.press('n')?;
    app.wait_for_text("not sent yet")?;
    app.screenshot("away")?;
    let server = Server::start_at(port, SERVE_RUN, Some(disk.path()))?;
    // Each start has another address, which lets all pages of the browser in.
    App::open(&browser, &server.address)?;
    let labels = app.item("more labels", |it| {
        it.num_labels().is_some_and(|it| it > first)
    })?;
    let second = labels.num_labels().context("a number")?;
    other.wait_for_labels(second)?;
    app.reload()?;
    app.wait_for_labels(second)?;
    wait_until("abnormal trees", || {
        Ok(app.screenshot("served")?.share_of(ABNORMAL, 6) > 0.0)
    })?;
    app.assert_clean_but_for_lost_servers()?;
    other.assert_clean_but_for_lost_servers()
}

#[test]
fn a_link_leads_to_the_same_view() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let server = Server::of_run(disk.path())?;
    let browser = Browser::start(&Options::default())?;
    let app = App::open_run(&browser, &server.address)?;
    let trees = |app: &App| app.part_of_address("trees");
    let changed_from = |before: &str| -> Result<String> {
        wait_until("another selection", || Ok(trees(&app)? != before))?;
        trees(&app)
    };
    // The costliest incident is shown by itself.
    app.wait_for("location.hash.includes('incident=')")?;
    let first = trees(&app)?;
    app.press('.')?;
    let second = changed_from(&first)?;
    app.press('.')?;
    let third = changed_from(&second)?;
    let link = app.url()?;
    assert!(
        link.contains("#root=LAMMPS_NS::PairEAM::compute&trees=") && link.contains("views="),
        "{link}"
    );
    let other = App::open_run(&browser, &link)?;
    sleep(Duration::from_secs(1));
    assert_eq!(trees(&other)?, third);
    app.evaluate("history.back()")?;
    wait_until("the second selection", || Ok(trees(&app)? == second))?;
    app.evaluate("history.forward()")?;
    wait_until("the third selection", || Ok(trees(&app)? == third))?;
    app.screenshot("link")?;
    app.assert_clean()?;
    other.assert_clean()
}

#[test]
fn fingers_zoom_and_move_the_timeline() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let server = Server::of_run(disk.path())?;
    let browser = Browser::start(&Options {
        has_touch: true,
        ..Options::default()
    })?;
    let app = App::open_run(&browser, &server.address)?;
    app.wait_for("location.hash.includes('incident=')")?;
    let timeline = app.item("the timeline", |it| it.name.starts_with("Timeline"))?;
    let time = || -> Result<[u64; 2]> {
        let time = app.part_of_address("time")?;
        let (from, to) = time.split_once("..").context("a time")?;
        Ok([from.parse()?, to.parse()?])
    };
    // Start and end positions of fingers, as fractions of the timeline's width.
    let move_fingers = |fingers: &[[f64; 2]]| -> Result<[u64; 2]> {
        let [left, top, width, height] = timeline.rect;
        let fingers = fingers.iter().zip([0.6, 0.7]).map(|(ends, row)| {
            let [from, to] = ends.map(|share| [left + width * share, top + height * row]);
            Finger { from, to }
        });
        app.touch(&fingers.collect::<Vec<_>>())?;
        sleep(Duration::from_secs(1));
        time()
    };
    let first = time()?;
    let apart = move_fingers(&[[0.5, 0.4], [0.6, 0.8]])?;
    let aside = move_fingers(&[[0.6, 0.4], [0.7, 0.5]])?;
    let back = move_fingers(&[[0.4, 0.6]])?;
    app.screenshot("touch")?;
    let length = |[from, to]: [u64; 2]| to - from;
    assert!(length(apart) < length(first), "{first:?} {apart:?}");
    assert!(
        aside[0] > apart[0] && aside[1] > apart[1],
        "{apart:?} {aside:?}"
    );
    assert!(
        back[0] < aside[0] && back[1] < aside[1],
        "{aside:?} {back:?}"
    );
    app.assert_clean()
}

#[test]
fn a_page_watches_a_running_job_from_its_own_port() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let path = |name: &str| disk.path().join(name).to_string_lossy().into_owned();
    let (live, found) = (path("live"), path("found"));
    let names = (0..4).map(|rank| format!("{live}/tau-metrics-lmp_tau-{rank}.bp"));
    let mut run = program::command()?;
    run.args(["run", "--provdb", &found, "--listen", "127.0.0.1:0"]);
    run.args(["--trees", "PairEAM::compute"]);
    run.args(["--stay", "--interval", "0.1", "--sst"])
        .args(names);
    let run = Process::start(run.env("XDG_STATE_HOME", disk.path()))?;
    let browser = Browser::start(&Options::default())?;
    let address = format!("{}/?token={}", run.url()?, program::TOKEN);
    let app = App::open(&browser, &address)?;
    wait_until("a page that watches", || {
        Ok(app.status()?.starts_with("Watching"))
    })?;
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/lammps-4r-small");
    let mut replay = program::command()?;
    let replay = replay.args(["replay", example, "--out", &live, "--speed", "4"]);
    let replay = Process::start(replay)?;
    watch_the_job(&app)?;
    replay.finish()?;
    app.assert_clean()?;
    run.terminate()?;
    Ok(())
}

/// Follows a job to its end, labels one of its records, and compares the recorded executions.
fn watch_the_job(app: &App) -> Result<()> {
    let is_rank = |name: &str| {
        let rest = name.strip_prefix("rank ").unwrap_or_default();
        let (number, _) = rest.split_once(", ").unwrap_or_default();
        number.parse::<u32>().is_ok()
    };
    app.item("a rank", |it| is_rank(&it.name))?;
    app.wait_for_text("Run is over")?;
    assert_eq!(app.title()?, "the running job – Callgrove");
    app.screenshot("live")?;
    let incidents = app.item("Incidents", |it| {
        it.name == "Incidents" && it.role == "button"
    })?;
    app.click_at([incidents.rect[0] + 5.0, incidents.rect[1] + 5.0])?;
    app.item("a stop", |it| {
        it.name.to_lowercase().contains("rank ") && it.name.contains(" stalled ")
    })?;
    app.screenshot("live-incidents")?;
    let rank = app.item("a rank", |it| is_rank(&it.name))?;
    app.click_at(rank.middle())?;
    app.wait_for_text("Scatter plot of")?;
    app.press('.')?;
    app.press('x')?;
    app.item("a label", |it| {
        it.num_labels() == Some(1) || it.name.contains("Abnormal")
    })?;
    app.screenshot("live-records")?;
    // The recorded executions are compared, where no run was open before.
    app.press('2')?;
    app.click("button", "Open recorded executions")?;
    app.wait_for_text(" trees")?;
    app.wait_for_text("Map of executions")?;
    app.screenshot("live-trees")?;
    Ok(())
}
