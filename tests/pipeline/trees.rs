//! The closed loop: trees of a live job are judged by published models, and models are rolled back and restored.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use callgrove_provdb::Collection;
use callgrove_tests::process::Process;
use serde_json::Value;

use crate::support::{
    check_schema, documents, example, lines, path_in, pserver, start, stdout, streams,
};

const ROOT: &str = "PairEAM::compute";
/// Minimum number of recorded trees from which a parameter server learns a model.
const ENOUGH_TREES: usize = 100;

/// Returns the trees that a model judged, as (step, version, event, score).
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

/// Waits until a version has judged trees of `num_ranks` ranks.
fn wait_for_version(provdb: &str, version: u64, num_ranks: usize) {
    let rank = |tree: &(u64, u64, String, f64)| tree.2.split(':').next().map(str::to_owned);
    loop {
        let trees = judged(provdb);
        let by_version = trees.iter().filter(|tree| tree.1 == version);
        if by_version.map(rank).collect::<BTreeSet<_>>().len() >= num_ranks {
            return;
        }
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

/// Starts live streams of the example; returns their writer and their names.
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

/// Judges the recorded example and samples its trees.
fn judge_example(url: &str, provdb: &str) {
    let example = example();
    let args = ["ad", &example, "--pserver", url, "--provdb", provdb];
    stdout(&[&args[..], &["--trees", ROOT]].concat());
}

/// Starts an AD instance that judges and samples the trees of live streams.
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
    let [model, provdb, live] = ["model.json", "found", "live"].map(|name| path_in(&folder, name));
    let example = example();
    let analyze = ["analyze", &example, "-f", ROOT, "--format", "json"];
    stdout(&[&analyze[..], &["--save-model", &model]].concat());
    let offline = lines(&stdout(&[&analyze[..], &["--model", &model]].concat()));
    let (mut server, url) = pserver(&provdb);
    let address = url.strip_prefix("http://").unwrap().to_owned();
    let publish = |note| stdout(&["model", "publish", &model, "--server", &url, "--note", note]);
    let output = publish("the first");
    assert!(
        output.contains("version 1 of LAMMPS_NS::PairEAM::compute is in force"),
        "{output}"
    );
    // The second step with trees comes 8 s after the first, which leaves time for the actions in between.
    let (replay, names) = live_example(&live, "0.01");
    let instance = watching(&url, &provdb, &names);
    wait_for_version(&provdb, 1, names.len());
    replay.pause().unwrap();
    publish("the second");
    // Acknowledged models exist again after the server's death.
    server.kill().unwrap();
    let server = start(&["pserver", "--provdb", &provdb, "--listen", &address]);
    server.url().unwrap();
    assert_eq!(in_force(&url).0, Some(2));
    let output = stdout(&["model", "rollback", ROOT, "--server", &url]);
    let expected = "version 1 of LAMMPS_NS::PairEAM::compute is in force now, previously version 2";
    assert!(output.contains(expected), "{output}");
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
    // The records of the job can be opened as a forest.
    let recorded = format!("trees:{provdb}");
    let again = [
        "analyze", &recorded, "-f", ROOT, "--model", &model, "--format", "json",
    ];
    let again = lines(&stdout(&again));
    assert_eq!(again.len(), judged.len());
    // The same score to the last bit from every command, but what incidents lengthened comes first.
    let mut num_delayed = 0;
    for (_, _, event, score) in &judged {
        let of_event = |rows: &[Value]| -> f64 {
            let mut rows = rows.iter();
            let row = rows.find(|row| row["event_id"] == *event).unwrap();
            row["score"].as_f64().unwrap()
        };
        for known in [of_event(&again), of_event(&offline)] {
            if known.to_bits() != score.to_bits() {
                assert!(known < *score, "{event}: {known} {score}");
                num_delayed += 1;
            }
        }
    }
    assert!(num_delayed < judged.len() / 2, "{num_delayed}");
}

#[test]
fn a_model_is_learnt_automatically_from_the_records_of_a_job() {
    let folder = tempfile::tempdir().unwrap();
    let [provdb, live] = ["found", "live"].map(|name| path_in(&folder, name));
    let (server, url) = pserver(&provdb);
    // Between the second and the third step with trees there are enough recorded trees to learn from.
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
    wait_for_version(&provdb, 1, 1);
    assert!(
        versions.iter().all(|(_, by)| by == "callgrove"),
        "{versions:?}"
    );
    replay.finish().unwrap();
    instance.finish().unwrap();
    server.terminate().unwrap();
}

#[test]
fn a_model_that_does_not_fit_the_run_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [model, provdb] = ["model.json", "found"].map(|name| path_in(&folder, name));
    stdout(&["analyze", &example(), "-f", ROOT, "--save-model", &model]);
    let (server, url) = pserver(&provdb);
    stdout(&["ad", &example(), "--pserver", &url]);
    let text = std::fs::read_to_string(&model).unwrap();
    for (changed, why) in [
        (
            text.replacen("PairEAM::compute", "Unknown::compute", 1),
            "has called no function",
        ),
        (
            text.replace("\"programs\":[\"", "\"programs\":[\"other-"),
            "this is a run of",
        ),
        (
            text.replace("\"version\":7", "\"version\":99"),
            "version 99",
        ),
        (text[..text.len() / 2].to_owned(), "not a Callgrove model"),
    ] {
        std::fs::write(&model, changed).unwrap();
        let output = crate::support::command(&["model", "publish", &model, "--server", &url])
            .output()
            .unwrap();
        let error_output = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && error_output.contains(why),
            "{error_output}"
        );
    }
    assert_eq!(in_force(&url), (None, vec![]));
    server.terminate().unwrap();
}

