//! The pipeline as a person at a cluster uses it: processes over sockets, real traces, SST streams, `kill -9`.

#![expect(clippy::unwrap_used, reason = "what is missing fails the test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use callgrove_provdb::{Collection, PACKET_SCHEMA};
use callgrove_tests::process::Process;
use callgrove_tests::program;
use serde_json::Value;

/// Packets that wait for the test to look at them.
const MAX_WAITING: usize = 1 << 16;
const TOKEN: &str = "a-token-of-sufficient-length";

fn example() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.join("assets/lammps-4r-small")
        .to_string_lossy()
        .into_owned()
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(program::path().unwrap());
    command.args(args).env_remove("CALLGROVE_TOKEN");
    command
}

fn start(args: &[&str]) -> Process {
    Process::start(&mut command(args)).unwrap()
}

/// Standard output of a run that must succeed.
fn stdout(args: &[&str]) -> String {
    let output = command(args).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?} failed: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn documents(provdb: &str, collection: Collection) -> Vec<Value> {
    lines(&stdout(&[
        "query",
        provdb,
        collection.name(),
        "--format",
        "json",
    ]))
}

/// What a run found, without the numbers that the database gives its rows.
fn found(provdb: &str) -> Vec<(Collection, Vec<Value>)> {
    let of = |collection| {
        let mut documents = documents(provdb, collection);
        for document in &mut documents {
            document.as_object_mut().unwrap().remove("__id");
        }
        documents.sort_by_key(ToString::to_string);
        (collection, documents)
    };
    Collection::ALL.map(of).into()
}

fn check_schema(schema: &str, instances: &[Value]) {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for instance in instances {
        let errors: Vec<String> = validator
            .iter_errors(instance)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:#?} in {instance:#}");
    }
}

#[test]
fn one_process_finds_records_and_tells() {
    let folder = tempfile::tempdir().unwrap();
    let provdb = folder.path().join("found").to_string_lossy().into_owned();
    let model = folder
        .path()
        .join("model.json")
        .to_string_lossy()
        .into_owned();
    let run = |provdb: &str, more: &[&str]| {
        lines(&stdout(
            &[
                &["run", &example(), "--provdb", provdb, "--format", "json"],
                more,
            ]
            .concat(),
        ))
        .remove(0)
    };
    let summary = run(&provdb, &["--shards", "3", "--save-model", &model]);
    assert_eq!(
        summary["function_events"].as_u64(),
        summary["executions"].as_u64().map(|it| 2 * it)
    );
    for (collection, documents) in found(&provdb) {
        assert!(!documents.is_empty(), "{collection} is empty");
        check_schema(collection.schema(), &self::documents(&provdb, collection));
    }
    let anomalies = documents(&provdb, Collection::Anomalies);
    assert_eq!(Some(anomalies.len() as u64), summary["anomalies"].as_u64());
    // Every rank counts, by its own records and by those of the parameter server.
    let profile = documents(&provdb, Collection::FuncStats);
    let counted: f64 = profile
        .iter()
        .filter_map(|stats| stats["anomaly_metrics"]["anomaly_count"]["accumulate"].as_f64())
        .sum();
    assert_eq!(counted as usize, anomalies.len());
    assert_eq!(Some(num_calls(&profile)), summary["executions"].as_u64());
    // The same again gives the same.
    let again = folder.path().join("again").to_string_lossy().into_owned();
    run(&again, &["--shards", "1"]);
    assert_eq!(found(&again), found(&provdb));
    // A frozen model learns nothing more.
    let frozen = folder.path().join("frozen").to_string_lossy().into_owned();
    run(&frozen, &["--load-model", &model, "--freeze"]);
    assert_eq!(found(&frozen)[5], found(&provdb)[5], "models");
}

