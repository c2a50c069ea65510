//! A recorded run whose process ends at any commit, and is started again, gets the results of an undisturbed one.
//! `CALLGROVE_CRASH_POINTS=8` tries more commits than a normal test run, and a million tries each of them.

use std::path::Path;
use std::process::Command;

use callgrove_provdb::Collection;
use callgrove_tau::TauStep;
use callgrove_tests::numbers::Numbers;
use callgrove_tests::process::Process;

use crate::support::*;

/// The variable that chooses the commit at which a process ends.
const CRASH_AT: &str = "CALLGROVE_CRASH_AT_COMMIT";
/// Number of ranks of the run.
const NUM_RANKS: u64 = 4;
/// Number of messages that a rank receives during a stall.
const NUM_MESSAGES: u64 = 2_000;
/// Number of steps of each rank.
const NUM_STEPS: u64 = 8;

/// Writes a run in which all ranks stall at the same times, so that it has anomalies and incidents.
fn write_stalling_run(folder: &Path) {
    write_run(folder, NUM_RANKS, NUM_STEPS, |rank, number| {
        let mut numbers = Numbers::with_seed(100 * rank + number);
        let mut step = TauStep::default();
        for call in 0..40 {
            let start_us = RUN_START_US + 1_000_000 * number + 20_000 * call;
            let is_stalled = call == 20 && number % 3 == 2;
            let wait_us = 50 + numbers.below(20) as u64 + if is_stalled { 15_000 } else { 0 };
            // Enough messages in a stall for the reports of two ranks to be sent in parts.
            for number in 0..if is_stalled { NUM_MESSAGES } else { 0 } {
                let source = (rank + 1) % NUM_RANKS;
                let time_us = start_us + 1_000 + 5 * number;
                step.comms.push([0, rank, 0, 3, 7, source, 8, time_us]);
            }
            add_call_with_wait(&mut step, rank, start_us, wait_us);
        }
        if number == 0 {
            step.attributes = named(rank, &["work()", "MPI_Wait()"]);
        }
        step
    });
}

/// Returns the number of the commit to crash at after `last`.
fn next_commit(last: u64) -> u64 {
    let density = std::env::var("CALLGROVE_CRASH_POINTS").map_or(1, |it| it.parse().unwrap());
    last + 1 + last / density
}

/// Returns the run and its undisturbed result.
fn recorded_run(folder: &tempfile::TempDir) -> (String, Vec<(Collection, Vec<serde_json::Value>)>) {
    let (run, undisturbed) = (path_in(folder, "run"), path_in(folder, "undisturbed"));
    write_stalling_run(Path::new(&run));
    stdout(&["run", &run, "--provdb", &undisturbed, "--trees", "work()"]);
    let expected = found(&undisturbed);
    for collection in [
        Collection::Anomalies,
        Collection::Incidents,
        Collection::Trees,
    ] {
        assert!(
            !documents(&undisturbed, collection).is_empty(),
            "{collection}"
        );
    }
    (run, expected)
}

fn crashing(args: &[&str], commit: u64) -> Command {
    let mut command = command(args);
    command.env(CRASH_AT, commit.to_string());
    command
}

#[test]
fn a_run_that_ends_at_any_commit_goes_on_where_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (run, expected) = recorded_run(&folder);
    let (mut commit, mut num_crashes) = (1, 0);
    loop {
        let store = path_in(&folder, &format!("crashed-{commit}"));
        let args = ["run", &run, "--provdb", &store, "--trees", "work()"];
        let ended = crashing(&args, commit).output().unwrap();
        if ended.status.success() {
            break;
        }
        assert_eq!(ended.status.code(), None, "it crashed: {ended:?}");
        stdout(&args);
        assert_same(&found(&store), &expected);
        num_crashes += 1;
        commit = next_commit(commit);
    }
    assert!(num_crashes > 5, "{num_crashes}");
}

#[test]
fn a_parameter_server_that_ends_at_any_commit_goes_on_where_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (run, expected) = recorded_run(&folder);
    let (mut commit, mut num_crashes) = (1, 0);
    loop {
        let store = path_in(&folder, &format!("crashed-{commit}"));
        let has_crashed = run_with_crash(&run, &store, commit);
        assert_same(&found(&store), &expected);
        if !has_crashed {
            break;
        }
        num_crashes += 1;
        commit = next_commit(commit);
    }
    assert!(num_crashes > 5, "{num_crashes}");
}

/// Judges a run by two instances and a parameter server that ends at a commit, and is restarted. Returns whether it
/// ended.
fn run_with_crash(run: &str, store: &str, commit: u64) -> bool {
    // The files exist, so that each commit is one of the server's data.
    let mut provdb = start(&["provdb", store, "--listen", "127.0.0.1:0"]);
    let provdb_url = provdb.url().unwrap();
    let address = free_address();
    let url = format!("http://{address}");
    let args = ["pserver", "--provdb", &provdb_url, "--listen", &address];
    let mut server = Process::start(&mut crashing(&args, commit)).unwrap();
    let instance = |ranks: &str| {
        let streams = format!("{run}/*[{ranks}].bp");
        let servers = [
            "--pserver",
            &url,
            "--provdb",
            &provdb_url,
            "--trees",
            "work()",
        ];
        start(&[&["ad", &streams][..], &servers].concat())
    };
    let mut instances = [instance("02"), instance("13")];
    let mut has_crashed = false;
    while instances.iter_mut().any(|it| it.is_running().unwrap()) {
        if !server.is_running().unwrap() {
            has_crashed = true;
            server = start(&args);
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    for instance in instances {
        instance.finish().unwrap();
    }
    // It may also end at one of its last commits.
    server.ask_to_end().ok();
    if server.code().unwrap() != Some(0) {
        has_crashed = true;
        let successor = start(&args);
        successor.url().unwrap();
        successor.terminate().unwrap();
    }
    provdb.kill().unwrap();
    has_crashed
}
