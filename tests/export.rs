//! `callgrove export` for other programs: files of Perfetto and Chrome JSON with findings.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use callgrove_tests::shell::{COMPUTE, analyze, callgrove, error_output, example, stdout};
use serde_json::Value;
use tempfile::TempDir;

/// Exports the example to a file of a name.
fn export(name: &str, more: &[&str]) -> Result<(TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join(name);
    let (source, out) = (example(), path.to_string_lossy());
    let source = source.to_string_lossy();
    let args = [&["export", &source, "--out", &out], more].concat();
    let output = callgrove(&args)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{errors}");
    ensure!(fs::read_dir(folder.path())?.count() == 1, "a part is left");
    Ok((folder, path))
}

fn incidents(trace: &Path) -> Result<Vec<Value>> {
    let text = stdout(&["incidents", &trace.to_string_lossy(), "--format", "json"])?;
    text.lines()
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect()
}

/// Returns the rows of `analyze` without the labels of events, whose steps an export does not have.
fn judged(trace: &Path) -> Result<Vec<Value>> {
    let mut rows = analyze(trace, &[])?;
    for row in &mut rows {
        row["event_id"] = Value::Null;
    }
    Ok(rows)
}

#[test]
fn a_perfetto_trace_is_the_same_run_with_the_same_findings() -> Result<()> {
    let (_folder, path) = export("run.pftrace", &["-f", COMPUTE])?;
    let text = stdout(&["info", &path.to_string_lossy()])?;
    for figure in [
        "4 ranks",
        "30,409 calls",
        "up to 10 deep",
        "3,296 SEND, 3,296 RECV, 3,296 matched",
        "7,216 counter samples",
        "The tracer wrote its own data 8 times, 4.496 ms in all",
        "No warnings: the trace is complete",
    ] {
        ensure!(text.contains(figure), "`{figure}` is missing:\n{text}");
    }
    ensure!(
        incidents(&path)? == incidents(&example())?,
        "incidents differ"
    );
    ensure!(judged(&path)? == judged(&example())?, "judgements differ");
    Ok(())
}

#[test]
fn chrome_json_has_the_calls_and_the_rows_of_incidents_and_analyze() -> Result<()> {
    let (_folder, path) = export("run.json", &["-f", COMPUTE])?;
    let document: Value = serde_json::from_slice(&fs::read(&path)?)?;
    let events = document["traceEvents"].as_array().context("no events")?;
    let of = |key: &str, value: &str| events.iter().filter(|it| it[key] == value).count();
    assert_eq!((of("ph", "B"), of("ph", "E")), (30_409, 30_409));
    assert_eq!(
        (of("name", "MPI_Send"), of("name", "metadata")),
        (3_176 + 3_296, 4)
    );
    let compute = events.iter().find(|it| {
        let file = it["args"]["file"].as_str().unwrap_or_default();
        it["name"] == "LAMMPS_NS::PairEAM::compute" && file.ends_with("pair_eam.cpp")
    });
    ensure!(
        compute.is_some_and(|it| it["args"]["line"].is_u64()),
        "no line"
    );
    let found = |key: &'static str| {
        let found = events.iter().filter(|it| it["cat"] == "callgrove_finding");
        found.filter(move |it| it["args"].get(key).is_some())
    };
    let mut sentences: Vec<&str> = found("cost_us")
        .filter_map(|it| it["args"]["sentence"].as_str())
        .collect();
    for it in found("incident") {
        let (title, number) = (it["name"].as_str(), &it["args"]["incident"]);
        let title = title.context("no title")?.to_lowercase();
        ensure!(title.contains(&format!("incident {number}:")), "{it}");
    }
    let rows = incidents(&example())?;
    let mut expected: Vec<&str> = rows.iter().filter_map(|it| it["words"].as_str()).collect();
    sentences.sort_unstable();
    expected.sort_unstable();
    assert_eq!(sentences, expected);
    let mut scores: Vec<(String, f64)> = Vec::new();
    for it in found("score") {
        let tree = it["args"]["tree"].as_str().context("no tree")?;
        let score = it["args"]["score"].as_f64().context("no score")?;
        ensure!(it["args"]["reason"].is_string(), "no reason: {it}");
        scores.push((tree.to_owned(), score));
    }
    let mut expected = Vec::new();
    for row in analyze(&example(), &[])? {
        if row["abnormal"] == true || !row["cause"].is_null() {
            let tree = row["tree"].as_str().context("no tree")?;
            expected.push((tree.to_owned(), row["score"].as_f64().context("no score")?));
        }
    }
    scores.sort_by(|a, b| a.0.cmp(&b.0));
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    ensure!(!expected.is_empty());
    assert_eq!(scores, expected);
    Ok(())
}

#[test]
fn a_run_is_not_replaced_by_its_export() -> Result<()> {
    let (_folder, path) = export("run.json", &["--no-findings"])?;
    let (before, path) = (fs::read(&path)?, path.to_string_lossy().into_owned());
    let error = error_output(&["export", &path, "--out", &path])?;
    ensure!(error.contains("is the run itself"), "{error}");
    ensure!(fs::read(&path)? == before, "the run changed");
    Ok(())
}

#[test]
fn an_export_without_findings_has_the_run_alone_and_may_be_packed() -> Result<()> {
    let (_folder, path) = export("run.json", &["--no-findings"])?;
    let plain = fs::read_to_string(&path)?;
    ensure!(!plain.contains("callgrove_finding"), "there are findings");
    let (_folder, packed) = export("run.json.gz", &["--no-findings"])?;
    let bytes = fs::read(&packed)?;
    ensure!(bytes.starts_with(&[0x1F, 0x8B]) && bytes.len() * 4 < plain.len());
    for path in [&path, &packed] {
        let text = stdout(&["info", &path.to_string_lossy()])?;
        ensure!(text.contains("30,409 calls"), "{text}");
    }
    Ok(())
}

#[test]
fn a_wrong_extension_names_the_possible_ones() -> Result<()> {
    let source = example();
    let source = source.to_string_lossy();
    let error = error_output(&["export", &source, "--out", "run.csv"])?;
    for extension in [".callgrove", ".pftrace", ".json", ".pftrace.gz", ".json.gz"] {
        ensure!(error.contains(extension), "{error}");
    }
    let error = error_output(&["export", &source, "-o", "x.callgrove", "--no-findings"])?;
    ensure!(error.contains("--no-findings"), "{error}");
    Ok(())
}
