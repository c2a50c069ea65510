//! A recorded run gets the same results from any number of processes, at any speed.

use std::path::{Path, PathBuf};

use callgrove_provdb::Collection;
use callgrove_tau::TauStep;
use callgrove_tests::numbers::Numbers;
use callgrove_tests::process::Process;
use serde_json::Value;

use crate::support::*;

/// Returns what `num_instances` AD instances together find in a run, each with its share of the ranks.
fn found_by(num_instances: usize, run: &Path) -> Vec<(Collection, Vec<Value>)> {
    let folder = tempfile::tempdir().unwrap();
    let store = path_in(&folder, "served");
    let provdb = start(&["provdb", &store, "--listen", "127.0.0.1:0"]);
    let provdb_url = provdb.url().unwrap();
    let (pserver, url) = pserver(&provdb_url);
    let streams = streams(run);
    let shares = streams.chunks(streams.len() / num_instances);
    let instances: Vec<Process> = shares
        .map(|share| {
            let of_share = pattern(share);
            start(&["ad", &of_share, "--pserver", &url, "--provdb", &provdb_url])
        })
        .collect();
    for instance in instances {
        instance.finish().unwrap();
    }
    pserver.terminate().unwrap();
    provdb.terminate().unwrap();
    found(&store)
}

/// Returns the streams as one argument: a pattern over the single digit of each rank's name.
fn pattern(streams: &[PathBuf]) -> String {
    let [first, _, ..] = streams else {
        return streams[0].to_string_lossy().into_owned();
    };
    let rank = |stream: &PathBuf| {
        let name = stream.file_stem().unwrap().to_string_lossy();
        name.chars().last().unwrap()
    };
    let ranks: String = streams.iter().map(rank).collect();
    format!("{}/*[{ranks}].bp", first.parent().unwrap().display())
}

fn check_equal(run: &Path, numbers_of_instances: &[usize]) {
    let folder = tempfile::tempdir().unwrap();
    let alone = path_in(&folder, "alone");
    stdout(&["run", &run.to_string_lossy(), "--provdb", &alone]);
    let expected = found(&alone);
    assert!(!documents(&alone, Collection::Anomalies).is_empty());
    for &num_instances in numbers_of_instances {
        assert_same(&found_by(num_instances, run), &expected);
    }
}

#[test]
fn a_recorded_run_is_judged_the_same_by_any_number_of_processes() {
    check_equal(Path::new(&example()), &[1, 2, 4]);
}

#[test]
fn sixteen_processes_find_the_same_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    write_run(&run, 16, 6, |rank, number| {
        let mut numbers = Numbers::with_seed(100 * rank + number);
        let mut time_us = RUN_START_US + 500_000 * number;
        let mut step = TauStep::default();
        for _ in 0..60 {
            let is_slow = numbers.below(200) == 0;
            let wait_us = 50 + numbers.below(20) as u64 + if is_slow { 40_000 } else { 0 };
            time_us = add_call_with_wait(&mut step, rank, time_us, wait_us);
        }
        if number == 0 {
            step.attributes = named(rank, &["work()", "MPI_Wait()"]);
        }
        step
    });
    check_equal(&run, &[1, 16]);
}
