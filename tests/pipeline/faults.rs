//! Processes that die, start late, end together, or do not answer.

use std::path::Path;

use callgrove_provdb::Collection;
use callgrove_tau::TauStep;
use callgrove_tests::process::Process;

use crate::support::*;

#[test]
fn processes_may_start_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let store = path_in(&folder, "served");
    let address = free_address();
    let url = format!("http://{address}");
    let instance = start(&["ad", &example(), "--provdb", &url]);
    instance.line_with("waiting for it").unwrap();
    let provdb = start(&["provdb", &store, "--listen", &address]);
    instance.finish().unwrap();
    provdb.terminate().unwrap();
    assert!(!documents(&store, Collection::Anomalies).is_empty());
}

#[test]
fn the_first_processes_of_an_account_may_start_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let (store, config) = (path_in(&folder, "served"), path_in(&folder, "config"));
    let [at_provdb, at_pserver] = [free_address(), free_address()];
    let [provdb_url, url] = [&at_provdb, &at_pserver].map(|it| format!("http://{it}"));
    // The account has no token yet: the first server makes it.
    let start = |args: &[&str]| {
        let mut command = command(args);
        command
            .env_remove("CALLGROVE_TOKEN")
            .env("XDG_CONFIG_HOME", &config);
        Process::start(&mut command).unwrap()
    };
    let instance = start(&["ad", &example(), "--provdb", &provdb_url, "--pserver", &url]);
    instance.line_with("waiting for it").unwrap();
    let provdb = start(&["provdb", &store, "--listen", &at_provdb]);
    let pserver = start(&["pserver", "--provdb", &provdb_url, "--listen", &at_pserver]);
    instance.finish().unwrap();
    pserver.terminate().unwrap();
    provdb.terminate().unwrap();
    assert!(!documents(&store, Collection::FuncStats).is_empty());
}

#[test]
fn files_of_a_run_that_is_over_can_be_copied_and_a_lost_receiver_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let provdb = path_in(&folder, "found");
    let unreachable = "http://127.0.0.1:1/packets";
    let output = command(&[
        "run",
        &example(),
        "--provdb",
        &provdb,
        "--post",
        unreachable,
    ])
    .output()
    .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    let error_output = format!("{unreachable} did not accept the last packet");
    assert!(stderr.contains(&error_output), "{stderr}");
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
fn a_killed_instance_that_returns_changes_no_reported_data() {
    let folder = tempfile::tempdir().unwrap();
    let provdb = path_in(&folder, "found");
    let live = folder.path().join("live");
    let store = path_in(&folder, "served");
    let (pserver, url) = pserver(&store);
    // A growing copy of the run, followed by an instance that is killed while following.
    let out = live.to_string_lossy().into_owned();
    let replay = growing(&out, "bp5", "4");
    let follow = following(&out, &["--pserver", &url, "--provdb", &provdb]);
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
    check_counts(&store, &provdb, summary["executions"].as_u64());
}

#[test]
fn reading_a_followed_run_again_stores_what_it_counts() {
    let folder = tempfile::tempdir().unwrap();
    let [provdb, live, store] = ["found", "live", "served"].map(|name| path_in(&folder, name));
    let (pserver, url) = pserver(&store);
    let replay = growing(&live, "bp5", "4");
    let follower = start(&following(&live, &["--pserver", &url, "--provdb", &provdb]));
    replay.finish().unwrap();
    follower.finish().unwrap();
    let servers = ["--pserver", &url, "--provdb", &provdb];
    let again = lines(&stdout(
        &[&["ad", &live, "--format", "json"][..], &servers].concat(),
    ));
    pserver.terminate().unwrap();
    let num_known = &again[0]["known_steps"];
    assert_eq!(num_known, &again[0]["steps"], "nothing counts twice");
    check_counts(&store, &provdb, again[0]["executions"].as_u64());
}

