//! `callgrove report`: a run as input, a page as output.

use std::fs;

use anyhow::{Context, Result};
use callgrove_tests::program;
use callgrove_tests::shell::{COMPUTE, error_output, example, stdout};
use serde_json::Value;

/// Returns the page of a run, with these arguments.
fn page(args: &[&str]) -> Result<String> {
    let disk = tempfile::tempdir()?;
    let out = disk.path().join("report.html");
    let example = example();
    let output = program::command()?
        .args(["report", &example.to_string_lossy()])
        .args(args)
        .arg("--out")
        .arg(&out)
        .env("XDG_STATE_HOME", disk.path())
        .output()?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    assert!(output.stdout.is_empty(), "a report is a file");
    Ok(fs::read_to_string(out)?)
}

#[test]
fn a_report_has_what_the_commands_print() -> Result<()> {
    let page = page(&["--function", COMPUTE, "--labels"])?;
    let example = example();
    let incidents = stdout(&["incidents", &example.to_string_lossy(), "--format", "json"])?;
    let costliest = incidents
        .lines()
        .map(|line| Ok(serde_json::from_str::<Value>(line)?))
        .collect::<Result<Vec<_>>>()?;
    let is_fault = |row: &&Value| row["by_design"] == false;
    let costliest = costliest.iter().find(is_fault).context("no incident")?;
    let words = costliest["words"].as_str().context("no sentence")?;
    assert!(page.contains(words), "{words}");
    // The picture of the timeline, in two themes.
    assert!(page.matches("<svg").count() >= 2, "no pictures");
    assert!(page.contains("Nothing is labelled."));
    // One of the input files, with the hash that other programs compute.
    assert!(page.contains("md.idx"), "no inputs");
    assert!(!page.contains("not computed"));
    for absent in [
        "<script", "http://", "https://", "url(http", "<link", " src=",
    ] {
        let page = page.replace("http://www.w3.org/", "");
        assert!(!page.contains(absent), "{absent}");
    }
    Ok(())
}

#[test]
fn hosts_of_other_runs_are_listed_with_those_of_this_one() -> Result<()> {
    let other = example();
    let other = other.to_string_lossy();
    let page = page(&["--no-hashes", "--nodes", &other, "--nodes", &other])?;
    let nodes = page.split("id=\"nodes\"").nth(1).context("no hosts")?;
    // All three runs have one host, so chance explains everything.
    let expected = "No host was the costliest root in more of the 3 runs than chance explains.";
    assert!(nodes.contains(expected), "{nodes}");
    Ok(())
}

#[test]
fn incidents_can_be_chosen_and_hashes_left_out() -> Result<()> {
    let page = page(&["--incident", "2", "--no-hashes", "--candidates", "2"])?;
    assert!(page.contains("id=\"incident-2\"") && !page.contains("id=\"incident-1\""));
    assert!(page.contains("not computed"));
    Ok(())
}

#[test]
fn mistakes_are_named_and_nothing_is_written() -> Result<()> {
    let disk = tempfile::tempdir()?;
    let out = disk.path().join("report.html");
    let (example, out) = (example(), out.to_string_lossy().into_owned());
    let example = example.to_string_lossy();
    let error = error_output(&["report", &example, "--incident", "99999", "--out", &out])?;
    assert!(error.contains("there is no incident 99999"), "{error}");
    let error = error_output(&["report", &example, "--function", "nope", "--out", &out])?;
    assert!(error.contains("nope"), "{error}");
    let error = error_output(&["report", &example, "--out", "report.pdf"])?;
    assert!(error.contains("report.html"), "{error}");
    assert_eq!(fs::read_dir(disk.path())?.count(), 0);
    Ok(())
}
