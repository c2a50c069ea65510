//! The documents of the provenance database's global collections.

use std::collections::BTreeMap;

use callgrove_model::{FuncId, ProgramId};
use serde_json::{Value, json};

use super::global::GlobalState;
use super::{ServerState, lock};
use crate::functions::FunctionTable;
use crate::packet::build::{counters, name_of};
use crate::statistics::Metrics;

/// The three global collections, each in order of program and function or counter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GlobalDocuments {
    /// Collection `func_stats`: profile and anomalies of each function.
    pub func_stats: Vec<Value>,
    /// Collection `counter_stats`.
    pub counter_stats: Vec<Value>,
    /// Collection `ad_model`: the model of each function.
    pub ad_model: Vec<Value>,
}

impl ServerState {
    /// The documents of everything up to now, without the `__id` that a database assigns.
    pub fn documents(&self) -> GlobalDocuments {
        let mut global = lock(&self.global);
        self.fold_into(&mut global);
        let functions = self.function_table();
        GlobalDocuments {
            func_stats: func_stats(&global, &functions),
            counter_stats: counters(&global)
                .into_iter()
                .map(|counter| json!(counter))
                .collect(),
            ad_model: ad_model(&global, &functions),
        }
    }
}

fn func_stats(global: &GlobalState, functions: &FunctionTable) -> Vec<Value> {
    let mut anomalies: BTreeMap<FuncId, Metrics> = BTreeMap::new();
    for (&(_, _, fid), metrics) in &global.total.metrics {
        anomalies.entry(fid).or_default().merge(metrics);
    }
    let profiles = global.total.functions.iter();
    let documents: Vec<_> = profiles
        .filter_map(|(&fid, profile)| {
            let (program, name) = functions.get(fid)?;
            let document = json!({
                "app": program,
                "fid": fid,
                "fname": name,
                "anomaly_metrics": anomalies.get(&fid).map(anomaly_metrics),
                "runtime_profile": {
                    "exclusive_runtime": profile.exclusive.stats(),
                    "inclusive_runtime": profile.inclusive.stats(),
                },
            });
            Some((program, document))
        })
        .collect();
    by_program(documents)
}

/// Documents of one program after those of the one before.
fn by_program(mut documents: Vec<(ProgramId, Value)>) -> Vec<Value> {
    documents.sort_by_key(|(program, _)| *program);
    let documents = documents.into_iter();
    documents.map(|(_, document)| document).collect()
}

fn anomaly_metrics(metrics: &Metrics) -> Value {
    json!({
        "anomaly_count": metrics.count.stats(),
        "first_io_step": metrics.first_step,
        "last_io_step": metrics.last_step,
        "max_timestamp": metrics.anomalies.max_timestamp_us,
        "min_timestamp": metrics.anomalies.min_timestamp_us,
        "score": metrics.anomalies.score.stats(),
        "severity": metrics.anomalies.severity.stats(),
    })
}

fn ad_model(global: &GlobalState, functions: &FunctionTable) -> Vec<Value> {
    let models = global.models.iter();
    let documents: Vec<_> = models
        .filter_map(|(&fid, versioned)| {
            let (program, _) = functions.get(fid)?;
            let document = json!({
                "pid": program,
                "fid": fid,
                "func_name": name_of(functions, fid),
                "model": versioned.model.to_json(),
            });
            Some((program, document))
        })
        .collect();
    by_program(documents)
}
