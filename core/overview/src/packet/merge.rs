//! Merges two packets into one, for when the first could not be sent.

use std::collections::BTreeMap;

use super::merged_stats::merged_metrics;
use super::{AnomalyMetrics, AnomalyStats, Packet, RankAnomalies};

/// Maximum number of steps in a merged packet; older ones are in the totals only.
const MAX_STEPS: usize = 1 << 16;

impl Packet {
    /// Merges this packet with the next one of the same server: totals are the newer ones, and new data are
    /// concatenated.
    #[must_use]
    pub fn followed_by(self, next: Self) -> Self {
        Self {
            version: next.version,
            created_at: next.created_at,
            run: next.run,
            anomaly_stats: match (self.anomaly_stats, next.anomaly_stats) {
                (Some(older), Some(newer)) => Some(joined_stats(older, newer)),
                (older, newer) => newer.or(older),
            },
            anomaly_metrics: joined_metrics(self.anomaly_metrics, next.anomaly_metrics),
            counter_stats: next.counter_stats.or(self.counter_stats),
        }
    }
}

fn joined_stats(older: AnomalyStats, newer: AnomalyStats) -> AnomalyStats {
    let mut ranks: BTreeMap<(u64, u64), RankAnomalies> = BTreeMap::new();
    for mut rank in older.anomaly.into_iter().chain(newer.anomaly) {
        let place = ranks
            .entry(sort_key(&rank.key))
            .or_insert_with(|| RankAnomalies {
                data: Vec::new(),
                ..rank.clone()
            });
        place.stats = rank.stats;
        place.data.append(&mut rank.data);
    }
    let num_steps: usize = ranks.values().map(|rank| rank.data.len()).sum();
    if num_steps > MAX_STEPS {
        let max_per_rank = (MAX_STEPS / ranks.len()).max(1);
        for rank in ranks.values_mut() {
            let num_dropped = rank.data.len().saturating_sub(max_per_rank);
            rank.data.drain(..num_dropped);
        }
    }
    AnomalyStats {
        created_at: newer.created_at,
        anomaly: ranks.into_values().collect(),
        func: newer.func,
    }
}

/// Returns program and rank of a key `program:rank`.
fn sort_key(key: &str) -> (u64, u64) {
    let (program, rank) = key.split_once(':').unwrap_or((key, ""));
    let number = |text: &str| text.parse().unwrap_or(u64::MAX);
    (number(program), number(rank))
}

fn joined_metrics(older: Vec<AnomalyMetrics>, newer: Vec<AnomalyMetrics>) -> Vec<AnomalyMetrics> {
    let mut joined: BTreeMap<(u32, u32, u32), AnomalyMetrics> = BTreeMap::new();
    for mut metrics in older.into_iter().chain(newer) {
        let key = (metrics.app, metrics.rank, metrics.fid);
        if let Some(before) = joined.get(&key) {
            metrics.new_data = merged_metrics(&before.new_data, &metrics.new_data);
        }
        joined.insert(key, metrics);
    }
    joined.into_values().collect()
}
