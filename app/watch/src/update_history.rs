//! The history of the updates with their anomalies.

use std::collections::{BTreeMap, VecDeque};

use callgrove_pserver::packet::{MetricsData, Packet};

/// Largest number of stored updates: over an hour at one per second.
const MAX_ENTRIES: usize = 4_096;

/// The latest updates.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct UpdateHistory {
    /// One entry for each packet, oldest first.
    pub entries: VecDeque<UpdateEntry>,
    /// The newest values of each (program, rank, function).
    pub recent: BTreeMap<(u32, u32, u32), RecentMetrics>,
}

/// The content of one packet.
#[derive(Clone, PartialEq, Debug)]
pub struct UpdateEntry {
    /// Time of its creation, in milliseconds since the epoch.
    pub created_at_ms: u64,
    /// Number of anomalies.
    pub num_anomalies: u64,
    /// Number of ranks with anomalies.
    pub num_ranks: u64,
    /// Anomalies by (program, function), in that order; only functions with anomalies.
    pub by_func: Vec<((u32, u32), u64)>,
    /// Anomalies by (program, rank), in that order; only ranks with anomalies.
    pub by_rank: Vec<((u32, u32), u64)>,
}

/// The newest values of one function on one rank.
#[derive(Clone, PartialEq, Debug)]
pub struct RecentMetrics {
    /// Time of their packet, in milliseconds since the epoch.
    pub created_at_ms: u64,
    /// Count, score and severity of the new anomalies.
    pub metrics: MetricsData,
}

impl UpdateHistory {
    /// Adds the content of a packet.
    pub fn push(&mut self, packet: &Packet) {
        let mut by_func: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for entry in &packet.anomaly_metrics {
            let count = entry.new_data.count.accumulate.max(0.0).round() as u64;
            *by_func.entry((entry.app, entry.fid)).or_default() += count;
            let recent = RecentMetrics {
                created_at_ms: packet.created_at,
                metrics: entry.new_data.clone(),
            };
            self.recent
                .insert((entry.app, entry.rank, entry.fid), recent);
        }
        let mut by_rank: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let ranks = packet.anomaly_stats.iter().flat_map(|stats| &stats.anomaly);
        for step in ranks.flat_map(|rank| &rank.data) {
            *by_rank.entry((step.app, step.rank)).or_default() += step.n_anomalies;
        }
        by_rank.retain(|_, count| *count > 0);
        if self.entries.len() == MAX_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(UpdateEntry {
            created_at_ms: packet.created_at,
            num_anomalies: by_rank.values().sum(),
            num_ranks: by_rank.len() as u64,
            by_func: by_func.into_iter().collect(),
            by_rank: by_rank.into_iter().collect(),
        });
    }
}
