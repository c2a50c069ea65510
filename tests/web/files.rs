//! Files from the user's disk, opened by the page alone.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use callgrove_tests::browser::{Browser, Options};

use crate::app::App;
use crate::server::Server;

/// A forest of 196 trees.
const FOREST: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../assets/lammps-4r-small/pair-eam-compute.jsonl"
);
/// The first line of a forest file.
const HEADER: &str = "{\"format\":\"callgrove-forest\",\"version\":1,\"unit\":\"us\"}";

#[test]
fn dropped_files_open_and_damaged_ones_are_refused_with_a_message() -> Result<()> {
    let server = Server::start(&[])?;
    let disk = tempfile::tempdir()?;
    let content = fs::read(FOREST)?;
    let [whole, cut, other] =
        ["whole.jsonl", "cut.jsonl", "other.json"].map(|name| disk.path().join(name));
    fs::write(&whole, &content)?;
    fs::write(&cut, &content[..content.len() / 2])?;
    fs::write(&other, b"\xff\x00{")?;
    let browser = Browser::start(&Options::default())?;
    let app = App::open_alone(&browser, &server.address)?;
    app.drop_on_canvas(&whole)?;
    app.wait_for_title("whole.jsonl")?;
    app.drop_on_canvas(&other)?;
    app.wait_for_status("other.json")?;
    app.drop_on_canvas(&cut)?;
    app.wait_for_status("cut.jsonl")?;
    // The open run stays.
    app.wait_for_title("whole.jsonl")?;
    app.screenshot("files")?;
    app.assert_clean()
}

#[test]
fn dropped_folders_are_one_run_whatever_their_format() -> Result<()> {
    let server = Server::start(&[])?;
    let disk = tempfile::tempdir()?;
    let training = disk.path().join("training");
    fs::create_dir(&training)?;
    for rank in 0..2 {
        let calls = (0..20).map(|at| {
            format!(
                "{{\"ph\":\"X\",\"name\":\"step\",\"pid\":7,\"tid\":7,\"ts\":{},\"dur\":40}}",
                at * 50
            )
        });
        let calls: Vec<String> = calls.collect();
        let text = format!("{{\"traceEvents\":[{}]}}", calls.join(","));
        fs::write(training.join(format!("rank{rank}.json")), text)?;
    }
    let otf2 = concat!(env!("CARGO_MANIFEST_DIR"), "/data/lammps-4r-eztrace-otf2");
    let browser = Browser::start(&Options::default())?;
    let app = App::open_alone(&browser, &server.address)?;
    app.drop_on_canvas(&training)?;
    app.wait_for_title("training")?;
    app.wait_for_status("40 executions of step")?;
    app.drop_on_canvas(Path::new(otf2))?;
    app.wait_for_title("lammps-4r-eztrace-otf2")?;
    app.screenshot("folder")?;
    app.assert_clean()
}

/// Writes a forest of 240 MB, mostly spaces.
fn write_large_forest(file: &Path) -> Result<()> {
    let mut file = std::io::BufWriter::new(fs::File::create(file)?);
    writeln!(file, "{HEADER}")?;
    let space = " ".repeat(200_000);
    for number in 0..1_200 {
        let slow = if number == 31 { 900 } else { 40 + number % 3 };
        writeln!(
            file,
            "{{\"entry\":{number},\"parent\":[-1,0],\"names\":[\"step\",\"solve\"],{space}\"w\":[{},{slow}]}}",
            slow + 10
        )?;
    }
    file.into_inner()?;
    Ok(())
}

#[test]
fn large_files_are_read_in_slices_or_refused_before_they_are_read() -> Result<()> {
    let server = Server::start(&[])?;
    let disk = tempfile::tempdir()?;
    let [huge, empty, large] =
        ["huge.callgrove", "empty.callgrove", "large.jsonl"].map(|name| disk.path().join(name));
    // Sparse files.
    fs::File::create(&huge)?.set_len((1 << 30) + 1)?;
    fs::File::create(&empty)?.set_len(100 << 20)?;
    write_large_forest(&large)?;
    let browser = Browser::start(&Options::default())?;
    let app = App::open_alone(&browser, &server.address)?;
    app.browse(&huge)?;
    let refusal = app.wait_for_status("huge.callgrove")?;
    assert!(
        refusal.contains("at most 320 MB") && refusal.contains("run `callgrove serve"),
        "{refusal}"
    );
    app.browse(&empty)?;
    let refusal = app.wait_for_status("empty.callgrove")?;
    assert!(refusal.contains("it is not a file of"), "{refusal}");
    app.screenshot("large-refused")?;
    app.browse(&large)?;
    app.wait_for_text("Reading the trace")?;
    assert_eq!(app.names("progressbar")?, ["Progress"]);
    let buttons = app.names("button")?;
    assert!(buttons.iter().any(|it| it == "Cancel"), "{buttons:?}");
    app.screenshot("large")?;
    app.wait_for_title("large.jsonl")?;
    app.assert_clean()
}

#[test]
fn work_of_a_page_alone_can_be_cancelled() -> Result<()> {
    let server = Server::start(&[])?;
    let disk = tempfile::tempdir()?;
    let [small, large] = ["small.jsonl", "large.jsonl"].map(|name| disk.path().join(name));
    fs::copy(FOREST, &small)?;
    let mut text = format!("{HEADER}\n");
    for number in 0..100_000_u64 {
        let (first, second) = (number * 7919 % 997, number * 104_729 % 1013);
        writeln!(
            text,
            "{{\"entry\":{number},\"parent\":[-1,0,0],\"names\":[\"step\",\"a\",\"b\"],\"w\":[{},{first},{second}]}}",
            first + second
        )?;
    }
    fs::write(&large, text)?;
    let browser = Browser::start(&Options::default())?;
    let app = App::open_alone(&browser, &server.address)?;
    app.drop_on_canvas(&small)?;
    app.wait_for_text("196 trees")?;
    sleep(Duration::from_secs(1));
    app.drop_on_canvas(&large)?;
    app.click("button", "Cancel")?;
    app.wait_for_title("small.jsonl")?;
    app.wait_for_text("196 trees")?;
    // No result of the other one is still in flight.
    sleep(Duration::from_secs(3));
    app.wait_for_title("small.jsonl")?;
    app.screenshot("stop")?;
    app.assert_clean()
}
