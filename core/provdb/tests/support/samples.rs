//! Records and documents of every kind.

use std::sync::Arc;

use callgrove_provdb::{
    CallStackEntry, Collection, CommType, CommWindowEntry, CounterEvent, Document, EventWindow,
    ExecWindowEntry, ExecutionRecord, GpuLocation, GpuParent, MetadataRecord, NodeState,
    NodeStateField, TREE_VERSION, TreeRecord, VERSION,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Returns the parameters of a histogram, in the form of the schema.
pub(crate) fn histogram() -> Value {
    json!({
        "histogram": {"Histogram Bin Counts": [3, 0, 1], "Histogram Bin Edges": [0.5, 10.0, 20.0, 30.5]},
        "internal_global_threshold": 6.25
    })
}

/// Returns statistics, in the form of the schema.
pub(crate) fn run_stats() -> Value {
    json!({"accumulate": 12.0, "count": 3, "kurtosis": -1.5, "maximum": 6.0, "mean": 4.0, "minimum": 2.0,
           "skewness": 0.0, "stddev": 2.0})
}

/// Returns an execution on the CPU with all lists filled.
pub(crate) fn execution(rank: u32, step: u64, index: u64) -> ExecutionRecord {
    let event_id = format!("{rank}:{step}:{index}");
    let func: Arc<str> = if index.is_multiple_of(2) {
        "MPI_Send()"
    } else {
        "Comm::exchange(int [*])"
    }
    .into();
    let fid = (index % 5) as u32;
    ExecutionRecord {
        version: VERSION,
        call_stack: vec![CallStackEntry {
            entry: 1_000 + index,
            exit: 2_000 + index,
            fid,
            func: Arc::clone(&func),
            event_id: event_id.clone(),
            is_anomaly: Some(true),
        }],
        counter_events: vec![CounterEvent {
            counter_idx: 1,
            counter_name: "PAPI_L1_TCM".into(),
            counter_value: 77,
            pid: 0,
            rid: rank,
            tid: 0,
            ts_us: 1_500,
        }],
        entry: 1_000 + index,
        exit: 2_000 + index,
        event_id: event_id.clone(),
        fid,
        func: Arc::clone(&func),
        algo_params: Arc::from(RawValue::from_string(histogram().to_string()).expect("JSON")),
        is_gpu_event: false,
        gpu_location: None,
        gpu_parent: None,
        pid: 0,
        rid: rank,
        tid: 0,
        hostname: "node17".into(),
        runtime_exclusive: 600 + index,
        runtime_total: 1_000,
        io_step: step,
        io_step_tstart: 900,
        io_step_tend: 9_000,
        outlier_score: index as f64 * 1.5,
        outlier_severity: 600 + index,
        event_window: EventWindow {
            exec_window: vec![ExecWindowEntry {
                entry: 1_000 + index,
                exit: 0,
                fid,
                func,
                event_id: event_id.clone(),
                parent_event_id: "root".to_owned(),
                is_anomaly: false,
            }],
            comm_window: (0..index % 3)
                .map(|tar| CommWindowEntry {
                    kind: if tar == 0 {
                        CommType::Send
                    } else {
                        CommType::Recv
                    },
                    pid: 0,
                    rid: rank,
                    tid: 0,
                    src: rank,
                    tar: tar as u32 + 4,
                    bytes: 1 << 20,
                    tag: 9,
                    number: (tar == 0).then_some(index),
                    timestamp_us: 1_200,
                    execdata_key: event_id.clone(),
                })
                .collect(),
        },
        node_state: Some(NodeState {
            data: vec![NodeStateField {
                field: "Memory Available (MB)".into(),
                value: 812.into(),
            }],
            timestamp_us: 1_100,
        }),
    }
}

/// Returns an execution on a GPU.
pub(crate) fn gpu_execution(rank: u32, step: u64, index: u64, has_parent: bool) -> ExecutionRecord {
    let parent = CallStackEntry {
        is_anomaly: None,
        ..execution(rank, step, index).call_stack[0].clone()
    };
    ExecutionRecord {
        is_gpu_event: true,
        gpu_location: Some(GpuLocation {
            context: 1,
            device: 2,
            stream: 3,
            thread: 4,
        }),
        gpu_parent: Some(if has_parent {
            GpuParent::Found {
                event_id: "0:1:7".to_owned(),
                tid: 0,
                call_stack: vec![parent],
            }
        } else {
            GpuParent::Missing("no CPU execution has the correlation id 5".to_owned())
        }),
        node_state: None,
        ..execution(rank, step, index)
    }
}

/// Returns an entry of the metadata.
pub(crate) fn metadata(rank: u32, descr: &str) -> MetadataRecord {
    MetadataRecord {
        descr: descr.to_owned(),
        pid: 0,
        rid: rank,
        tid: 0,
        value: "it's \"n\u{f6}de\"".to_owned(),
    }
}

/// Returns a tree that was recorded for the sample.
pub(crate) fn tree(rank: u32) -> Document {
    let record = TreeRecord {
        version: TREE_VERSION,
        event_id: format!("{rank}:1:2"),
        pid: 0,
        rid: rank,
        tid: 0,
        fid: 4,
        func: "compute".into(),
        hostname: "node17".into(),
        entry: 1_000,
        exit: 3_000,
        runtime_total: 2_000,
        io_step: 1,
        is_sample: true,
        judged: None,
        outlier_score: 0.5,
        outlier_severity: 2_000,
        num_calls: 7,
        tree: None,
    };
    Document::tree(&record).expect("a record")
}

/// Returns one document of every collection and kind.
pub(crate) fn one_of_each() -> Vec<Document> {
    let anomaly = |record| Document::execution(Collection::Anomalies, &record).expect("a record");
    let stats = json!({
        "app": 0, "fid": 1, "fname": "f",
        "anomaly_metrics": {
            "anomaly_count": run_stats(), "first_io_step": 1, "last_io_step": 2, "max_timestamp": 9,
            "min_timestamp": 3, "score": run_stats(), "severity": run_stats()
        },
        "runtime_profile": {"exclusive_runtime": run_stats(), "inclusive_runtime": run_stats()}
    });
    let mut calm = stats.clone();
    (calm["fid"], calm["anomaly_metrics"]) = (2.into(), Value::Null);
    let counter = json!({"app": 0, "counter": "PAPI_L1_TCM", "stats": run_stats()});
    let model = json!({"pid": 0, "fid": 1, "func_name": "f", "model": histogram()});
    let sstd = json!({"pid": 0, "fid": 2, "func_name": "g", "model": run_stats()});
    vec![
        anomaly(execution(0, 1, 2)),
        anomaly(gpu_execution(1, 1, 3, true)),
        anomaly(gpu_execution(2, 1, 4, false)),
        Document::execution(Collection::NormalExecs, &execution(3, 1, 5)).expect("a record"),
        Document::metadata(&metadata(1, "Hostname")).expect("a record"),
        Document::func_stats(0, 1, &stats).expect("JSON"),
        Document::func_stats(0, 2, &calm).expect("JSON"),
        Document::counter_stats(0, "PAPI_L1_TCM", &counter).expect("JSON"),
        Document::ad_model(0, 1, &model).expect("JSON"),
        Document::ad_model(0, 2, &sstd).expect("JSON"),
        Document::incident(0, "6:3:122", &incident()).expect("JSON"),
        Document::incident(0, "7:3:9", &joined_incident()).expect("JSON"),
        Document::trend(0, "slow:4:8", &trend()).expect("JSON"),
    ]
}

/// Returns a trend of four ranks that are slower than their peers.
pub(crate) fn trend() -> Value {
    json!({
        "version": 1, "trend_id": "slow:4:8", "pid": 0, "kind": "slow", "holds": true, "io_step": 90, "num_ranks": 2,
        "ranks": [8, 9], "host": "nid00003", "fid": 4, "func": "Heat::row(int)", "other_funcs": [], "own": 195.0,
        "usual": 150.5, "factor": 1.3, "start": null, "peers": [0, 1, 2, 3], "cost": 4_500, "evidence": 12.5, "doubt": null,
        "words": "ranks 8 and 9, host nid00003, 1.30 times their peers in Heat::row throughout; peers: ranks 0 to 3"
    })
}

/// Returns an incident of two ranks with a known root.
pub(crate) fn incident() -> Value {
    json!({
        "version": 2, "incident_id": "6:3:122", "joined_to": null, "pid": 0, "io_step": 3, "start": 1_000,
        "end": 53_800, "kind": "stalled", "rid": 6, "fid": 4, "func": "MPI_Send()", "event_id": "6:3:122", "own_delay": 52_800,
        "confidence": 88, "next_best": 5, "host": null,
        "delay": 105_000, "num_executions": 2, "num_anomalies": 1, "num_ranks": 2,
        "ranks": [5, 6], "members": ["6:3:122", "5:3:40"],
        "hops": [{
            "rid": 5, "event_id": "5:3:40", "fid": 7, "func": "MPI_Wait()", "waited": 52_200, "kind": "late_sender",
            "peer_rid": 6, "peer_event_id": null, "message": 0
        }],
        "messages": [{
            "src": 6, "tar": 5, "tag": 9, "number": 17,
            "sent": {"timestamp": 53_790, "event_id": "6:3:130"},
            "received": {"timestamp": 53_800, "event_id": null}
        }]
    })
}

/// Returns the document of an incident that was joined to another one.
pub(crate) fn joined_incident() -> Value {
    let mut incident = incident();
    for field in [
        "rid",
        "fid",
        "func",
        "event_id",
        "own_delay",
        "confidence",
        "next_best",
    ] {
        incident[field] = Value::Null;
    }
    for field in ["ranks", "members", "hops", "messages"] {
        incident[field] = json!([]);
    }
    for field in ["delay", "num_executions", "num_anomalies", "num_ranks"] {
        incident[field] = json!(0);
    }
    incident["kind"] = json!("unknown");
    incident["incident_id"] = json!("7:3:9");
    incident["joined_to"] = json!("6:3:122");
    incident
}

/// Returns a document of any JSON object.
pub(crate) fn document(collection: Collection, rank: u32, key: &str, json: &Value) -> Document {
    Document::from_json(collection, rank, key, json.to_string())
}
