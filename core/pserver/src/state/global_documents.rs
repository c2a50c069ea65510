//! The documents of the provenance database's global collections.

use std::collections::BTreeMap;

use callgrove_incidents::FunctionNames as _;
use callgrove_model::{FuncId, ProgramId};

use super::global::GlobalState;
use super::packets::counters;
use super::{ServerState, lock};
use crate::functions::FunctionTable;
use crate::record::{AdModelRecord, FuncAnomalyMetrics, FuncStatsRecord, RuntimeProfile};
use crate::statistics::Metrics;
use callgrove_overview::packet::CounterStats;

/// The three global collections, each in order of program and function or counter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GlobalDocuments {
    /// Collection `func_stats`: profile and anomalies of each function.
    pub func_stats: Vec<FuncStatsRecord>,
    /// Collection `counter_stats`.
    pub counter_stats: Vec<CounterStats>,
    /// Collection `ad_model`: the model of each function.
    pub ad_model: Vec<AdModelRecord>,
}

impl ServerState {
    /// Returns the documents of everything so far, without the `__id` that a database assigns.
    pub fn documents(&self) -> GlobalDocuments {
        let mut global = lock(&self.global);
        self.fold_into(&mut global);
        let functions = self.function_table();
        GlobalDocuments {
            func_stats: func_stats(&global, &functions),
            counter_stats: counters(&global),
            ad_model: ad_model(&global, &functions),
        }
    }
}

fn func_stats(global: &GlobalState, functions: &FunctionTable) -> Vec<FuncStatsRecord> {
    let mut anomalies: BTreeMap<FuncId, Metrics> = BTreeMap::new();
    for (&(_, _, fid), metrics) in &global.total.metrics {
        anomalies.entry(fid).or_default().merge(metrics);
    }
    let profiles = global.total.functions.iter();
    let records = profiles.filter_map(|(&fid, profile)| {
        let (ProgramId(app), name) = functions.get(fid)?;
        Some(FuncStatsRecord {
            app,
            fid: fid.0,
            fname: name.to_owned(),
            anomaly_metrics: anomalies.get(&fid).map(anomaly_metrics),
            runtime_profile: RuntimeProfile {
                exclusive_runtime: profile.exclusive.stats(),
                inclusive_runtime: profile.inclusive.stats(),
            },
        })
    });
    let mut records: Vec<_> = records.collect();
    records.sort_by_key(|record| record.app);
    records
}

fn anomaly_metrics(metrics: &Metrics) -> FuncAnomalyMetrics {
    FuncAnomalyMetrics {
        anomaly_count: metrics.count.stats(),
        first_io_step: metrics.first_step.0.into(),
        last_io_step: metrics.last_step.0.into(),
        max_timestamp_us: metrics.anomalies.max_timestamp_us,
        min_timestamp_us: metrics.anomalies.min_timestamp_us,
        score: metrics.anomalies.score.stats(),
        severity: metrics.anomalies.severity.stats(),
    }
}

fn ad_model(global: &GlobalState, functions: &FunctionTable) -> Vec<AdModelRecord> {
    let models = global.models.iter();
    let records = models.filter_map(|(&fid, versioned)| {
        let (ProgramId(pid), _) = functions.get(fid)?;
        Some(AdModelRecord {
            pid,
            fid: fid.0,
            func_name: functions.name(fid).to_owned(),
            model: versioned.model.to_json(),
        })
    });
    let mut records: Vec<_> = records.collect();
    records.sort_by_key(|record| record.pid);
    records
}