#[test]
fn incidents_name_the_rank_that_was_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let provdb = folder.path().join("found").to_string_lossy().into_owned();
    stdout(&["run", &example(), "--provdb", &provdb]);
    let incidents = documents(&provdb, Collection::Incidents);
    // The three stops of the run while it computed: 33 ms each at least, of ranks 2, 0 and 0.
    let mut large: Vec<&Value> = incidents
        .iter()
        .filter(|it| it["delay"].as_u64() > Some(100_000))
        .collect();
    large.sort_by_key(|it| it["start"].as_u64());
    let roots: Vec<_> = large.iter().map(|it| it["rid"].as_u64()).collect();
    assert_eq!(roots[0], Some(2), "{large:#?}");
    assert!(roots.iter().all(Option::is_some), "{large:#?}");
    // Mates are what their numbers say: each end is in the window of its record, if there is one.
    let records = documents(&provdb, Collection::Anomalies);
    let mut num_checked = 0;
    for message in incidents
        .iter()
        .flat_map(|it| it["messages"].as_array().unwrap())
    {
        assert!(message["sent"]["timestamp"].as_u64() <= message["received"]["timestamp"].as_u64());
        let call = &message["received"]["event_id"];
        for record in records.iter().filter(|it| &it["event_id"] == call) {
            let comms = record["event_window"]["comm_window"].as_array().unwrap();
            let is_it = |it: &&Value| {
                let fields = ["src", "tar", "tag", "number"];
                it["type"] == "RECV" && fields.iter().all(|&field| it[field] == message[field])
            };
            let found = comms.iter().find(is_it).unwrap();
            assert_eq!(found["timestamp"], message["received"]["timestamp"]);
            num_checked += 1;
        }
    }
    assert!(num_checked > 0);
    // Again from the saved state: nothing new.
    stdout(&["run", &example(), "--provdb", &provdb]);
    assert_eq!(documents(&provdb, Collection::Incidents), incidents);
}

