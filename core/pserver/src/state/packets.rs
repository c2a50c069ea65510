//! Builds the packets that the server streams to viewers.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_detect::RunStats;
use callgrove_incidents::FunctionNames as _;

use super::global::{GlobalState, PacketDelta};
use super::{ServerState, lock};
use crate::functions::FunctionTable;
use crate::report::AnomalySummary;
use crate::statistics::{Metrics, RankKey, StepSummary};
use callgrove_overview::RankHosts;
use callgrove_overview::packet::{
    AnomalyMetrics, AnomalyStats, CounterStats, FuncAnomalies, MetricsData, Packet, RankAnomalies,
    StepAnomalies, VERSION,
};

impl ServerState {
    /// Returns what is new since the previous packet, and the totals. `now_ms` is milliseconds since the epoch.
    pub fn take_packet(&self, now_ms: u64) -> Packet {
        let mut global = lock(&self.global);
        self.fold_into(&mut global);
        let delta = std::mem::take(&mut global.delta);
        let functions = self.function_table();
        Packet {
            version: VERSION,
            created_at: now_ms,
            run: self.run(),
            anomaly_metrics: anomaly_metrics(&global, &delta, &functions),
            counter_stats: counter_stats(&global),
            anomaly_stats: delta.any.then(|| AnomalyStats {
                created_at: now_ms,
                anomaly: rank_anomalies(&global, delta),
                func: func_anomalies(&global, &functions),
            }),
        }
    }

    /// Returns the host of each rank that has reported one; `None` if these are as many as `num_known`.
    pub fn hosts(&self, num_known: usize) -> Option<RankHosts> {
        let global = lock(&self.global);
        let hosts = global.trends.hosts();
        if hosts.count() == num_known {
            return None;
        }
        let mut last: Arc<str> = Arc::default();
        let shared = global.trends.hosts().map(|(program, rank, host)| {
            if *last != *host {
                last = Arc::from(host);
            }
            ((program.0, rank.0), Arc::clone(&last))
        });
        Some(shared.collect())
    }
}

/// Returns the statistics of every counter over the run.
pub(super) fn counters(global: &GlobalState) -> Vec<CounterStats> {
    let counters = global.total.counters.iter();
    counters
        .map(|((program, counter), values)| CounterStats {
            app: program.0,
            counter: counter.clone(),
            stats: values.stats(),
        })
        .collect()
}

fn counter_stats(global: &GlobalState) -> Option<Vec<CounterStats>> {
    let counters = counters(global);
    (!counters.is_empty()).then_some(counters)
}

fn rank_anomalies(global: &GlobalState, delta: PacketDelta) -> Vec<RankAnomalies> {
    let ranks = delta.ranks.into_iter().map(|rank| (rank, Vec::new()));
    let mut by_rank: BTreeMap<RankKey, Vec<StepAnomalies>> = ranks.collect();
    for step in delta.steps {
        let key = (step.program, step.rank);
        by_rank.entry(key).or_default().push(step_anomalies(&step));
    }
    let of_rank = |(key, mut data): (RankKey, Vec<StepAnomalies>)| {
        data.sort_by_key(|step| step.step);
        let totals = global.total.ranks.get(&key);
        RankAnomalies {
            data,
            key: format!("{}:{}", key.0, key.1),
            stats: totals.map_or_else(RunStats::default, |totals| totals.anomalies.stats()),
        }
    };
    by_rank.into_iter().map(of_rank).collect()
}

fn step_anomalies(step: &StepSummary) -> StepAnomalies {
    let AnomalySummary {
        score,
        min_timestamp_us,
        max_timestamp_us,
        ..
    } = &step.anomalies;
    StepAnomalies {
        app: step.program.0,
        max_timestamp_us: *max_timestamp_us,
        min_timestamp_us: *min_timestamp_us,
        n_anomalies: score.count(),
        rank: step.rank.0,
        step: u64::from(step.step.0),
        outlier_scores: score.stats(),
    }
}

fn func_anomalies(global: &GlobalState, functions: &FunctionTable) -> Vec<FuncAnomalies> {
    let profiles = global.total.functions.iter();
    let mut func: Vec<FuncAnomalies> = profiles
        .filter_map(|(&fid, profile)| {
            let (program, name) = functions.get(fid)?;
            Some(FuncAnomalies {
                app: program.0,
                fid: fid.0,
                name: name.to_owned(),
                exclusive: profile.exclusive.stats(),
                inclusive: profile.inclusive.stats(),
                stats: profile.anomalies.stats(),
            })
        })
        .collect();
    func.sort_by_key(|function| (function.app, function.fid));
    func
}

fn anomaly_metrics(
    global: &GlobalState,
    delta: &PacketDelta,
    functions: &FunctionTable,
) -> Vec<AnomalyMetrics> {
    let fresh = delta.metrics.iter();
    fresh
        .filter_map(|(key, new)| {
            let &(program, rank, fid) = key;
            Some(AnomalyMetrics {
                app: program.0,
                rank: rank.0,
                fid: fid.0,
                fname: functions.name(fid).to_owned(),
                _id: *global.metric_ids.get(key)?,
                new_data: metrics_data(new),
                all_data: global
                    .total
                    .metrics
                    .get(key)
                    .map(metrics_data)
                    .unwrap_or_default(),
            })
        })
        .collect()
}

fn metrics_data(metrics: &Metrics) -> MetricsData {
    MetricsData {
        first_io_step: u64::from(metrics.first_step.0),
        last_io_step: u64::from(metrics.last_step.0),
        max_timestamp_us: metrics.anomalies.max_timestamp_us,
        min_timestamp_us: metrics.anomalies.min_timestamp_us,
        severity: metrics.anomalies.severity.stats(),
        score: metrics.anomalies.score.stats(),
        count: metrics.count.stats(),
    }
}
