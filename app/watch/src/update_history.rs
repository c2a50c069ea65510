//! The history of the updates with their anomalies.

use std::collections::{BTreeMap, VecDeque};

use callgrove_overview::packet::{MetricsData, PacketDigest};

/// Largest number of stored updates: over an hour at one per second.
const MAX_ENTRIES: usize = 4_096;
/// Largest number of stored pairs of a rank and a function, next to those of the last update.
const MAX_RECENT: usize = 1 << 16;

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
    /// Anomalies by (program, rank), in that order; only ranks with anomalies, and of many ranks those with most.
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
    pub fn push(&mut self, packet: PacketDigest) {
        let created_at_ms = packet.created_at;
        for (key, metrics) in packet.metrics {
            let recent = RecentMetrics {
                created_at_ms,
                metrics,
            };
            self.recent.insert(key, recent);
        }
        if self.recent.len() > MAX_RECENT {
            self.drop_oldest(created_at_ms);
        }
        if self.entries.len() == MAX_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(UpdateEntry {
            created_at_ms,
            num_anomalies: packet.num_anomalies,
            num_ranks: packet.num_ranks,
            by_func: packet.by_func,
            by_rank: packet.by_rank,
        });
    }

    /// Forgets the older half of the newest values, but none of the last update.
    fn drop_oldest(&mut self, last_ms: u64) {
        let mut times: Vec<u64> = self.recent.values().map(|it| it.created_at_ms).collect();
        let middle = times.len() / 2;
        let middle_ms = *times.select_nth_unstable(middle).1;
        self.recent
            .retain(|_, it| it.created_at_ms > middle_ms || it.created_at_ms >= last_ms);
    }
}