#[test]
fn an_abnormal_tree_says_why_as_analyze_does() {
    let folder = tempfile::tempdir().unwrap();
    let [model, provdb] = ["model.json", "found"].map(|name| path_in(&folder, name));
    let example = example();
    let analyze = |trace: &str, more: &[&str]| {
        let args = [
            "analyze",
            trace,
            "-f",
            ROOT,
            "--format",
            "json",
            "--explain",
        ];
        lines(&stdout(&[&args[..], more].concat()))
    };
    let learnt = analyze(&example, &["--save-model", &model]);
    let (server, url) = pserver(&provdb);
    stdout(&["model", "publish", &model, "--server", &url]);
    judge_example(&url, &provdb);
    server.terminate().unwrap();
    let trees = documents(&provdb, Collection::Trees);
    check_schema(Collection::Trees.schema(), &trees);
    let by_model = analyze(&example, &["--model", &model]);
    let recorded = analyze(&format!("trees:{provdb}"), &["--model", &model]);
    let mut num_abnormal = 0;
    for tree in &trees {
        let reasons = tree["judged"]["reasons"].as_array().unwrap();
        if tree["judged"]["is_anomaly"] != true {
            assert!(reasons.is_empty(), "{tree}");
            continue;
        }
        num_abnormal += 1;
        assert!(!reasons.is_empty(), "{tree}");
        // The run that the model learned from, the model applied to the run, and to the records.
        for rows in [&learnt, &by_model, &recorded] {
            let row = rows
                .iter()
                .find(|row| row["event_id"] == tree["event_id"])
                .unwrap();
            let known = row["reasons"].as_array().unwrap();
            assert_eq!(&known[..reasons.len()], &reasons[..], "{row}");
        }
    }
    assert!(num_abnormal > 2, "{num_abnormal}");
}

