//! The overview of a finished run, read from its provenance database as the packet that a parameter server would have
//! sent at the end of the run.

use std::collections::BTreeMap;

use callgrove_detect::{Moments, RunStats};
use callgrove_overview::packet::{
    AnomalyMetrics, AnomalyStats, CounterStats, FuncAnomalies, MetricsData, Packet, RankAnomalies,
    StepAnomalies, VERSION,
};
use callgrove_provdb::{Collection, ProvDbError, Query, Store};
use callgrove_pserver::record::FuncStatsRecord;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The query for the columns that every store has for anomalies.
const ANOMALIES: &str = "select pid, rid, fid, func, io_step, entry, outlier_score, outlier_severity \
     from anomalies order by pid, rid, io_step, entry, fid";

/// The sums over some anomalies.
#[derive(Clone, Debug, Default)]
struct Sum {
    score: Moments,
    severity: Moments,
    /// Number of anomalies by step.
    steps: BTreeMap<u64, u64>,
    first_us: u64,
    last_us: u64,
}

impl Sum {
    fn add(&mut self, anomaly: &Anomaly) {
        if self.score.count() == 0 {
            self.first_us = anomaly.entry_us;
        }
        self.first_us = self.first_us.min(anomaly.entry_us);
        // A lower bound of the exit, which is only in the document.
        let exit_us = anomaly.entry_us.saturating_add(anomaly.severity as u64);
        self.last_us = self.last_us.max(exit_us);
        self.score.push(anomaly.score);
        self.severity.push(anomaly.severity);
        *self.steps.entry(anomaly.step).or_default() += 1;
    }

    /// Returns statistics of the number of anomalies per step, over the steps that have any.
    fn per_step(&self) -> RunStats {
        let mut moments = Moments::default();
        for &count in self.steps.values() {
            moments.push(count as f64);
        }
        moments.stats()
    }

    fn data(&self) -> MetricsData {
        let step = |step: Option<&u64>| step.copied().unwrap_or_default();
        MetricsData {
            first_io_step: step(self.steps.keys().next()),
            last_io_step: step(self.steps.keys().next_back()),
            max_timestamp_us: self.last_us,
            min_timestamp_us: self.first_us,
            severity: self.severity.stats(),
            score: self.score.stats(),
            count: self.per_step(),
        }
    }
}

struct Anomaly {
    app: u32,
    rank: u32,
    fid: u32,
    func: String,
    step: u64,
    entry_us: u64,
    score: f64,
    severity: f64,
}

impl Anomaly {
    /// Reads an anomaly; `None` if the row has unexpected values, as of another program.
    fn of(row: &[Value]) -> Option<Self> {
        let number = |column: usize| row.get(column)?.as_u64();
        let id = |column| u32::try_from(number(column)?).ok();
        Some(Self {
            app: id(0)?,
            rank: id(1)?,
            fid: id(2)?,
            func: row.get(3)?.as_str()?.to_owned(),
            step: number(4)?,
            entry_us: number(5)?,
            score: row.get(6)?.as_f64()?,
            severity: row.get(7)?.as_f64()?,
        })
    }
}

/// Returns one packet with all of the run, created at `now_ms` (Unix time).
///
/// # Errors
/// If the database cannot be queried.
pub fn packet(store: &mut dyn Store, now_ms: u64) -> Result<Packet, ProvDbError> {
    let table = store.find_plain_sql(ANOMALIES)?;
    let mut by_step: BTreeMap<(u32, u32), BTreeMap<u64, Sum>> = BTreeMap::new();
    let mut by_function: BTreeMap<(u32, u32, u32), (String, Sum)> = BTreeMap::new();
    for anomaly in table.rows.iter().filter_map(|row| Anomaly::of(row)) {
        let rank = by_step.entry((anomaly.app, anomaly.rank)).or_default();
        rank.entry(anomaly.step).or_default().add(&anomaly);
        let key = (anomaly.app, anomaly.rank, anomaly.fid);
        let of_function = by_function.entry(key).or_default();
        of_function.1.add(&anomaly);
        of_function.0 = anomaly.func;
    }
    let metrics = by_function
        .into_iter()
        .zip(0..)
        .map(|(((app, rank, fid), (fname, sum)), id)| {
            let data = sum.data();
            AnomalyMetrics {
                app,
                rank,
                fid,
                fname,
                _id: id,
                new_data: data.clone(),
                all_data: data,
            }
        });
    let functions = documents(store, Collection::FuncStats)?;
    let anomaly_stats = AnomalyStats {
        created_at: now_ms,
        anomaly: by_step.into_iter().map(of_rank).collect(),
        func: functions.into_iter().map(of_function).collect(),
    };
    let counters: Vec<CounterStats> = documents(store, Collection::CounterStats)?;
    Ok(Packet {
        version: VERSION,
        created_at: now_ms,
        run: store.run()?.unwrap_or_default(),
        anomaly_stats: Some(anomaly_stats),
        anomaly_metrics: metrics.collect(),
        counter_stats: (!counters.is_empty()).then_some(counters),
    })
}

fn of_rank(((app, rank), steps): ((u32, u32), BTreeMap<u64, Sum>)) -> RankAnomalies {
    let mut per_step = Moments::default();
    let data = steps.into_iter().map(|(step, sum)| {
        per_step.push(sum.score.count() as f64);
        StepAnomalies {
            app,
            max_timestamp_us: sum.last_us,
            min_timestamp_us: sum.first_us,
            n_anomalies: sum.score.count(),
            rank,
            step,
            outlier_scores: sum.score.stats(),
        }
    });
    RankAnomalies {
        data: data.collect(),
        key: format!("{app}:{rank}"),
        stats: per_step.stats(),
    }
}

/// Reads the documents of a collection; those that do not match the schema are skipped.
fn documents<T: DeserializeOwned>(
    store: &mut dyn Store,
    collection: Collection,
) -> Result<Vec<T>, ProvDbError> {
    let found = store.find(&Query::all(collection))?;
    let read = |json: &String| {
        let mut document: Value = serde_json::from_str(json).ok()?;
        document.as_object_mut()?.remove("__id");
        T::deserialize(document).ok()
    };
    Ok(found.iter().filter_map(read).collect())
}

fn of_function(record: FuncStatsRecord) -> FuncAnomalies {
    let anomalies = record.anomaly_metrics.map(|it| it.anomaly_count);
    FuncAnomalies {
        app: record.app,
        fid: record.fid,
        name: record.fname,
        exclusive: record.runtime_profile.exclusive_runtime,
        inclusive: record.runtime_profile.inclusive_runtime,
        stats: anomalies.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_beyond_32_bits_is_no_rank() {
        let row = |rank: u64| json!([0, rank, 2, "f", 3, u64::MAX, 1.0, 5.0]);
        let anomaly = |rank| Anomaly::of(row(rank).as_array().unwrap());
        assert_eq!(anomaly(7).unwrap().rank, 7);
        assert!(anomaly(7 + (1 << 32)).is_none());
        let mut sum = Sum::default();
        sum.add(&anomaly(7).unwrap());
        assert_eq!(sum.data().max_timestamp_us, u64::MAX);
    }
}
