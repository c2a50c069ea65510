//! The results of an AD instance: judged executions, records, reports.

use std::sync::{Arc, Barrier};

use crate::support::{MemoryStore, Script, follow, follow_as, follow_streams, options};
use callgrove_ad::{AdError, Pacing, RecordsError, Stream};
use callgrove_detect::{Algorithm, Params};
use callgrove_model::WarningKind;
use callgrove_provdb::Collection::{self, Anomalies, Metadata, NormalExecs};
use callgrove_pserver::{ModelExchange, ServerState, StateOptions};
use serde_json::json;

pub(crate) fn sstd() -> Params {
    Params {
        algorithm: Algorithm::Sstd,
        ..Params::default()
    }
}

pub(crate) fn hbos() -> Params {
    Params {
        algorithm: Algorithm::Hbos,
        ..Params::default()
    }
}

pub(crate) fn server() -> Arc<ServerState> {
    Arc::new(ServerState::new(StateOptions {
        fold_on_sync: true,
        ..StateOptions::default()
    }))
}

pub(crate) fn session(server: &Arc<ServerState>) -> Box<dyn ModelExchange> {
    Box::new(server.session())
}

/// A rank whose `f` takes 100 µs, but once in the second step 5 ms.
pub(crate) fn script_with_a_slow_call() -> Script {
    let mut script = Script::new(3);
    script
        .step(0)
        .metadata(0, "Hostname", "node7")
        .enter(0, "main", 1_000);
    script.usual_calls("f", 2_000, 200);
    script.step(1).usual_calls("f", 50_000, 20);
    script.enter(0, "g", 60_000).enter(0, "f", 60_010);
    script
        .send(0, 1, 9, 60_020)
        .counter(0, "Message size", 64, 60_030);
    script.exit(0, "f", 65_010).exit(0, "g", 65_020);
    script.usual_calls("f", 70_000, 5);
    script.step(2).exit(0, "main", 90_000);
    script
}

