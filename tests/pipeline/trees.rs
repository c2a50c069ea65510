//! The closed loop: trees of a live job, judged by models that are published to it, taken back, and kept.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use callgrove_provdb::Collection;
use callgrove_tests::process::Process;
use serde_json::Value;

use crate::support::{
    check_schema, documents, example, lines, place, pserver, start, stdout, streams,
};

const ROOT: &str = "PairEAM::compute";
/// From so many recorded trees on a parameter server learns a model of them.
const ENOUGH_TREES: usize = 100;

/// The trees that a model judged, as (step, version, event, score).
fn judged(provdb: &str) -> Vec<(u64, u64, String, f64)> {
    let of = |tree: &Value| {
        let judged = &tree["judged"];
        Some((
            tree["io_step"].as_u64()?,
            judged["version"].as_u64()?,
            tree["event_id"].as_str()?.to_owned(),
            judged["score"].as_f64()?,
        ))
    };
    documents(provdb, Collection::Trees)
        .iter()
        .filter_map(of)
        .collect()
}

/// Waits until a version has judged a tree.
fn wait_for_version(provdb: &str, version: u64) {
    while !judged(provdb).iter().any(|tree| tree.1 == version) {
        thread::sleep(Duration::from_millis(50));
    }
}

fn in_force(url: &str) -> (Option<u64>, Vec<(u64, String)>) {
    let list = lines(&stdout(&[
        "model", "list", "--server", url, "--format", "json",
    ]))
    .remove(0);
    let model = &list["models"][0];
    let versions = model["versions"].as_array().into_iter().flatten();
    let version = |it: &Value| {
        (
            it["version"].as_u64().unwrap(),
            it["by"].as_str().unwrap().to_owned(),
        )
    };
    (model["in_force"].as_u64(), versions.map(version).collect())
}

/// Live streams of the example, each by its name, and who writes them.
fn live_example(folder: &str, speed: &str) -> (Process, Vec<String>) {
    let replay = start(&["replay", &example(), "--out", folder, "--speed", speed]);
    replay.line_with("waiting for a reader").unwrap();
    let name =
        |stream: &PathBuf| format!("{folder}/{}", stream.file_name().unwrap().to_string_lossy());
    (
        replay,
        streams(Path::new(&example())).iter().map(name).collect(),
    )
}

/// An AD instance that judges and samples the trees of live streams.
fn watching(url: &str, provdb: &str, names: &[String]) -> Process {
    let mut args = vec![
        "ad",
        "--pserver",
        url,
        "--provdb",
        provdb,
        "--format",
        "json",
    ];
    args.extend(["--trees", ROOT, "--sst"]);
    args.extend(names.iter().map(String::as_str));
    start(&args)
}