#[test]
fn the_three_detectors_and_their_settings_reach_the_records() {
    for (args, field) in [
        (&["--algorithm", "sstd", "--sigma", "12"][..], "mean"),
        (&["--algorithm", "copod"], "histogram"),
        (
            &[
                "--algorithm",
                "hbos",
                "--statistic",
                "inclusive",
                "--threshold",
                "0.95",
            ],
            "histogram",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let provdb = folder.path().to_string_lossy().into_owned();
        stdout(&[&["run", &example(), "--provdb", &provdb], args].concat());
        let anomalies = documents(&provdb, Collection::Anomalies);
        assert!(!anomalies.is_empty(), "{args:?}");
        assert!(
            anomalies
                .iter()
                .all(|record| !record["algo_params"][field].is_null()),
            "{args:?}"
        );
    }
}

#[test]
fn options_without_effect_are_refused() {
    let of_others: [&[&str]; 3] = [
        &["--sigma", "7"],
        &["--algorithm", "sstd", "--threshold", "0.9"],
        &["--algorithm", "sstd", "--max-bins", "50"],
    ];
    for options in of_others {
        let output = command(&[&["ad", &example()], options].concat())
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("is of no use to"), "{options:?}: {told}");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn processes_may_start_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("served").to_string_lossy().into_owned();
    // A port that is free now; nobody listens there yet.
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let url = format!("http://{address}");
    let instance = start(&["ad", &example(), "--provdb", &url]);
    instance.line_with("waiting for it").unwrap();
    let provdb = start(&["provdb", &store, "--listen", &address]);
    instance.finish().unwrap();
    provdb.terminate().unwrap();
    assert!(!documents(&store, Collection::Anomalies).is_empty());
}

#[test]
fn questions_are_answered_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let provdb = folder.path().to_string_lossy().into_owned();
    stdout(&["run", &example(), "--provdb", &provdb]);
    let by_score = lines(&stdout(&[
        "query", &provdb, "--sort", "score", "-n", "5", "--format", "json",
    ]));
    let scores: Vec<f64> = by_score
        .iter()
        .filter_map(|record| record["outlier_score"].as_f64())
        .collect();
    assert!(
        scores.len() == 5 && scores.is_sorted_by(|a, b| a >= b),
        "{scores:?}"
    );
    let filter = "rid in (1, 2) and runtime_total > 10";
    let some = lines(&stdout(&[
        "query", &provdb, "--where", filter, "--format", "json",
    ]));
    assert!(!some.is_empty());
    assert!(
        some.iter()
            .all(|record| [1, 2].contains(&record["rid"].as_u64().unwrap()))
    );
    let count = stdout(&["query", &provdb, "--where", filter, "--count"]);
    assert_eq!(count.trim(), some.len().to_string());
    let csv = stdout(&[
        "query",
        &provdb,
        "metadata",
        "--columns",
        "rid,descr",
        "--format",
        "csv",
    ]);
    assert!(csv.starts_with("rid,descr\n"), "{csv}");
    let sql = "select count(*) as n from anomalies";
    let total = lines(&stdout(&[
        "query", &provdb, "--sql", sql, "--format", "json",
    ]));
    assert_eq!(
        total[0]["n"].as_u64(),
        Some(documents(&provdb, Collection::Anomalies).len() as u64)
    );
    let refused = command(&["query", &provdb, "--where", "rid = = 1"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let unknown = ["query", &provdb, "--columns", "rid,call_stack,io.nothing"];
    let output = command(&unknown).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        told,
        "callgrove: no document that was found has a field io.nothing\n"
    );
    // Every document once, in the same order, however it is asked for.
    let ids = |args: &[&str]| -> Vec<String> {
        let text = stdout(
            &[
                &["query", &provdb, "normalexecs", "--columns", "__id"],
                args,
            ]
            .concat(),
        );
        let rows = text.lines().skip(1).map(str::trim);
        rows.map(str::to_owned).collect()
    };
    let all = documents(&provdb, Collection::NormalExecs);
    let expected: Vec<String> = all.iter().map(|it| it["__id"].to_string()).collect();
    assert!(expected.len() > 128, "more than are fetched at once");
    assert_eq!(ids(&["--format", "csv"]), expected);
    assert_eq!(ids(&[]), expected);
}

#[test]
fn files_of_a_run_that_is_over_can_be_copied_and_a_lost_receiver_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let provdb = folder.path().join("found").to_string_lossy().into_owned();
    let nobody = "http://127.0.0.1:1/packets";
    let output = command(&["run", &example(), "--provdb", &provdb, "--post", nobody])
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    let complaint = format!("{nobody} did not take the last packet");
    assert!(told.contains(&complaint), "{told}");
    let copy = folder.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    for entry in std::fs::read_dir(&provdb).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.extension().is_some_and(|it| it == "sqlite") {
            std::fs::copy(&path, copy.join(entry.file_name())).unwrap();
        }
    }
    assert_eq!(found(&copy.to_string_lossy()), found(&provdb));
}