#[test]
fn an_anomaly_is_recorded_with_its_stack_its_window_and_its_events() {
    let store = MemoryStore::default();
    let script = script_with_a_slow_call();
    let status = follow(&[&script], options(sstd()), session(&server()), &store).unwrap();
    assert_eq!(
        (
            status.num_steps,
            status.num_executions,
            status.num_anomalies
        ),
        (3, 228, 1)
    );
    let anomalies = store.of(Anomalies);
    let [record] = anomalies.as_slice() else {
        panic!("{anomalies:#?}")
    };
    for (field, expected) in [
        ("func", json!("f")),
        ("event_id", json!("3:1:41")),
        ("entry", json!(60_010)),
        ("exit", json!(65_010)),
        ("runtime_total", json!(5_000)),
        ("outlier_severity", json!(5_000)),
        ("hostname", json!("node7")),
        ("io_step", json!(1)),
        ("io_step_tstart", json!(50_000)),
        ("io_step_tend", json!(70_900)),
        ("is_gpu_event", json!(false)),
        ("gpu_parent", json!(null)),
        ("node_state", json!(null)),
    ] {
        assert_eq!(record[field], expected, "{field}");
    }
    let stack = &record["call_stack"];
    let names: Vec<_> = stack
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["func"])
        .collect();
    assert_eq!(names, ["f", "g", "main"]);
    assert_eq!(
        (&stack[0]["is_anomaly"], &stack[1]["is_anomaly"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(stack[2]["exit"], 0, "main is still open");
    assert_eq!(
        stack[2]["event_id"], "3:0:0",
        "it was entered in the step before"
    );
    let window = &record["event_window"];
    assert_eq!(window["exec_window"].as_array().unwrap().len(), 10 + 1 + 5);
    assert_eq!(window["exec_window"][10]["event_id"], record["event_id"]);
    assert_eq!(window["exec_window"][10]["parent_event_id"], "3:1:40");
    let message = json!([{
        "type": "SEND", "pid": 0, "rid": 3, "tid": 0, "src": 3, "tar": 1, "bytes": 64, "tag": 9, "number": 0,
        "timestamp": 60_020, "execdata_key": "3:1:41",
    }]);
    assert_eq!(window["comm_window"], message);
    assert_eq!(record["counter_events"][0]["counter_name"], "Message size");
    assert_eq!(record["counter_events"][0]["counter_value"], 64);
    let normal = store.of(NormalExecs);
    assert_eq!(normal.len(), 1, "one normal execution for comparison");
    assert_eq!(
        (&normal[0]["func"], &normal[0]["io_step"]),
        (&json!("f"), &json!(1))
    );
    assert_eq!(store.of(Metadata)[0]["descr"], "Hostname");
}

#[test]
fn the_window_of_a_call_from_an_earlier_step_is_around_its_entry() {
    let mut script = Script::new(0);
    script
        .step(0)
        .enter(0, "main", 0)
        .usual_calls("slow", 0, 100);
    script
        .step(1)
        .usual_calls("f", 50_000, 15)
        .enter(0, "slow", 60_000);
    script.usual_calls("f", 61_000, 4);
    script.step(2).usual_calls("f", 70_000, 50);
    script.step(3).usual_calls("f", 90_000, 50);
    script
        .step(4)
        .call(0, "f", 110_000, 110_100)
        .exit(0, "slow", 150_000);
    let store = MemoryStore::default();
    follow(&[&script], options(sstd()), session(&server()), &store).unwrap();
    let anomalies = store.of(Anomalies);
    let record = anomalies.iter().find(|it| it["func"] == "slow").unwrap();
    let window = record["event_window"]["exec_window"].as_array().unwrap();
    let found: Vec<_> = window
        .iter()
        .map(|it| it["event_id"].as_str().unwrap())
        .collect();
    let before = (5..15).map(|call| format!("0:1:{}", 2 * call));
    let after = (0..4).map(|call| format!("0:1:{}", 31 + 2 * call));
    let later = (0..6).map(|call| format!("0:2:{}", 2 * call));
    let expected = before
        .chain(["0:1:30".to_owned()])
        .chain(after)
        .chain(later);
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn a_normal_execution_is_recorded_later_if_the_step_has_none() {
    let mut script = Script::new(0);
    script.step(0).usual_calls("f", 0, 100);
    script.step(1).call(0, "f", 50_000, 58_000);
    script.step(2).call(0, "g", 60_000, 60_001);
    script.step(3).usual_calls("f", 70_000, 3);
    let store = MemoryStore::default();
    follow(&[&script], options(sstd()), session(&server()), &store).unwrap();
    let normal = store.of(NormalExecs);
    assert_eq!(normal.len(), 1);
    assert_eq!(normal[0]["io_step"], 3);
}

#[test]
fn kernels_are_paired_with_the_cpu_call_that_launched_them_in_an_earlier_step() {
    let mut script = Script::new(0);
    script.step(0);
    for (key, value) in [
        ("CUDA Device", "1"),
        ("CUDA Context", "2"),
        ("CUDA Stream", "7"),
    ] {
        script.metadata(1, key, value);
    }
    script.enter(0, "main", 0).enter(0, "launch", 10);
    script
        .counter(0, "Correlation ID", 42, 11)
        .exit(0, "launch", 12);
    for kernel in 0..100 {
        let entry_us = 100 + 200 * kernel;
        script.enter(1, "kernel", entry_us).counter(
            1,
            "Correlation ID",
            1_000 + kernel,
            entry_us + 1,
        );
        script.exit(1, "kernel", entry_us + 100 + kernel % 3);
    }
    script
        .step(1)
        .enter(1, "kernel", 90_000)
        .counter(1, "Correlation ID", 42, 90_001);
    script.exit(1, "kernel", 99_000);
    script
        .enter(1, "kernel", 100_000)
        .counter(1, "Correlation ID", 43, 100_001);
    script.exit(1, "kernel", 109_000);
    let store = MemoryStore::default();
    follow(&[&script], options(sstd()), session(&server()), &store).unwrap();
    let anomalies = store.of(Anomalies);
    assert_eq!(anomalies.len(), 2);
    let location = json!({"context": 2, "device": 1, "stream": 7, "thread": 1});
    assert_eq!(
        (&anomalies[0]["is_gpu_event"], &anomalies[0]["gpu_location"]),
        (&json!(true), &location)
    );
    let parent = &anomalies[0]["gpu_parent"];
    assert_eq!(
        (&parent["event_id"], &parent["tid"]),
        (&json!("0:0:1"), &json!(0))
    );
    assert_eq!(parent["call_stack"][1]["func"], "main");
    let reason = anomalies[1]["gpu_parent"].as_str().unwrap();
    assert!(reason.contains("43"), "{reason}");
}

#[test]
fn counters_of_the_node_are_its_state_and_belong_to_no_call() {
    let mut script = script_with_a_slow_call();
    script
        .step(3)
        .call(0, "f", 100_000, 100_100)
        .enter(0, "f", 200_000);
    script
        .counter(0, "monitoring: Memory Available (MB)", 812, 200_001)
        .exit(0, "f", 207_000);
    let store = MemoryStore::default();
    follow(&[&script], options(sstd()), session(&server()), &store).unwrap();
    let anomalies = store.of(Anomalies);
    let last = anomalies
        .iter()
        .find(|record| record["io_step"] == 3)
        .unwrap();
    let state =
        json!({"data": [{"field": "Memory Available (MB)", "value": 812}], "timestamp": 200_001});
    assert_eq!(last["node_state"], state);
    assert_eq!(last["counter_events"], json!([]));
}

#[test]
fn calls_that_do_not_end_are_counted_and_not_judged() {
    let mut script = Script::new(0);
    script.step(0).enter(0, "main", 0).usual_calls("f", 100, 50);
    script
        .enter(0, "g", 50_000)
        .enter(0, "lost", 50_010)
        .exit(0, "g", 60_000)
        .enter(0, "open", 61_000);
    let store = MemoryStore::default();
    let status = follow(&[&script], options(sstd()), session(&server()), &store).unwrap();
    assert_eq!(status.num_executions, 51, "fifty of f and g");
    let kinds: Vec<String> = status
        .warnings
        .iter()
        .map(|warning| warning.kind.to_string())
        .collect();
    assert_eq!(
        kinds.len(),
        2,
        "a missing exit and two open calls: {kinds:?}"
    );
}

#[test]
fn ignored_functions_and_small_anomalies_are_not_recorded() {
    let script = script_with_a_slow_call();
    let recorded = |change: &dyn Fn(&mut callgrove_ad::AdOptions)| {
        let (store, mut options) = (MemoryStore::default(), options(sstd()));
        change(&mut options);
        let status = follow(&[&script], options, session(&server()), &store).unwrap();
        (status.num_anomalies, store.of(Anomalies).len())
    };
    assert_eq!(recorded(&|options| options.rules.ignore("f")), (0, 0));
    assert_eq!(recorded(&|options| options.min_severity_us = 5_000), (1, 1));
    assert_eq!(recorded(&|options| options.min_severity_us = 5_001), (1, 0));
    let sigma = r#"[{"fname": "f", "threshold": 1000}]"#;
    assert_eq!(
        recorded(&|options| options
            .rules
            .set_thresholds(sigma, "t", &options.params)
            .unwrap()),
        (0, 0)
    );
}

#[test]
fn a_store_that_refuses_for_a_while_loses_nothing() {
    let store = MemoryStore::default();
    *store.num_refusals.lock().unwrap() = 2;
    let status = follow(
        &[&script_with_a_slow_call()],
        options(sstd()),
        session(&server()),
        &store,
    )
    .unwrap();
    assert_eq!((status.stored.num_lost, store.of(Anomalies).len()), (0, 1));
}

#[test]
fn an_invalid_document_does_not_hold_back_the_others() {
    let all = MemoryStore::default();
    follow(
        &[&script_with_a_slow_call()],
        options(sstd()),
        session(&server()),
        &all,
    )
    .unwrap();
    let keys = |store: &MemoryStore| -> Vec<(Collection, String)> {
        store.documents.lock().unwrap().keys().cloned().collect()
    };
    let mut expected = keys(&all);
    assert!(expected.len() >= 3, "{expected:?}");
    let unfit = expected.remove(1).1;
    expected.retain(|(_, key)| *key != unfit);
    let num_lost = (keys(&all).len() - expected.len()) as u64;
    let store = MemoryStore::default();
    store.unfit.lock().unwrap().push(unfit.clone());
    let lost = follow(
        &[&script_with_a_slow_call()],
        options(sstd()),
        session(&server()),
        &store,
    );
    let error = lost.unwrap_err();
    assert!(
        matches!(&error, AdError::Records(RecordsError::Lost { count, reason }) if *count == num_lost && reason.contains(&unfit)),
        "{error}"
    );
    assert_eq!(keys(&store), expected);
}

#[test]
fn an_instance_ends_when_another_one_takes_its_rank() {
    let store = MemoryStore::default();
    *store.is_lost.lock().unwrap() = true;
    let lost = follow(
        &[&script_with_a_slow_call()],
        options(sstd()),
        session(&server()),
        &store,
    );
    let error = lost.unwrap_err().to_string();
    assert!(error.contains("another instance took rank 0"), "{error}");
}

#[test]
fn recorded_ranks_give_the_same_documents_with_any_number_of_threads() {
    let mut scripts = Vec::new();
    for rank in 0..6 {
        let mut script = Script::new(rank);
        for step in 0..4 {
            let start = 1_000_000 * u64::from(step);
            script
                .step(step)
                .usual_calls("f", start, 50 + u64::from(rank));
            script.call(
                0,
                "f",
                start + 900_000,
                start + 900_000 + 4_000 * u64::from(rank % 3),
            );
        }
        scripts.push(script);
    }
    let scripts: Vec<&Script> = scripts.iter().collect();
    let documents = |num_threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(num_threads)
            .build()
            .unwrap();
        let store = MemoryStore::default();
        pool.install(|| follow(&scripts, options(hbos()), session(&server()), &store))
            .unwrap();
        store.documents.lock().unwrap().clone()
    };
    let expected = documents(1);
    assert!(!expected.is_empty());
    assert_eq!(documents(3), expected);
}

#[test]
fn live_streams_are_judged_as_they_arrive() {
    let (store, mut options) = (MemoryStore::default(), options(sstd()));
    options.pacing = Pacing::Live;
    let scripts = [Script::new(0), script_with_a_slow_call()];
    let status = follow(
        &[&scripts[0], &scripts[1]],
        options,
        session(&server()),
        &store,
    )
    .unwrap();
    assert_eq!((status.num_steps, store.of(Anomalies).len()), (3, 1));
}

#[test]
fn the_server_of_a_run_refuses_another_run() {
    let (store, server) = (MemoryStore::default(), server());
    let of_run = |pid: &str| {
        let mut script = Script::new(0);
        script
            .step(0)
            .metadata(0, "pid", pid)
            .metadata(0, "Starting Timestamp", "1793787072034000")
            .usual_calls("f", 0, 10);
        script
    };
    let follow = |script: &Script| follow(&[script], options(sstd()), session(&server), &store);
    follow(&of_run("4900")).unwrap();
    let error = follow(&of_run("5200")).unwrap_err().to_string();
    assert!(error.contains("4900") && error.contains("5200"), "{error}");
    follow(&of_run("4900")).unwrap();
    assert_eq!(server.documents().func_stats.len(), 1);
}

/// Returns ranks whose `f` takes 100 µs, or 10 ms on one rank, so that the ranks disagree about the usual time.
fn scripts_of_different_ranks() -> Vec<Script> {
    let mut scripts = Vec::new();
    for rank in 0..4 {
        let mut script = Script::new(rank);
        for step in 0..5 {
            let start = 10_000_000 * u64::from(step);
            script
                .step(step)
                .usual_calls("f", start, 40 + 20 * u64::from(rank));
            let long = 100 + 9_900 * u64::from(rank == 3);
            for call in 0..30 {
                let entry = start + 1_000_000 + 20_000 * call;
                script.call(0, "f", entry, entry + long + call % 3);
            }
            script.call(
                0,
                "g",
                start + 5_000_000,
                start + 5_000_030 + 7 * u64::from(rank * step),
            );
            script.call(
                0,
                "f",
                start + 6_000_000,
                start + 6_004_000 + u64::from(rank),
            );
            if step == rank {
                script.call(0, "f", start + 7_000_000, start + 7_800_000);
            }
        }
        scripts.push(script);
    }
    scripts
}

/// Returns all that a database would hold of the run: records and statistics.
fn all_of(store: &MemoryStore, server: &Arc<ServerState>) -> (Vec<serde_json::Value>, String) {
    let records = Collection::JUDGED.map(|it| store.of(it)).concat();
    (records, format!("{:#?}", server.documents()))
}

#[test]
fn recorded_ranks_are_judged_the_same_by_any_number_of_instances_in_any_order() {
    for algorithm in Algorithm::ALL {
        let params = Params {
            algorithm,
            ..Params::default()
        };
        let follow_by = |shares: &[&[usize]]| {
            let scripts = scripts_of_different_ranks();
            let (store, server) = (MemoryStore::default(), server());
            let all_came = Arc::new(Barrier::new(shares.len()));
            std::thread::scope(|scope| {
                for share in shares {
                    // An instance that waits for others blocks a worker, so each has its own pool.
                    let pool = rayon::ThreadPoolBuilder::new()
                        .num_threads(1)
                        .build()
                        .unwrap();
                    let mut streams: Vec<Stream> =
                        share.iter().map(|&rank| scripts[rank].recorded()).collect();
                    streams[0] = scripts[share[0]].recorded_with_barrier(&all_came);
                    let store = store.clone();
                    let exchange = session(&server);
                    let name = format!("{share:?}");
                    let follow = move || {
                        follow_as(&name, streams, options(params), exchange, &store).unwrap()
                    };
                    scope.spawn(move || pool.install(follow));
                }
            });
            all_of(&store, &server)
        };
        let expected = follow_by(&[&[0, 1, 2, 3]]);
        assert!(!expected.0.is_empty(), "{algorithm}");
        for shares in [&[&[3][..], &[0], &[2], &[1]][..], &[&[1, 2], &[0, 3]]] {
            assert!(follow_by(shares) == expected, "{algorithm} {shares:?}");
        }
    }
}

#[test]
fn live_ranks_keep_only_anomalies_of_the_complete_models() {
    // Calls that are rare in the first step are usual in the run.
    let mut script = Script::new(0);
    script
        .step(0)
        .usual_calls("f", 0, 300)
        .call(0, "f", 900_000, 904_000);
    for step in 1..4 {
        let start = 1_000_000 * u64::from(step);
        script.step(step);
        for call in 0..200 {
            let entry = start + 4_500 * call;
            script.call(0, "f", entry, entry + 4_000 + call % 3);
        }
    }
    script.call(0, "f", 5_000_000, 5_900_000);
    let found = |pacing| {
        let (store, server) = (MemoryStore::default(), server());
        let mut options = options(Params::default());
        options.pacing = pacing;
        let status = follow(&[&script], options, session(&server), &store).unwrap();
        let anomalies = store.of(Anomalies);
        let counted = server.documents().func_stats[0].anomaly_metrics.clone();
        assert_eq!(
            counted.unwrap().anomaly_count.accumulate as usize,
            anomalies.len(),
            "counted and stored"
        );
        assert_eq!(status.num_anomalies, anomalies.len() as u64);
        let times = anomalies
            .iter()
            .map(|it| it["runtime_total"].as_u64().unwrap());
        (
            times.collect::<Vec<_>>(),
            anomalies[0]["algo_params"].clone(),
        )
    };
    let (times, stated) = found(Pacing::Live);
    assert_eq!(times, [900_000]);
    let (store, server) = (MemoryStore::default(), server());
    let streams = vec![script.recorded()];
    follow_streams(
        streams,
        options(Params::default()),
        session(&server),
        &store,
    )
    .unwrap();
    assert_eq!(
        store.of(Anomalies)[0]["algo_params"],
        stated,
        "as of a recorded run"
    );
}

#[test]
fn reading_a_run_again_changes_nothing() {
    let (store, server) = (MemoryStore::default(), server());
    let follow = || {
        let script = script_with_a_slow_call();
        follow(&[&script], options(hbos()), session(&server), &store).unwrap()
    };
    let first = follow();
    assert_eq!((first.num_known_steps, first.num_anomalies > 0), (0, true));
    let (stored, found) = (store.documents.lock().unwrap().clone(), server.documents());
    let again = follow();
    assert_eq!(
        (again.num_known_steps, again.num_anomalies),
        (again.num_steps, 0)
    );
    assert_eq!(again.stored.num_documents, 0);
    assert_eq!(*store.documents.lock().unwrap(), stored);
    assert_eq!(server.documents(), found);
}

#[test]
fn a_reader_that_panics_is_counted_as_a_broken_stream() {
    let mut script = Script::new(0);
    script.step(0).usual_calls("f", 0, 10);
    let status = follow_streams(
        vec![script.stream_that_panics()],
        options(sstd()),
        session(&server()),
        &MemoryStore::default(),
    )
    .unwrap();
    assert_eq!(status.num_executions, 10);
    assert_eq!(status.warnings.total(WarningKind::StreamTruncated), 1);
}

/// A rank of two: it waits for the other one, or works for 50 ms and then sends; thread 0, times in µs.
fn script_of_a_pair(rank: u32, first_step: u32) -> Script {
    let mut script = Script::new(rank);
    script
        .step(first_step)
        .metadata(0, "Hostname", "node1")
        .enter(0, "main", 95);
    for index in 0..200 {
        let at = 100 + 20 * index;
        script
            .call(0, "work", at, at + 9)
            .send(0, 1 - rank, 9, at + 10);
        script.call(0, "MPI_Send", at + 10, at + 12);
        script
            .enter(0, "MPI_Recv", at + 13)
            .recv(0, 1 - rank, 9, at + 16);
        script.exit(0, "MPI_Recv", at + 16);
    }
    script.step(first_step + 1);
    if rank == 0 {
        script
            .call(0, "work", 5_000, 55_000)
            .send(0, 1, 9, 55_001)
            .call(0, "MPI_Send", 55_001, 55_003);
    } else {
        script
            .enter(0, "MPI_Recv", 5_010)
            .recv(0, 0, 9, 55_010)
            .exit(0, "MPI_Recv", 55_010);
    }
    script.step(first_step + 2).exit(0, "main", 60_000);
    script
}

/// Returns the incidents of a pair of ranks whose streams begin at these steps.
fn incidents_of_a_pair(first_steps: [u32; 2]) -> Vec<serde_json::Value> {
    let server = Arc::new(ServerState::new(StateOptions {
        joins_incidents: true,
        ..StateOptions::default()
    }));
    let scripts = [0, 1].map(|rank| script_of_a_pair(rank, first_steps[rank as usize]));
    let streams = scripts.iter().map(Script::stream).collect();
    let store = MemoryStore::default();
    follow_streams(streams, options(sstd()), session(&server), &store).expect("followed");
    let documents = server.incidents(0, false).documents;
    documents
        .into_iter()
        .map(|document| json!(document.record))
        .collect()
}

#[test]
fn messages_lead_from_a_waiting_rank_to_the_late_one() {
    let incidents = incidents_of_a_pair([0, 0]);
    assert_eq!(incidents.len(), 1, "{incidents:#?}");
    let incident = &incidents[0];
    assert_eq!(
        (&incident["rid"], &incident["func"]),
        (&json!(0), &json!("work"))
    );
    assert_eq!(
        (&incident["own_delay"], &incident["num_ranks"]),
        (&json!(50_000), &json!(2))
    );
    let message = &incident["messages"][0];
    assert_eq!(
        (&message["src"], &message["number"]),
        (&json!(0), &json!(200))
    );
    assert_eq!(message["sent"]["timestamp"], 55_001);
    assert_eq!(message["received"]["timestamp"], 55_010);
}

#[test]
fn a_stream_joined_late_has_no_message_numbers_and_an_uncertain_root() {
    let incidents = incidents_of_a_pair([0, 3]);
    assert_eq!(incidents.len(), 1, "{incidents:#?}");
    assert_eq!(incidents[0]["rid"], 0);
    assert_eq!(incidents[0]["confidence"], 50);
    assert_eq!(incidents[0]["messages"], json!([]));
}
