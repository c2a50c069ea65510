//! From JSON to the typed document.

use std::sync::Arc;

use callgrove_model::CommKind;
use serde_json::Value;

use super::{
    ExecutionDocument, Model, RecordCounter, RecordEvents, RecordGpuLocation, RecordGpuParent,
    RecordHistogram, RecordNode, StackFrame, WindowComm, WindowExecution,
};
use crate::watch::RunStats;

impl ExecutionDocument {
    /// Reads a document as well as it can be read.
    pub fn new(json: Value) -> Self {
        decode(json)
    }
}

fn decode(json: Value) -> ExecutionDocument {
    let step_range_us = time(&json, "io_step_tstart").zip(time(&json, "io_step_tend"));
    ExecutionDocument {
        event_id: text(&json, "event_id"),
        func: text(&json, "func"),
        fid: small(&json, "fid"),
        app: small(&json, "pid"),
        rank: small(&json, "rid"),
        thread: whole(&json, "tid"),
        hostname: Some(text(&json, "hostname")).filter(|name| !name.is_empty()),
        entry_us: time(&json, "entry"),
        exit_us: time(&json, "exit"),
        runtime_exclusive_us: number(&json, "runtime_exclusive"),
        runtime_total_us: number(&json, "runtime_total"),
        step: whole(&json, "io_step"),
        step_range_us,
        score: number(&json, "outlier_score"),
        severity_us: number(&json, "outlier_severity"),
        is_gpu: flag(&json, "is_gpu_event") == Some(true),
        gpu_location: json.get("gpu_location").and_then(gpu_location),
        gpu_parent: json.get("gpu_parent").and_then(gpu_parent),
        call_stack: call_stack(&json),
        counters: counters(&json),
        model: json.get("algo_params").map(model).unwrap_or_default(),
        window: json
            .get("event_window")
            .map(event_window)
            .unwrap_or_default(),
        node_state: json.get("node_state").and_then(node_state),
        json: Arc::new(json),
    }
}

/// Any number, also one written as text.
fn number(json: &Value, key: &str) -> Option<f64> {
    let value = json.get(key)?;
    let number = value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok())?;
    number.is_finite().then_some(number)
}

pub(in crate::watch) fn whole(json: &Value, key: &str) -> Option<u64> {
    let value = json.get(key)?;
    value
        .as_u64()
        .or_else(|| value.as_str()?.trim().parse().ok())
}

pub(in crate::watch) fn small(json: &Value, key: &str) -> Option<u32> {
    whole(json, key).and_then(|value| u32::try_from(value).ok())
}

/// A time; 0 stands for none.
fn time(json: &Value, key: &str) -> Option<u64> {
    whole(json, key).filter(|&time_us| time_us > 0)
}

