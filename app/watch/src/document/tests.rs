//! Documents of the schema, of other writers, and damaged ones.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use callgrove_model::ExecIdx;
use callgrove_query::{RowKind, Tile, layout_lane};

/// Returns main { step { wait(subject) , send } }, and a call of the next step without a known caller.
fn full() -> Value {
    json!({
        "event_id": "2:5:11", "func": "MPI_Wait()", "fid": 4, "pid": 1, "rid": 2, "tid": 0,
        "hostname": "n17", "entry": 1_100, "exit": 1_900, "runtime_exclusive": 800, "runtime_total": 800,
        "io_step": 5, "io_step_tstart": 1_000, "io_step_tend": 3_000,
        "outlier_score": 12.5, "outlier_severity": 800, "is_gpu_event": false,
        "gpu_location": null, "gpu_parent": null,
        "call_stack": [
            {"event_id": "2:5:11", "func": "MPI_Wait()", "fid": 4, "entry": 1_100, "exit": 1_900, "is_anomaly": true},
            {"event_id": "2:5:10", "func": "step", "fid": 3, "entry": 1_050, "exit": 2_500, "is_anomaly": false},
            {"event_id": "2:0:0", "func": "main", "fid": 0, "entry": 1, "exit": 0, "is_anomaly": false},
        ],
        "counter_events": [
            {"counter_name": "bytes", "counter_value": 42, "ts": 1_200},
            {"counter_name": "bytes", "counter_value": 41, "ts": 1_150},
        ],
        "algo_params": {
            "histogram": {"Histogram Bin Counts": [6, 3, 0, 1], "Histogram Bin Edges": [0.0, 10.0, 100.0, 500.0, 1000.0]},
            "internal_global_threshold": 3.5,
        },
        "event_window": {
            "exec_window": [
                {"event_id": "2:5:12", "parent_event_id": "2:5:10", "func": "MPI_Send()", "entry": 2_000, "exit": 2_100, "is_anomaly": false},
                {"event_id": "2:5:11", "parent_event_id": "2:5:10", "func": "MPI_Wait()", "entry": 1_100, "exit": 1_900, "is_anomaly": true},
                {"event_id": "2:6:0", "parent_event_id": "2:4:99", "func": "lost", "entry": 2_200, "exit": 2_300, "is_anomaly": false},
            ],
            "comm_window": [
                {"type": "RECV", "src": 3, "tar": 2, "bytes": 64, "tag": 7, "timestamp": 1_890, "execdata_key": "2:5:11"},
                {"type": "SEND", "src": 2, "tar": 0, "bytes": 8, "tag": 7, "timestamp": 2_010, "execdata_key": "2:5:12"},
            ],
        },
        "node_state": {"data": [{"field": "Memory Available (MB)", "value": 512}], "timestamp": 1_000},
    })
}

#[test]
fn a_document_of_the_schema_is_read_completely() {
    let document = ExecutionDocument::new(full());
    assert_eq!(
        (document.app, document.rank, document.step),
        (Some(1), Some(2), Some(5))
    );
    assert_eq!(document.severity_us, Some(800.0));
    assert_eq!(document.call_stack.len(), 3);
    assert_eq!(document.call_stack[2].exit, 0, "main is still running");
    assert_eq!(document.counters[0].ts_us, 1_150, "in order of time");
    let state = document.node_state.as_ref().unwrap();
    let known = &state.data[0];
    assert_eq!(
        (&*known.field, known.value.to_string()),
        ("Memory Available (MB)", "512".to_owned())
    );
    let Model::RecordHistogram(histogram) = &document.model else {
        panic!("{:?}", document.model);
    };
    assert_eq!(histogram.bin_of(800.0), Some(3));
    assert_eq!(histogram.bin_of(2_000.0), None);
    let longer = [-1.0, 10.0, 50.0, 600.0].map(|time_us| histogram.num_longer(time_us) as u32);
    assert_eq!(longer, [10, 4, 1, 0]);
    assert!(document.pretty_json().contains("\"MPI_Wait()\""));
}

