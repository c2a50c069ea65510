//! Findings, records and reports of the pipeline when nothing fails.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use callgrove_provdb::{Collection, PACKET_SCHEMA};
use callgrove_tests::process::Process;
use serde_json::Value;

use crate::support::*;

/// Capacity of the queue of received packets.
const MAX_WAITING: usize = 1 << 16;

const TOKEN: &str = "a-token-of-sufficient-length";

#[test]
fn one_process_finds_and_records_anomalies() {
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
        // Trees were not requested, and the run has no trends.
        let is_empty = matches!(collection, Collection::Trees | Collection::Trends);
        assert_eq!(documents.is_empty(), is_empty, "{collection}");
        check_schema(collection.schema(), &self::documents(&provdb, collection));
    }
    let anomalies = documents(&provdb, Collection::Anomalies);
    assert_eq!(Some(anomalies.len() as u64), summary["anomalies"].as_u64());
    // All ranks count, in their own records and in those of the parameter server.
    let profile = documents(&provdb, Collection::FuncStats);
    let counted: f64 = profile
        .iter()
        .filter_map(|stats| stats["anomaly_metrics"]["anomaly_count"]["accumulate"].as_f64())
        .sum();
    assert_eq!(counted as usize, anomalies.len());
    assert_eq!(Some(num_calls(&profile)), summary["executions"].as_u64());
    // The same input again gives the same results.
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
    // The three stops of the run while it computed: at least 33 ms each, of ranks 2, 0 and 0.
    let mut large: Vec<&Value> = incidents
        .iter()
        .filter(|it| it["delay"].as_u64() > Some(100_000))
        .collect();
    large.sort_by_key(|it| it["start"].as_u64());
    let roots: Vec<_> = large.iter().map(|it| it["rid"].as_u64()).collect();
    assert_eq!(roots[0], Some(2), "{large:#?}");
    assert!(roots.iter().all(Option::is_some), "{large:#?}");
    // Messages are matched by number: each end is in the window of its record, if that has one.
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
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("has no effect on"), "{options:?}: {stderr}");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn rules_that_match_no_function_are_reported_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let ignore = folder.path().join("ignore.txt");
    std::fs::write(&ignore, "MPI_*\nno_such_function\n").unwrap();
    let ignore = ignore.to_string_lossy().into_owned();
    let output = command(&["ad", &example(), "--ignore", &ignore])
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("no function matches no_such_function"),
        "{stderr}"
    );
    assert!(!stderr.contains("MPI_*"), "{stderr}");
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
    // Every document once, in the same order, however it is requested.
    let ids = |args: &[&str]| -> Vec<String> {
        let text = stdout(&[&["query", &provdb, "metadata", "--columns", "__id"], args].concat());
        let rows = text.lines().skip(1).map(str::trim);
        rows.map(str::to_owned).collect()
    };
    let all = documents(&provdb, Collection::Metadata);
    let expected: Vec<String> = all.iter().map(|it| it["__id"].to_string()).collect();
    assert!(expected.len() > 128, "more than are fetched at once");
    assert_eq!(ids(&["--format", "csv"]), expected);
    assert_eq!(ids(&[]), expected);
}

#[test]
fn several_processes_find_the_same_as_one_and_post_it() {
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
    // The intermediate models differ between instances, but all of them find the stopped ranks.
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
    let (replay, names) = running_job(&example(), &live, "20");
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

#[cfg(unix)]
fn restrict(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[cfg(not(unix))]
fn restrict(_: &Path) {}

/// Starts a server that receives the posted packets, like a visualization.
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