#[test]
fn processes_find_together_what_one_finds_and_post_it() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, TOKEN).unwrap();
    restrict(&token);
    let token = token.to_string_lossy().into_owned();
    let store = folder.path().join("served").to_string_lossy().into_owned();
    let server = ["--listen", "127.0.0.1:0", "--token-file", &token];
    let provdb = start(&[&["provdb", &store, "--shards", "2"][..], &server].concat());
    let provdb_url = provdb.url().unwrap();
    let (viz, packets) = receiver_of_packets();
    let pserver_args = [
        "pserver",
        "--provdb",
        &provdb_url,
        "--post",
        &viz,
        "--interval",
        "0.2",
    ];
    let pserver = start(&[&pserver_args[..], &server].concat());
    let pserver_url = pserver.url().unwrap();
    let refused = command(&["ad", &example(), "--pserver", &pserver_url])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(1), "nothing without the token");
    let streams: Vec<PathBuf> = streams(Path::new(&example()));
    let instances: Vec<Process> = streams
        .iter()
        .map(|stream| {
            let stream = stream.to_string_lossy();
            let args = [
                "ad",
                &stream,
                "--pserver",
                &pserver_url,
                "--provdb",
                &provdb_url,
                "--token-file",
                &token,
                "--format",
                "json",
            ];
            start(&args)
        })
        .collect();
    let executions: u64 = instances
        .into_iter()
        .map(|instance| {
            lines(&instance.finish().unwrap())[0]["executions"]
                .as_u64()
                .unwrap()
        })
        .sum();
    pserver.terminate().unwrap();
    let posted: Vec<Value> = packets.try_iter().collect();
    check_schema(PACKET_SCHEMA, &posted);
    assert!(
        posted
            .iter()
            .any(|packet| !packet["anomaly_stats"].is_null())
    );
    provdb.terminate().unwrap();
    for collection in [
        Collection::FuncStats,
        Collection::AdModel,
        Collection::Metadata,
        Collection::Incidents,
    ] {
        check_schema(collection.schema(), &documents(&store, collection));
    }
    let calls = num_calls(&documents(&store, Collection::FuncStats));
    assert_eq!(calls, executions, "each execution counts once");
    // Each instance has its own view of the models on the way, but who was stopped all see.
    let incidents = documents(&store, Collection::Incidents);
    let is_known = |it: &&Value| it["delay"].as_u64() > Some(100_000) && it["rid"].is_u64();
    assert!(
        incidents.iter().filter(is_known).count() >= 2,
        "{incidents:#?}"
    );
}

#[test]
fn a_replayed_run_is_followed_live() {
    let folder = tempfile::tempdir().unwrap();
    let live = folder.path().join("live").to_string_lossy().into_owned();
    let provdb = folder.path().join("found").to_string_lossy().into_owned();
    let replay = start(&["replay", &example(), "--out", &live, "--speed", "20"]);
    replay.line_with("waiting for a reader").unwrap();
    let names: Vec<String> = streams(Path::new(&example()))
        .iter()
        .map(|stream| format!("{live}/{}", stream.file_name().unwrap().to_string_lossy()))
        .collect();
    let mut args = vec!["run", "--provdb", &provdb, "--format", "json", "--sst"];
    args.extend(names.iter().map(String::as_str));
    let summary = lines(&start(&args).finish().unwrap()).remove(0);
    replay.finish().unwrap();
    let recorded = stdout(&["run", &example(), "--format", "json"]);
    for field in ["steps", "function_events", "executions"] {
        assert_eq!(summary[field], lines(&recorded)[0][field], "{field}");
    }
    let anomalies = documents(&provdb, Collection::Anomalies);
    assert_eq!(Some(anomalies.len() as u64), summary["anomalies"].as_u64());
}

#[test]
fn an_instance_that_is_killed_and_comes_back_changes_nothing_that_was_told() {
    let folder = tempfile::tempdir().unwrap();
    let provdb = folder.path().join("found").to_string_lossy().into_owned();
    let live = folder.path().join("live");
    let store = folder.path().join("served").to_string_lossy().into_owned();
    let pserver = start(&["pserver", "--provdb", &store, "--listen", "127.0.0.1:0"]);
    let url = pserver.url().unwrap();
    // A growing copy of the run, followed by an instance that is killed on the way.
    let out = live.to_string_lossy().into_owned();
    let replay = growing(&out, "bp5", "4");
    let follow = [
        "ad",
        &out,
        "--follow",
        "--pserver",
        &url,
        "--provdb",
        &provdb,
        "--format",
        "json",
    ];
    let mut killed = start(&follow);
    wait_for_records(&provdb, "metadata");
    let before = documents(&provdb, Collection::Metadata);
    killed.kill().unwrap();
    replay.finish().unwrap();
    let summary = lines(&stdout(&[
        "ad",
        &out,
        "--pserver",
        &url,
        "--provdb",
        &provdb,
        "--format",
        "json",
    ]))
    .remove(0);
    pserver.terminate().unwrap();
    let after = documents(&provdb, Collection::Metadata);
    assert!(
        before.iter().all(|entry| after.contains(entry)),
        "what was acknowledged is still there"
    );
    let calls = num_calls(&documents(&store, Collection::FuncStats));
    assert_eq!(
        Some(calls),
        summary["executions"].as_u64(),
        "each execution counts once"
    );
}

