//! A relay between a job and its AD instances.

use std::time::Duration;

use callgrove_provdb::Collection;
use serde_json::Value;

use crate::support::*;

/// Starts a relay of all streams of a job, which waits for its readers.
fn relay_of(names: &[String], files: &str, more: &[&str]) -> callgrove_tests::process::Process {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    start(&[&["relay", "--out", files, "--sst"][..], &names, more].concat())
}

#[test]
fn a_job_survives_its_ad_instance_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| path_in(&folder, name);
    let (live, files, store) = (path("live"), path("files"), path("found"));
    let (replay, names) = running_job(&example(), &live, "0.04");
    let relay = relay_of(&names, &files, &[]);
    let (server, url) = pserver(&store);
    let mut arguments = following(&files, &["--pserver", &url, "--provdb", &store]);
    arguments.extend(["--connect-timeout", "60"]);
    let mut instance = start(&arguments);
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(700));
        instance.kill().unwrap();
        instance = start(&arguments);
    }
    instance.pause().unwrap();
    replay.finish().unwrap();
    let relayed = relay.finish().unwrap();
    assert!(relayed.contains("steps of 4 streams"), "{relayed}");
    // The folder is a run like any other.
    let contents: Value =
        serde_json::from_str(&stdout(&["info", &files, "--format", "json"])).unwrap();
    assert_eq!(contents["ranks"], 4);
    instance.go_on().unwrap();
    let summary = lines(&instance.finish().unwrap()).remove(0);
    server.terminate().unwrap();
    let all = lines(&stdout(&["run", &example(), "--format", "json"])).remove(0);
    assert_eq!(summary["executions"], all["executions"]);
    check_counts(&store, &store, all["executions"].as_u64());
    assert!(!documents(&store, Collection::Anomalies).is_empty());
}

#[test]
fn each_node_reads_what_its_relay_has_while_the_job_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| path_in(&folder, name);
    let store = path("found");
    let (replay, names) = running_job(&example(), &path("live"), "0.04");
    let (server, url) = pserver(&store);
    let nodes = names.chunks(2).enumerate().map(|(node, names)| {
        let files = path_in(&folder, &format!("node-{node}"));
        let relay = relay_of(names, &files, &[]);
        let servers = ["--pserver", &url, "--provdb", &store];
        let instance = [
            &following(&files, &servers)[..],
            &["--connect-timeout", "3600"],
        ];
        (relay, start(&instance.concat()))
    });
    let nodes: Vec<_> = nodes.collect();
    wait_for_records(&store, "anomalies");
    let is_running = callgrove_tau::RelayState::read(&folder.path().join("node-0"));
    assert!(is_running.unwrap().is_running, "the job has not ended");
    replay.finish().unwrap();
    for (relay, instance) in nodes {
        relay.finish().unwrap();
        instance.finish().unwrap();
    }
    server.terminate().unwrap();
    let all = lines(&stdout(&["run", &example(), "--format", "json"])).remove(0);
    check_counts(&store, &store, all["executions"].as_u64());
}

#[test]
fn the_end_of_a_killed_relay_is_the_end_of_its_instance() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| path_in(&folder, name);
    let (files, store) = (path("files"), path("found"));
    let (mut replay, names) = running_job(&example(), &path("live"), "0.04");
    let mut relay = relay_of(&names, &files, &[]);
    let instance = start(&["run", &files, "--follow", "--provdb", &store]);
    wait_for_records(&store, "metadata");
    relay.kill().unwrap();
    assert_eq!(instance.code().unwrap(), Some(3));
    // A job whose reader was killed may hang in ADIOS2.
    replay.kill().unwrap();
    assert!(!documents(&store, Collection::FuncStats).is_empty());
}

#[test]
fn steps_without_space_are_dropped_and_counted_and_the_job_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    // What is left of the job is a part, of which those who follow the files know, too.
    for max_mb in ["0", "1"] {
        let (live, files) = (
            path_in(&folder, &format!("live{max_mb}")),
            path_in(&folder, &format!("files{max_mb}")),
        );
        let (replay, names) = running_job(&example(), &live, "0");
        let relay = relay_of(&names, &files, &["--max-mb", max_mb]);
        let published = replay.finish().unwrap();
        let mut words = published.split(' ');
        let num_steps: u64 = words.find_map(|it| it.parse().ok()).unwrap();
        let dropped = relay.line_with("steps were dropped").unwrap();
        let num_dropped: u64 = dropped.split(' ').find_map(|it| it.parse().ok()).unwrap();
        assert_eq!(num_dropped == num_steps, max_mb == "0", "{dropped}");
        assert_eq!(relay.code().unwrap(), Some(3));
        let output = command(&["ad", &files, "--follow"]).output().unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{words}");
        let stated = format!("its files had no space for them ({num_dropped} times");
        assert!(words.contains(&stated), "{words}");
    }
}