#[test]
fn a_published_model_judges_the_next_steps_and_goes_back_and_survives_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let [model, provdb, live] = ["model.json", "found", "live"].map(|name| place(&folder, name));
    let example = example();
    let analyze = ["analyze", &example, "-f", ROOT, "--format", "json"];
    stdout(&[&analyze[..], &["--save-model", &model]].concat());
    let offline = lines(&stdout(&[&analyze[..], &["--model", &model]].concat()));
    let (mut server, url) = pserver(&provdb);
    let address = url.strip_prefix("http://").unwrap().to_owned();
    let publish = |note| stdout(&["model", "publish", &model, "--server", &url, "--note", note]);
    let told = publish("the first");
    assert!(
        told.contains("version 1 of LAMMPS_NS::PairEAM::compute is in force"),
        "{told}"
    );
    // The second of the steps with trees comes 8 s after the first, and waits for what is done between them.
    let (replay, names) = live_example(&live, "0.01");
    let instance = watching(&url, &provdb, &names);
    wait_for_version(&provdb, 1);
    replay.pause().unwrap();
    publish("the second");
    // What was acknowledged is there again after the server's death.
    server.kill().unwrap();
    let server = start(&["pserver", "--provdb", &provdb, "--listen", &address]);
    server.url().unwrap();
    assert_eq!(in_force(&url).0, Some(2));
    let told = stdout(&["model", "rollback", ROOT, "--server", &url]);
    let expected =
        "version 1 of LAMMPS_NS::PairEAM::compute is in force now, before it was version 2";
    assert!(told.contains(expected), "{told}");
    publish("the third");
    replay.go_on().unwrap();
    replay.finish().unwrap();
    let summary = lines(&instance.finish().unwrap()).remove(0);
    assert_eq!(
        summary["trees"].as_u64(),
        Some(offline.len() as u64),
        "{summary}"
    );
    server.terminate().unwrap();
    check_schema(
        Collection::Trees.schema(),
        &documents(&provdb, Collection::Trees),
    );
    let judged = judged(&provdb);
    let mut versions: Vec<_> = judged.iter().map(|tree| (tree.0, tree.1)).collect();
    versions.sort_unstable();
    versions.dedup();
    assert_eq!(
        versions,
        [(1, 1), (2, 3), (3, 3)],
        "each step by what was in force"
    );
    // The same score to the last bit, whoever asks.
    for (_, _, event, score) in &judged {
        let row = offline
            .iter()
            .find(|row| row["event_id"] == *event)
            .unwrap();
        assert_eq!(
            row["score"].as_f64().map(f64::to_bits),
            Some(score.to_bits()),
            "{event}"
        );
    }
    // What the job recorded opens as a forest.
    let recorded = format!("trees:{provdb}");
    let again = [
        "analyze", &recorded, "-f", ROOT, "--model", &model, "--format", "json",
    ];
    let again = lines(&stdout(&again));
    assert_eq!(again.len(), judged.len());
    for row in again {
        let known = offline
            .iter()
            .find(|known| known["event_id"] == row["event_id"])
            .unwrap();
        assert_eq!(known["score"], row["score"], "{}", row["event_id"]);
    }
}

#[test]
fn without_anybody_a_model_is_learnt_from_what_the_job_records() {
    let folder = tempfile::tempdir().unwrap();
    let [provdb, live] = ["found", "live"].map(|name| place(&folder, name));
    let (server, url) = pserver(&provdb);
    // Between the second and the third step with trees there are enough to learn from.
    let (replay, names) = live_example(&live, "0.01");
    let instance = watching(&url, &provdb, &names);
    while documents(&provdb, Collection::Trees).len() < ENOUGH_TREES {
        thread::sleep(Duration::from_millis(50));
    }
    replay.pause().unwrap();
    let versions = loop {
        let (version, versions) = in_force(&url);
        if version.is_some() {
            break versions;
        }
        thread::sleep(Duration::from_millis(50));
    };
    replay.go_on().unwrap();
    wait_for_version(&provdb, 1);
    assert!(
        versions.iter().all(|(_, by)| by == "callgrove"),
        "{versions:?}"
    );
    replay.finish().unwrap();
    instance.finish().unwrap();
    server.terminate().unwrap();
}

#[test]
fn what_is_no_model_of_the_run_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [model, provdb] = ["model.json", "found"].map(|name| place(&folder, name));
    stdout(&["analyze", &example(), "-f", ROOT, "--save-model", &model]);
    let (server, url) = pserver(&provdb);
    stdout(&["ad", &example(), "--pserver", &url]);
    let text = std::fs::read_to_string(&model).unwrap();
    for (changed, why) in [
        (
            text.replacen("PairEAM::compute", "Nobody::compute", 1),
            "has called no function",
        ),
        (
            text.replace("\"version\":4", "\"version\":99"),
            "version 99",
        ),
        (text[..text.len() / 2].to_owned(), "no model of Callgrove"),
    ] {
        std::fs::write(&model, changed).unwrap();
        let output = crate::support::command(&["model", "publish", &model, "--server", &url])
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && complaint.contains(why),
            "{complaint}"
        );
    }
    assert_eq!(in_force(&url), (None, vec![]));
    server.terminate().unwrap();
}