#[test]
fn what_an_instance_has_told_survives_a_server_that_dies_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("served").to_string_lossy().into_owned();
    let serve = ["pserver", "--provdb", &store, "--listen", "127.0.0.1:0"];
    let mut pserver = start(&serve);
    let url = pserver.url().unwrap();
    let ad = ["ad", &example(), "--pserver", &url, "--format", "json"];
    let executions = lines(&stdout(&ad))[0]["executions"].as_u64();
    pserver.kill().unwrap();
    let calls = num_calls(&documents(&store, Collection::FuncStats));
    assert_eq!(Some(calls), executions);
}

#[test]
fn an_instance_waits_at_its_end_for_a_server_that_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("served").to_string_lossy().into_owned();
    let live = folder.path().join("live").to_string_lossy().into_owned();
    let mut pserver = start(&["pserver", "--provdb", &store, "--listen", "127.0.0.1:0"]);
    let url = pserver.url().unwrap();
    let address = url.strip_prefix("http://").unwrap().to_owned();
    let replay = growing(&live, "bp5", "4");
    let follow = [
        "ad",
        &live,
        "--follow",
        "--pserver",
        &url,
        "--format",
        "json",
    ];
    let instance = start(&follow);
    wait_for_records(&store, "func_stats");
    pserver.kill().unwrap();
    replay.finish().unwrap();
    instance.line_with("detection goes on").unwrap();
    let pserver = start(&["pserver", "--provdb", &store, "--listen", &address]);
    let executions = lines(&instance.finish().unwrap())[0]["executions"].as_u64();
    pserver.terminate().unwrap();
    let calls = num_calls(&documents(&store, Collection::FuncStats));
    assert_eq!(Some(calls), executions);
}

#[test]
fn processes_that_are_told_to_end_together_keep_everything() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("served").to_string_lossy().into_owned();
    let live = folder.path().join("live").to_string_lossy().into_owned();
    let provdb = start(&["provdb", &store, "--listen", "127.0.0.1:0"]);
    let provdb_url = provdb.url().unwrap();
    let pserver = start(&[
        "pserver",
        "--provdb",
        &provdb_url,
        "--listen",
        "127.0.0.1:0",
    ]);
    let url = pserver.url().unwrap();
    let replay = growing(&live, "bp5", "0.2");
    let follow = [
        "ad",
        &live,
        "--follow",
        "--pserver",
        &url,
        "--provdb",
        &provdb_url,
        "--format",
        "json",
    ];
    let instance = start(&follow);
    wait_for_records(&store, "anomalies");
    // In the order that is worst: who keeps for others first.
    let ends = [provdb, pserver, instance];
    for process in &ends {
        process.ask_to_end().unwrap();
    }
    let [provdb, pserver, instance] = ends.map(|it| it.finish().unwrap());
    drop((provdb, pserver, replay));
    let summary = lines(&instance).remove(0);
    let calls = num_calls(&documents(&store, Collection::FuncStats));
    assert_eq!(Some(calls), summary["executions"].as_u64());
    let anomalies = documents(&store, Collection::Anomalies).len() as u64;
    assert_eq!(Some(anomalies), summary["anomalies"].as_u64());
}

