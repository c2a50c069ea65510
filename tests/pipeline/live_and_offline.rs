//! The detectors of a running job and the analysis of its recorded run agree, execution by execution.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::Path;

use callgrove_provdb::Collection;
use callgrove_tests::numbers::Numbers;
use serde_json::Value;

use crate::support::*;

const NUM_RANKS: usize = 8;
const NUM_STEPS: usize = 300;
/// The rank that stalls.
const STALLED: usize = 3;

/// Returns a run, as comma-separated events, in which a step makes five to eight calls. In the given steps one rank makes
/// two calls only and stalls in the second, so that these steps have a structure of their own.
fn run_with_stalls(stalled_steps: &BTreeSet<usize>, stall_ms: usize) -> String {
    let mut numbers = Numbers::with_seed(11);
    let mut events = "Timestamp (ns),Event Type,Name,Thread,Process\n".to_owned();
    for rank in 0..NUM_RANKS {
        let mut now_ns = 1_000 * rank;
        let mut event = |after_ns: usize, kind: &str, name: &str| {
            now_ns += after_ns;
            writeln!(events, "{now_ns},{kind},{name},0,{rank}").unwrap();
        };
        event(0, "Enter", "main");
        for step in 0..NUM_STEPS {
            let is_stalled = rank == STALLED && stalled_steps.contains(&step);
            let num_calls = if is_stalled { 2 } else { 5 + numbers.below(4) };
            event(3_000, "Enter", "step");
            for call in 0..num_calls {
                event(400, "Enter", "item");
                let work_ns: usize = 160_000 + (0..4).map(|_| numbers.below(20_000)).sum::<usize>();
                let stall_ns = if is_stalled && call == 1 {
                    stall_ms * 1_000_000
                } else {
                    0
                };
                event(work_ns + stall_ns, "Leave", "item");
            }
            event(400, "Leave", "step");
        }
        event(1_000, "Leave", "main");
    }
    events
}

/// Returns the anomalies that the detectors of a running job record.
fn live(run: &str, folder: &Path) -> Vec<Value> {
    let store = folder.join("live").to_string_lossy().into_owned();
    stdout(&["run", run, "--provdb", &store]);
    documents(&store, Collection::Anomalies)
}

#[test]
fn stalls_that_change_what_a_step_calls_are_the_same_live_and_offline() {
    for (num_stalls, stall_ms) in [(1, 30), (3, 500), (5, 30), (20, 8)] {
        let steps: BTreeSet<usize> = (0..num_stalls).map(|at| 20 + at * 13).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.csv");
        std::fs::write(&path, run_with_stalls(&steps, stall_ms)).unwrap();
        let run = path.to_string_lossy();
        let rows = lines(&stdout(&[
            "analyze",
            &run,
            "--function",
            "step",
            "--format",
            "json",
        ]));
        let called = rows.iter().filter(|row| row["abnormal"] == true);
        let id = |value: &Value| value["event_id"].as_str().unwrap().to_owned();
        let offline: BTreeSet<String> = called.clone().map(id).collect();
        let stalled = called.map(|row| {
            assert_eq!(row["rank"], STALLED);
            usize::try_from(row["index"].as_u64().unwrap()).unwrap()
        });
        assert_eq!(stalled.collect::<BTreeSet<_>>(), steps, "{stall_ms} ms");
        let anomalies = live(&run, folder.path());
        let step_of = |anomaly: &Value| {
            let calls = anomaly["call_stack"].as_array().unwrap();
            id(calls.iter().find(|call| call["func"] == "step").unwrap())
        };
        let found: BTreeSet<String> = anomalies.iter().map(step_of).collect();
        assert_eq!(found, offline, "{stall_ms} ms");
    }
}

#[test]
fn long_delays_of_a_recorded_job_are_the_same_live_and_offline() {
    let folder = tempfile::tempdir().unwrap();
    let time = |value: &Value, key: &str| value[key].as_i64().unwrap();
    let incidents = lines(&stdout(&["incidents", &example(), "--format", "json"]));
    let named = incidents.iter().filter(|it| it["by_design"] == false);
    let spans: Vec<(RangeInclusive<i64>, i64)> = named
        .map(|it| {
            (
                time(it, "start_us")..=time(it, "end_us"),
                time(it, "delay_us"),
            )
        })
        .collect();
    let anomalies = live(&example(), folder.path());
    // Each anomaly of a millisecond or more is a part of an incident, and each incident that costs 15 ms or more has one.
    let in_incident = |anomaly: &Value, span: &RangeInclusive<i64>| {
        time(anomaly, "entry") <= *span.end() && *span.start() <= time(anomaly, "exit")
    };
    let long = |it: &&Value| it["runtime_total"].as_i64().unwrap() >= 1_000;
    let long: Vec<&Value> = anomalies.iter().filter(long).collect();
    assert!(long.len() >= 12, "{}", long.len());
    for anomaly in &long {
        let is_known = spans.iter().any(|it| in_incident(anomaly, &it.0));
        assert!(is_known, "{anomaly}");
    }
    for (span, delay_us) in spans.iter().filter(|it| it.1 >= 15_000) {
        let is_found = long.iter().any(|it| in_incident(it, span));
        assert!(is_found, "{delay_us} µs from {}", span.start());
    }
}
