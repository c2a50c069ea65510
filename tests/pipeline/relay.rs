//! A relay between a job and its AD instances.

use std::time::Duration;

use callgrove_provdb::Collection;

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
    instance.go_on().unwrap();
    let summary = lines(&instance.finish().unwrap()).remove(0);
    server.terminate().unwrap();
    let all = lines(&stdout(&["run", &example(), "--format", "json"])).remove(0);
    assert_eq!(summary["executions"], all["executions"]);
    check_counts(&store, &store, all["executions"].as_u64());
    assert!(!documents(&store, Collection::Anomalies).is_empty());
}

#[test]
fn steps_without_space_are_dropped_and_counted_and_the_job_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| path_in(&folder, name);
    let (replay, names) = running_job(&example(), &path("live"), "0");
    let relay = relay_of(&names, &path("files"), &["--max-mb", "0"]);
    let published = replay.finish().unwrap();
    let mut words = published.split(' ');
    let num_steps = words.find(|it| it.parse::<u64>().is_ok()).unwrap();
    relay
        .line_with(&format!("{num_steps} steps were dropped"))
        .unwrap();
    assert_eq!(relay.code().unwrap(), Some(3));
}