#[test]
fn a_model_is_tried_out_and_measured_before_it_is_published() {
    let folder = tempfile::tempdir().unwrap();
    let [model, other, provdb, labels] =
        ["model.json", "other.json", "found", "labels.csv"].map(|name| path_in(&folder, name));
    let example = example();
    let rows = lines(&stdout(&[
        "analyze",
        &example,
        "-f",
        ROOT,
        "--format",
        "json",
        "--save-model",
        &model,
    ]));
    let strict = ["--false-alarms", "0.001", "--save-model", &other];
    stdout(&[&["analyze", &example, "-f", ROOT][..], &strict].concat());
    let (server, url) = pserver(&provdb);
    stdout(&["model", "publish", &other, "--server", &url]);
    judge_example(&url, &provdb);
    // The most abnormal one, and one of the most normal recorded ones.
    let recorded = documents(&provdb, Collection::Trees);
    let is_recorded = |row: &&Value| {
        recorded
            .iter()
            .any(|tree| tree["event_id"] == row["event_id"])
    };
    let normal = rows.iter().rev().find(is_recorded).unwrap();
    let text = format!(
        "rank,index,label,event_id\n{},,abnormal,{}\n{},,abnormal,{}\n",
        rows[0]["rank"],
        rows[0]["event_id"].as_str().unwrap(),
        normal["rank"],
        normal["event_id"].as_str().unwrap(),
    );
    std::fs::write(&labels, text).unwrap();
    let dry_run = |more: &[&str]| {
        let args = [
            "model",
            "publish",
            &model,
            "--server",
            &url,
            "--dry-run",
            "--labels",
            &labels,
        ];
        stdout(&[&args[..], more].concat())
    };
    let trial = lines(&dry_run(&["--format", "json"])).remove(0);
    assert_eq!(trial["trees"], recorded.len());
    assert_eq!(trial["in_force"], 1);
    assert_eq!(
        (&trial["labelled_abnormal"], &trial["missed"]),
        (&2.into(), &1.into())
    );
    let words = dry_run(&[]);
    assert!(
        words.contains("version 1, which is in force, calls")
            && words.contains("of the 2 that you labelled abnormal, it misses 1"),
        "{words}"
    );
    let last = lines(&dry_run(&["--last", "1", "--format", "json"])).remove(0);
    let newest = recorded
        .iter()
        .filter_map(|tree| tree["io_step"].as_u64())
        .max();
    let of_newest = recorded
        .iter()
        .filter(|tree| tree["io_step"].as_u64() == newest);
    assert_eq!(last["trees"], of_newest.count());
    server.terminate().unwrap();

    let truth = format!("{example}/ground_truth.csv");
    let evaluate = |trace: &str, more: &[&str]| {
        let args = ["model", "evaluate", &model, trace, "--format", "json"];
        lines(&stdout(&[&args[..], more].concat())).remove(0)
    };
    let whole = evaluate(&example, &["--truth", &truth]);
    // The model alone calls fewer abnormal than a run whose delays are known.
    let learnt: Value = serde_json::from_slice(&std::fs::read(&model).unwrap()).unwrap();
    assert_eq!(whole["abnormal"], learnt["num_abnormal"]);
    let abnormal = rows
        .iter()
        .filter(|row| row["abnormal"] == true || !row["cause"].is_null());
    assert!(whole["abnormal"].as_u64().unwrap() <= abnormal.count() as u64);
    assert_eq!(
        (&whole["trees"], &whole["misfit"]),
        (&196.into(), &Value::Null)
    );
    assert_eq!(whole["share"], whole["share_in_training"]);
    assert_eq!(whole["new_structure_share"], 0.0);
    let truth = &whole["truth"];
    assert_eq!(
        (&truth["positive"], &truth["negative"]),
        (&6.into(), &190.into())
    );
    assert!(truth["average_precision"].as_f64() > Some(0.5), "{truth}");
    assert!(truth["precision"].as_f64() > Some(0.3) && truth["recall"].as_f64() > Some(0.5));
    let sample = evaluate(&format!("trees:{provdb}"), &[]);
    assert_eq!(sample["trees"], recorded.len());
    let shown = lines(&stdout(&["model", "show", &model, "--format", "json"])).remove(0);
    assert_eq!((&shown["trees"], &shown["seed"]), (&196.into(), &1.into()));
    assert_eq!(shown["labels"]["newest"], Value::Null);
    assert!(
        shown["run"]
            .as_str()
            .is_some_and(|run| run.starts_with("lmp")),
        "{shown}"
    );
}