#[test]
fn the_window_is_a_trace_with_its_callers() {
    let window = ExecutionDocument::new(full()).window_trace();
    let executions = &window.trace.lane(window.lane).executions;
    let calls: Vec<(&str, u16)> = executions
        .func
        .iter()
        .zip(&executions.depth)
        .map(|(func, depth)| (window.trace.names.name(*func), *depth))
        .collect();
    let expected = [
        ("main", 0),
        ("step", 1),
        ("MPI_Wait()", 2),
        ("MPI_Send()", 2),
        // Its caller is not in the document, so it is below the innermost call that encloses it.
        ("lost", 2),
    ];
    assert_eq!(calls, expected);
    let ends: Vec<u32> = executions.subtree_end.iter().map(|end| end.0).collect();
    assert_eq!(ends, [5, 5, 3, 4, 5]);
    let subject = window.subject.unwrap();
    assert_eq!(subject.exec, ExecIdx(2));
    assert_eq!(window.trace.label(subject).to_string(), "2:5:11");
    assert_eq!(window.event_ids[3], "2:5:12");
    assert_eq!(window.anomalies, [subject]);
    assert!(!executions.closed[0] && executions.closed[2]);
    assert_eq!((window.from.as_us(), window.to.as_us()), (1_100, 2_300));
}

#[test]
fn messages_connect_the_lane_to_those_of_its_partners() {
    let window = ExecutionDocument::new(full()).window_trace();
    let ranks: Vec<u32> = window.trace.lanes.iter().map(|lane| lane.rank.0).collect();
    assert_eq!((ranks, window.lane.0), (vec![0, 2, 3], 1));
    let ends: Vec<(u32, u32)> = window
        .trace
        .messages
        .iter()
        .map(|message| (message.send.lane.0, message.recv.lane.0))
        .collect();
    assert_eq!(ends, [(2, 1), (1, 0)]);
    let comms = &window.trace.lane(window.lane).comms;
    let calls: Vec<Option<ExecIdx>> = comms
        .exec
        .iter()
        .map(|exec| exec.map(ExecIdx::from))
        .collect();
    assert_eq!(calls, [Some(ExecIdx(2)), Some(ExecIdx(3))]);
}

#[test]
fn an_empty_document_is_shown_as_empty() {
    for json in [json!({}), json!(null), json!([1]), json!("text")] {
        let document = ExecutionDocument::new(json);
        assert_eq!(document.model, Model::Unknown);
        let window = document.window_trace();
        assert!(window.event_ids.is_empty() && window.to > window.from);
    }
}

#[test]
fn gpu_fields_and_moments_are_read() {
    let document = ExecutionDocument::new(json!({
        "is_gpu_event": 1,
        "gpu_location": {"context": 0, "device": 1, "stream": 7, "thread": 2},
        "gpu_parent": {"event_id": "0:1:2", "tid": 0, "call_stack": [{"func": "cudaLaunchKernel", "event_id": "0:1:2"}]},
        "algo_params": {"count": 9, "mean": 5.0, "stddev": 1.5},
    }));
    assert!(document.is_gpu);
    assert_eq!(document.gpu_location.as_ref().unwrap().stream, 7);
    assert!(
        matches!(&document.gpu_parent, Some(GpuParent::Found { call_stack, .. }) if call_stack.len() == 1)
    );
    assert!(matches!(document.model, Model::Moments(stats) if stats.count == 9));
    let lost = ExecutionDocument::new(json!({"gpu_parent": "not seen yet"}));
    assert_eq!(
        lost.gpu_parent,
        Some(GpuParent::Missing("not seen yet".to_owned()))
    );
}

#[test]
fn an_unreadable_part_is_omitted_alone() {
    let mut json = full();
    json["fid"] = json!("four");
    json["call_stack"][1]["entry"] = json!(-1);
    json["event_window"]["comm_window"][0]["type"] = json!("BARRIER");
    json["node_state"] = json!(7);
    let document = ExecutionDocument::new(json);
    assert_eq!((document.fid, document.rank), (None, Some(2)));
    assert_eq!(document.call_stack.len(), 2);
    assert_eq!(document.window.comm_window.len(), 1);
    assert_eq!(document.window.exec_window.len(), 3);
    assert_eq!(document.node_state, None);
}

#[test]
fn a_record_of_an_earlier_release_is_shown_with_what_it_has() {
    let mut json = full();
    let fields = json.as_object_mut().unwrap();
    for newer in [
        "hostname",
        "io_step_tend",
        "algo_params",
        "event_window",
        "node_state",
    ] {
        fields.remove(newer);
    }
    fields["outlier_score"] = json!("high");
    let document = ExecutionDocument::new(json.clone());
    let expected = ExecutionDocument {
        hostname: None,
        step_range_us: None,
        score: None,
        model: Model::Unknown,
        window: EventWindow::default(),
        node_state: None,
        json: Arc::new(json),
        ..ExecutionDocument::new(full())
    };
    assert_eq!(document, expected);
}