#[test]
fn an_instance_that_comes_back_to_a_running_job_knows_what_was_named_before() {
    let folder = tempfile::tempdir().unwrap();
    let [provdb, recorded, live] = ["found", "recorded", "live"].map(|name| path_in(&folder, name));
    write_run_named_at_its_start(Path::new(&recorded));
    let (replay, names) = running_job(&recorded, &live, "1");
    let mut args = vec!["ad", "--provdb", &provdb, "--format", "json", "--sst"];
    args.extend(names.iter().map(String::as_str));
    let before = start(&args);
    wait_for_records(&provdb, "metadata");
    // A kill at the wrong moment would also end the job: ADIOS2's writer does not survive that.
    before.terminate().unwrap();
    // Each stream admits it with its next step, one after the other, so the last ones may end before.
    let returned = command(&args).output().unwrap();
    replay.finish().unwrap();
    let stderr = String::from_utf8(returned.stderr).unwrap();
    let summary = lines(&String::from_utf8(returned.stdout).unwrap()).remove(0);
    let is_whole = !stderr.contains("the writer ended before it let this reader in");
    let code = if is_whole { 0 } else { 3 };
    assert_eq!(returned.status.code(), Some(code), "{stderr}");
    assert!(
        stderr.contains("steps of a live stream are missing"),
        "{stderr}"
    );
    assert!(!stderr.contains("never announced"), "{stderr}");
    assert!(summary["executions"].as_u64() > Some(0), "{stderr}");
}

/// Writes three ranks that announce their functions only in the first of many steps, 0.15 s apart.
fn write_run_named_at_its_start(folder: &Path) {
    write_run(folder, 3, 40, |rank, number| {
        let start_us = RUN_START_US + 150_000 * number;
        let mut step = TauStep::default();
        for call in 0..20 {
            let entry_us = start_us + 5_000 * call;
            step.funcs.push([0, rank, 0, 0, 0, entry_us]);
            step.funcs.push([0, rank, 0, 1, 0, entry_us + 100]);
        }
        if number == 0 {
            step.attributes = named(rank, &["work"]);
        }
        step
    });
}

#[test]
fn data_of_an_ended_instance_survive_the_death_of_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let store = path_in(&folder, "served");
    let (mut pserver, url) = pserver(&store);
    let ad = ["ad", &example(), "--pserver", &url, "--format", "json"];
    let executions = lines(&stdout(&ad))[0]["executions"].as_u64();
    pserver.kill().unwrap();
    let calls = num_calls(&documents(&store, Collection::FuncStats));
    assert_eq!(Some(calls), executions);
}

#[test]
fn an_instance_waits_at_its_end_for_an_absent_server() {
    let folder = tempfile::tempdir().unwrap();
    let store = path_in(&folder, "served");
    let live = path_in(&folder, "live");
    let (mut pserver, url) = pserver(&store);
    let address = url.strip_prefix("http://").unwrap().to_owned();
    let replay = growing(&live, "bp5", "0.05");
    let follow = following(&live, &["--pserver", &url]);
    let instance = start(&follow);
    wait_for_records(&store, "func_stats");
    pserver.kill().unwrap();
    replay.finish().unwrap();
    instance.line_with("detection continues").unwrap();
    let pserver = start(&["pserver", "--provdb", &store, "--listen", &address]);
    let executions = lines(&instance.finish().unwrap())[0]["executions"].as_u64();
    pserver.terminate().unwrap();
    let calls = num_calls(&documents(&store, Collection::FuncStats));
    assert_eq!(Some(calls), executions);
}

#[test]
fn processes_terminated_together_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = path_in(&folder, "served");
    let live = path_in(&folder, "live");
    let provdb = start(&["provdb", &store, "--listen", "127.0.0.1:0"]);
    let provdb_url = provdb.url().unwrap();
    let (pserver, url) = pserver(&provdb_url);
    let replay = growing(&live, "bp5", "0.2");
    let follow = following(&live, &["--pserver", &url, "--provdb", &provdb_url]);
    let instance = start(&follow);
    wait_for_records(&store, "anomalies");
    // In the worst order: the processes that store for others first.
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
    let provdb = path_in(&folder, "found");
    let live = path_in(&folder, "live");
    let replay = growing(&live, "bp4", "0.02");
    let first = start(&["ad", &live, "--follow", "--provdb", &provdb]);
    wait_for_records(&provdb, "metadata");
    let second = command(&["ad", &live, "--follow", "--provdb", &provdb])
        .output()
        .unwrap();
    let error_output = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{error_output}");
    assert!(error_output.contains("rank 0"), "{error_output}");
    drop((first, replay));
}