#[test]
fn two_instances_cannot_watch_one_rank() {
    let folder = tempfile::tempdir().unwrap();
    let provdb = folder.path().join("found").to_string_lossy().into_owned();
    let live = folder.path().join("live").to_string_lossy().into_owned();
    let replay = growing(&live, "bp4", "0.02");
    let first = start(&["ad", &live, "--follow", "--provdb", &provdb]);
    wait_for_records(&provdb, "metadata");
    let second = command(&["ad", &live, "--follow", "--provdb", &provdb])
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("rank 0"), "{complaint}");
    drop((first, replay));
}

#[test]
fn two_runs_never_mix_in_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let provdb = folder.path().join("found").to_string_lossy().into_owned();
    let run = |trace: &str| {
        command(&["run", trace, "--provdb", &provdb])
            .output()
            .unwrap()
    };
    assert!(run(&example()).status.success());
    let known = stdout(&["query", &provdb, "run"]);
    assert!(
        stdout(&["info", &example()]).contains(known.trim()),
        "{known}"
    );
    // Statistics that were saved and read again may differ in their last digit.
    let stored = || {
        let records = [
            Collection::Anomalies,
            Collection::NormalExecs,
            Collection::Metadata,
        ];
        let calls = num_calls(&documents(&provdb, Collection::FuncStats));
        (records.map(|it| documents(&provdb, it)), calls)
    };
    let first = stored();

    let killed = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/lammps-4r-killed");
    let other = run(&killed.to_string_lossy());
    let complaint = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(1), "{complaint}");
    assert!(
        complaint.contains("is of another run") && complaint.contains("Name another folder"),
        "{complaint}"
    );
    assert!(stored() == first, "nothing of the other run is there");

    assert!(run(&example()).status.success(), "the same run again");
    assert_eq!(stored().1, first.1, "nothing is counted twice");
}

/// Calls that the profile of a run counts.
fn num_calls(func_stats: &[Value]) -> u64 {
    let count = |stats: &Value| stats["runtime_profile"]["exclusive_runtime"]["count"].as_u64();
    func_stats.iter().filter_map(count).sum()
}

/// Starts to write the example again to `out`; all its streams are there.
fn growing(out: &str, engine: &str, speed: &str) -> Process {
    let trace = example();
    let args = [
        "replay", &trace, "--out", out, "--engine", engine, "--speed", speed,
    ];
    let replay = start(&args);
    while streams(Path::new(out)).len() < 4 {
        thread::sleep(Duration::from_millis(20));
    }
    replay
}

/// Waits until the database has heard of the run.
fn wait_for_records(provdb: &str, collection: &str) {
    let count = || {
        let asked = command(&["query", provdb, collection, "--count"])
            .output()
            .unwrap();
        String::from_utf8(asked.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap_or(0_u64)
    };
    while count() == 0 {
        thread::sleep(Duration::from_millis(20));
    }
}

/// The streams of a run, in order of rank.
fn streams(run: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![run.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .map_while(Result::ok)
        {
            let path = entry.path();
            if path.join("md.idx").is_file() {
                found.push(path);
            } else if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

#[cfg(unix)]
fn restrict(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[cfg(not(unix))]
fn restrict(_: &Path) {}

/// A server that takes the packets posted to it, as a visualization would.
fn receiver_of_packets() -> (String, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/api/anomalydata", listener.local_addr().unwrap());
    let (sender, packets) = sync_channel(MAX_WAITING);
    let receive = move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = BufReader::new(stream);
            let mut length_bytes = 0;
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).unwrap() <= 2 {
                    break;
                }
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length_bytes = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length_bytes];
            stream.read_exact(&mut body).unwrap();
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.get_mut().write_all(answer).unwrap();
            if sender.send(serde_json::from_slice(&body).unwrap()).is_err() {
                return;
            }
        }
    };
    let thread = thread::Builder::new().name("receiver".to_owned());
    thread.spawn(receive).unwrap();
    (url, packets)
}
