//! Reads typed documents from JSON.

use std::sync::Arc;

use callgrove_detect::RunStats;
use callgrove_provdb::{CommWindowEntry, CounterEvent, EventWindow, ExecWindowEntry, NodeState};
use serde::Deserialize;
use serde_json::Value;

use super::{ExecutionDocument, Model, RecordHistogram};

impl ExecutionDocument {
    /// Reads a document as completely as possible.
    pub fn new(json: Value) -> Self {
        let step_range_us = time(&json, "io_step_tstart").zip(time(&json, "io_step_tend"));
        let node_state = field(&json, "node_state");
        Self {
            event_id: field(&json, "event_id").unwrap_or_default(),
            func: field(&json, "func").unwrap_or_default(),
            fid: field(&json, "fid"),
            app: field(&json, "pid"),
            rank: field(&json, "rid"),
            thread: field(&json, "tid"),
            hostname: field(&json, "hostname").filter(|name: &String| !name.is_empty()),
            entry_us: time(&json, "entry"),
            exit_us: time(&json, "exit"),
            runtime_exclusive_us: field(&json, "runtime_exclusive"),
            runtime_total_us: field(&json, "runtime_total"),
            step: field(&json, "io_step"),
            step_range_us,
            score: field(&json, "outlier_score"),
            severity_us: field(&json, "outlier_severity"),
            is_gpu: is_set(&json, "is_gpu_event"),
            gpu_location: field(&json, "gpu_location"),
            gpu_parent: field(&json, "gpu_parent"),
            call_stack: items(&json, "call_stack").collect(),
            counters: sorted(&json, "counter_events", |event: &CounterEvent| event.ts_us),
            model: json.get("algo_params").map(Model::of).unwrap_or_default(),
            window: json.get("event_window").map(window).unwrap_or_default(),
            node_state: node_state.filter(|state: &NodeState| !state.data.is_empty()),
            json: Arc::new(json),
        }
    }
}

/// Returns a field if it has the type.
fn field<'d, T: Deserialize<'d>>(json: &'d Value, key: &str) -> Option<T> {
    T::deserialize(json.get(key)?).ok()
}

/// Returns a time; 0 means that it is missing.
fn time(json: &Value, key: &str) -> Option<u64> {
    field(json, key).filter(|&time_us| time_us > 0)
}

/// Returns a flag. The schema has true or false; some writers use 1 or 0.
fn is_set(json: &Value, key: &str) -> bool {
    field(json, key).unwrap_or_else(|| field(json, key).is_some_and(|value: u64| value != 0))
}

/// Returns the items of a list that have the type.
fn items<'d, T: Deserialize<'d>>(json: &'d Value, key: &str) -> impl Iterator<Item = T> {
    let items = json.get(key).and_then(Value::as_array);
    let items = items.into_iter().flatten();
    items.filter_map(|item| T::deserialize(item).ok())
}

/// Returns the same items in order of time.
fn sorted<'d, T: Deserialize<'d>>(
    json: &'d Value,
    key: &str,
    time_us: impl Fn(&T) -> u64,
) -> Vec<T> {
    let mut items: Vec<T> = items(json, key).collect();
    items.sort_by_key(time_us);
    items
}

fn window(json: &Value) -> EventWindow {
    EventWindow {
        exec_window: sorted(json, "exec_window", |call: &ExecWindowEntry| call.entry),
        comm_window: sorted(json, "comm_window", |it: &CommWindowEntry| it.timestamp_us),
    }
}

impl Model {
    fn of(json: &Value) -> Self {
        if json.get("histogram").is_some() {
            let histogram = field(json, "histogram").filter(|it: &RecordHistogram| {
                !it.counts.is_empty() && it.edges.len() == it.counts.len() + 1
            });
            return histogram.map_or(Self::Unknown, |histogram| {
                Self::RecordHistogram(RecordHistogram {
                    threshold: field(json, "internal_global_threshold"),
                    ..histogram
                })
            });
        }
        let stats = || {
            let other = |key| field(json, key).unwrap_or_default();
            Some(RunStats {
                accumulate: other("accumulate"),
                count: field(json, "count")?,
                kurtosis: other("kurtosis"),
                maximum: other("maximum"),
                mean: field(json, "mean")?,
                minimum: other("minimum"),
                skewness: other("skewness"),
                stddev: field(json, "stddev")?,
            })
        };
        stats().map_or(Self::Unknown, Self::Moments)
    }
}