#[test]
fn two_runs_never_mix_in_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let provdb = path_in(&folder, "found");
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
    // Statistics that were saved and read again may differ in the last digit.
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
    let error_output = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(1), "{error_output}");
    assert!(
        error_output.contains("belongs to another run")
            && error_output.contains("Name another folder"),
        "{error_output}"
    );
    assert!(stored() == first, "nothing of the other run is there");

    assert!(run(&example()).status.success(), "the same run again");
    assert_eq!(stored().1, first.1, "nothing is counted twice");
}

/// Copies the streams of some ranks unchanged.
fn copy_ranks(from: &Path, to: &Path, ranks: &[u32]) {
    for rank in ranks {
        let name = format!("tau-metrics-lmp_tau-{rank}.bp");
        let folder = to.join(&name);
        std::fs::create_dir_all(&folder).unwrap();
        for entry in std::fs::read_dir(from.join(&name))
            .unwrap()
            .map(Result::unwrap)
        {
            std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn ranks_that_open_their_files_late_are_followed_too() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, live) = (path_in(&folder, "whole"), path_in(&folder, "live"));
    growing(&whole, "bp5", "100").finish().unwrap();
    let (whole, live_folder) = (Path::new(&whole), Path::new(&live));
    let pattern = format!("{live}/*.bp");
    let instance = start(&["ad", &pattern, "--follow", "--format", "json"]);
    instance.line_with("has no complete step yet").unwrap();
    copy_ranks(whole, live_folder, &[2]);
    instance
        .line_with("3 ranks without a stream yet, the first is 0")
        .unwrap();
    copy_ranks(whole, live_folder, &[0, 1, 3]);
    let summary = lines(&instance.finish().unwrap()).remove(0);
    let all = lines(&stdout(&["run", &example(), "--format", "json"])).remove(0);
    assert_eq!(summary["executions"], all["executions"]);
}

#[test]
fn ranks_that_never_come_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, live) = (path_in(&folder, "whole"), path_in(&folder, "live"));
    growing(&whole, "bp5", "100").finish().unwrap();
    copy_ranks(Path::new(&whole), Path::new(&live), &[0, 3]);
    let patient = ["ad", &live, "--follow", "--connect-timeout", "1"];
    let output = command(&patient).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("rank 1 of 4"), "{words}");
    // A pattern requests no rank beyond its matches, so none is missing.
    let of_two = format!("{live}/*[03].bp");
    let output = command(&["ad", &of_two, "--follow"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(!words.contains("rank 1 of 4"), "{words}");
}

#[test]
fn ranks_that_other_instances_read_are_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| path_in(&folder, name);
    let (whole, store) = (path("whole"), path("found"));
    growing(&whole, "bp5", "100").finish().unwrap();
    let (server, url) = pserver(&store);
    // Each node has the files of its own ranks only.
    let nodes = [(path("node-a"), [0, 1]), (path("node-b"), [2, 3])];
    let instances = nodes.iter().map(|(files, ranks)| {
        copy_ranks(Path::new(&whole), Path::new(files), ranks);
        let servers = ["--pserver", &url, "--provdb", &store];
        start(
            &[
                &following(files, &servers)[..],
                &["--connect-timeout", "3600"],
            ]
            .concat(),
        )
    });
    let instances: Vec<_> = instances.collect();
    for instance in instances {
        instance.finish().unwrap();
    }
    server.terminate().unwrap();
    let all = lines(&stdout(&["run", &example(), "--format", "json"])).remove(0);
    check_counts(&store, &store, all["executions"].as_u64());
}