pub(in crate::watch) fn text(json: &Value, key: &str) -> String {
    json.get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// The schema says true or false; some writers say 1 or 0.
fn flag(json: &Value, key: &str) -> Option<bool> {
    let value = json.get(key)?;
    value
        .as_bool()
        .or_else(|| value.as_u64().map(|value| value != 0))
}

pub(in crate::watch) fn items<'a>(
    json: &'a Value,
    key: &str,
) -> impl Iterator<Item = &'a Value> + use<'a> {
    json.get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn call_stack(json: &Value) -> Vec<StackFrame> {
    items(json, "call_stack")
        .map(|frame| StackFrame {
            event_id: text(frame, "event_id"),
            func: text(frame, "func"),
            entry_us: whole(frame, "entry").unwrap_or_default(),
            exit_us: time(frame, "exit"),
            is_anomaly: flag(frame, "is_anomaly"),
        })
        .collect()
}

fn counters(json: &Value) -> Vec<RecordCounter> {
    let mut counters: Vec<RecordCounter> = items(json, "counter_events")
        .filter_map(|event| {
            Some(RecordCounter {
                name: text(event, "counter_name"),
                value: number(event, "counter_value")?,
                time_us: whole(event, "ts").unwrap_or_default(),
            })
        })
        .collect();
    counters.sort_by_key(|event| event.time_us);
    counters
}

fn gpu_location(json: &Value) -> Option<RecordGpuLocation> {
    json.is_object().then(|| RecordGpuLocation {
        device: whole(json, "device"),
        context: whole(json, "context"),
        stream: whole(json, "stream"),
        thread: whole(json, "thread"),
    })
}

fn gpu_parent(json: &Value) -> Option<RecordGpuParent> {
    if let Some(cause) = json.as_str() {
        return Some(RecordGpuParent::Unknown(cause.to_owned()));
    }
    json.is_object().then(|| RecordGpuParent::Known {
        event_id: text(json, "event_id"),
        thread: whole(json, "tid"),
        call_stack: call_stack(json),
    })
}

/// The schema names the fields in words; the peer's newer versions name them otherwise.
fn model(json: &Value) -> Model {
    if let Some(histogram) = json.get("histogram") {
        let list = |names: [&str; 2]| -> Vec<f64> {
            names
                .iter()
                .flat_map(|name| items(histogram, name))
                .filter_map(Value::as_f64)
                .collect()
        };
        let counts = list(["Histogram Bin Counts", "counts"]);
        let edges = list(["Histogram Bin Edges", "edges"]);
        if !counts.is_empty() && edges.len() == counts.len() + 1 {
            return Model::RecordHistogram(RecordHistogram {
                counts,
                edges,
                threshold: number(json, "internal_global_threshold"),
            });
        }
        return Model::Unknown;
    }
    let stats = || {
        Some(RunStats {
            accumulate: number(json, "accumulate").unwrap_or_default(),
            count: number(json, "count")? as u64,
            kurtosis: number(json, "kurtosis").unwrap_or_default(),
            maximum: number(json, "maximum").unwrap_or_default(),
            mean: number(json, "mean")?,
            minimum: number(json, "minimum").unwrap_or_default(),
            skewness: number(json, "skewness").unwrap_or_default(),
            stddev: number(json, "stddev")?,
        })
    };
    stats().map_or(Model::Unknown, Model::Moments)
}

fn event_window(json: &Value) -> RecordEvents {
    let mut executions: Vec<WindowExecution> = items(json, "exec_window")
        .map(|execution| WindowExecution {
            event_id: text(execution, "event_id"),
            parent_event_id: text(execution, "parent_event_id"),
            func: text(execution, "func"),
            entry_us: whole(execution, "entry").unwrap_or_default(),
            exit_us: time(execution, "exit"),
            is_anomaly: flag(execution, "is_anomaly"),
        })
        .collect();
    executions.sort_by_key(|execution| execution.entry_us);
    let mut messages: Vec<WindowComm> = items(json, "comm_window").filter_map(message).collect();
    messages.sort_by_key(|message| message.time_us);
    RecordEvents {
        executions,
        messages,
    }
}

fn message(json: &Value) -> Option<WindowComm> {
    let (kind, partner) = match json.get("type")?.as_str()? {
        "SEND" => (CommKind::Send, small(json, "tar")?),
        "RECV" => (CommKind::Recv, small(json, "src")?),
        _ => return None,
    };
    Some(WindowComm {
        kind,
        partner,
        size_bytes: whole(json, "bytes").unwrap_or_default(),
        tag: json.get("tag").and_then(Value::as_i64).unwrap_or_default(),
        number: whole(json, "number"),
        time_us: whole(json, "timestamp")?,
        event_id: text(json, "execdata_key"),
    })
}

fn node_state(json: &Value) -> Option<RecordNode> {
    let fields: Vec<(String, String)> = items(json, "data")
        .map(|field| {
            let value = match field.get("value") {
                Some(Value::String(value)) => value.clone(),
                Some(value) => value.to_string(),
                None => String::new(),
            };
            (text(field, "field"), value)
        })
        .collect();
    (!fields.is_empty()).then(|| RecordNode {
        fields,
        time_us: time(json, "timestamp"),
    })
}
