//! A recorded run gets the same results from any number of processes, at any speed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callgrove_provdb::Collection;
use callgrove_tau::TauStep;
use callgrove_tests::numbers::Numbers;
use callgrove_tests::process::Process;
use serde_json::Value;

use crate::support::*;

/// Returns what `num_instances` AD instances with these options together find in a run, each with its share of the
/// ranks.
fn found_by(num_instances: usize, run: &Path, options: &[&str]) -> Vec<(Collection, Vec<Value>)> {
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
            let own = ["ad", &of_share, "--pserver", &url, "--provdb", &provdb_url];
            start(&[&own, options].concat())
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

/// Checks that numbers of AD instances with these options find the same as `callgrove run`. Returns that.
fn check_equal(
    run: &Path,
    numbers_of_instances: &[usize],
    options: &[&str],
) -> Vec<(Collection, Vec<Value>)> {
    let folder = tempfile::tempdir().unwrap();
    let alone = path_in(&folder, "alone");
    let own = ["run", &run.to_string_lossy(), "--provdb", &alone];
    stdout(&[&own, options].concat());
    let expected = found(&alone);
    assert!(!documents(&alone, Collection::Anomalies).is_empty());
    for &num_instances in numbers_of_instances {
        assert_same(&found_by(num_instances, run, options), &expected);
    }
    expected
}

#[test]
fn a_recorded_run_is_judged_the_same_by_any_number_of_processes() {
    check_equal(Path::new(&example()), &[1, 2, 4], &[]);
}

#[test]
fn a_budget_leaves_out_the_same_documents_for_any_number_of_processes() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    write_slow_calls(&run, 4, 40);
    let all = check_equal(&run, &[], &[]);
    let some = check_equal(&run, &[1, 2, 4], &["--max-documents-per-second", "1"]);
    let of = |found: &[(Collection, Vec<Value>)], collection| {
        let of_collection = found.iter().filter(|it| it.0 == collection);
        let documents = of_collection.flat_map(|it| it.1.clone());
        documents.collect::<Vec<Value>>()
    };
    let num_recorded = |found: &[(Collection, Vec<Value>)]| -> usize {
        let collections = [Collection::Anomalies, Collection::NormalExecs];
        collections.map(|it| of(found, it).len()).into_iter().sum()
    };
    assert!(num_recorded(&some) < num_recorded(&all));
    let metadata = of(&some, Collection::Metadata);
    let left_out = metadata
        .iter()
        .filter(|it| it["descr"] == "documents left out");
    let left_out = left_out.map(|it| {
        let by_function: BTreeMap<String, usize> =
            serde_json::from_str(it["value"].as_str().unwrap()).unwrap();
        by_function.values().sum::<usize>()
    });
    assert_eq!(
        num_recorded(&all) - num_recorded(&some),
        left_out.sum::<usize>()
    );
    for collection in [Collection::FuncStats, Collection::Incidents] {
        assert_eq!(of(&some, collection), of(&all, collection));
    }
}

#[test]
fn sixteen_processes_find_the_same_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    write_slow_calls(&run, 16, 6);
    check_equal(&run, &[1, 16], &[]);
}

/// Writes a run whose calls wait 40 ms longer than usual from time to time.
fn write_slow_calls(run: &Path, num_ranks: u64, num_steps: u64) {
    write_run(run, num_ranks, num_steps, |rank, number| {
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
}