#[test]
fn fields_of_the_scatter_plot_come_from_the_document() {
    use crate::ExecutionField;

    let document = ExecutionDocument::new(full());
    let values: Vec<Option<f64>> = ExecutionField::ALL
        .iter()
        .map(|field| field.value(&document))
        .collect();
    let expected = [
        1_100.0, 1_900.0, 800.0, 800.0, 800.0, 12.5, 5.0, 2.0, 4.0, 11.0, 0.0,
    ];
    assert_eq!(values, expected.map(Some));
}

/// Generates calls with labels 0 to 9 and arbitrary callers, including cycles.
fn any_calls() -> impl Strategy<Value = Vec<Value>> {
    let call = (0_u32..10, 0_u32..12, 0_u64..1_000, 0_u64..1_000).prop_map(
        |(label, parent, entry, length)| {
            json!({"event_id": label.to_string(), "parent_event_id": parent.to_string(),
                   "func": "f", "entry": entry, "exit": entry + length})
        },
    );
    proptest::collection::vec(call, 0..25)
}

proptest! {
    #[test]
    fn a_damaged_window_is_still_a_trace(calls in any_calls(), stack in any_calls()) {
        let document = ExecutionDocument::new(json!({
            "event_id": "3", "call_stack": stack, "event_window": {"exec_window": calls},
        }));
        let window = document.window_trace();
        prop_assert!(window.to > window.from);
        let executions = &window.trace.lane(window.lane).executions;
        prop_assert_eq!(executions.len(), window.event_ids.len());
        for row in 0..executions.len() {
            let exec = ExecIdx::from_index(row);
            let rows = executions.subtree(exec);
            prop_assert!(rows.start == row && rows.end > row && rows.end <= executions.len());
            if let Some(caller) = executions.parent(exec) {
                prop_assert!(executions.subtree(caller).contains(&row));
                prop_assert_eq!(executions.depth[row], executions.depth[caller.index()] + 1);
            }
        }
        let (from, to) = window.trace.time_span().unwrap_or((window.from, window.to));
        let tile = Tile { from, to, min_bar_ns: 1 };
        layout_lane(&window.trace, window.lane, RowKind::Stack, tile);
    }

    #[test]
    fn calls_of_one_thread_never_overlap_even_if_callers_are_missing(
        nesting in proptest::collection::vec(any::<bool>(), 1..60),
        kept in proptest::collection::vec(any::<bool>(), 60),
    ) {
        let calls = nested(&nesting);
        let kept: Vec<&Value> = calls
            .iter()
            .zip(&kept)
            .filter(|(_, is_kept)| **is_kept)
            .map(|(call, _)| call)
            .collect();
        let json = json!({"event_id": "0", "event_window": {"exec_window": kept}});
        let window = ExecutionDocument::new(json).window_trace();
        let executions = &window.trace.lane(window.lane).executions;
        for row in 1..executions.len() {
            let (exec, before) = (ExecIdx::from_index(row), ExecIdx::from_index(row - 1));
            prop_assert!(executions.entry[row] >= executions.entry[row - 1]);
            if executions.depth[row] <= executions.depth[row - 1] {
                prop_assert!(executions.entry[row] >= executions.exit(before));
            } else {
                prop_assert!(executions.exit(exec) <= executions.exit(before));
            }
        }
    }
}

/// Returns a call for each `true`, which the next free `false` (or the end) leaves.
fn nested(nesting: &[bool]) -> Vec<Value> {
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut calls = Vec::new();
    let ends = std::iter::repeat_n(&false, nesting.len());
    for (time, enters) in nesting.iter().chain(ends).enumerate() {
        if *enters {
            open.push((calls.len(), time));
            let parent = open.iter().rev().nth(1).map_or(99, |(label, _)| *label);
            calls.push(json!({
                "event_id": calls.len().to_string(), "parent_event_id": parent.to_string(),
                "func": "f", "entry": time + 1,
            }));
        } else if let Some((label, _)) = open.pop() {
            calls[label]["exit"] = json!(time + 1);
        }
    }
    calls
}
