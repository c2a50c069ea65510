//! What is new in a packet, in numbers that do not grow with the job.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{AnomalyMetrics, MetricsData, Packet};

/// Largest number of ranks that are listed.
const MAX_RANKS: usize = 200;
/// Largest number of pairs of a rank and a function that are listed.
const MAX_METRICS: usize = 50;

/// What is new in a packet of a job with many ranks. The totals of the run come as an overview.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PacketDigest {
    /// Creation time of the packet in milliseconds since the epoch.
    pub created_at: u64,
    /// Number of new anomalies.
    pub num_anomalies: u64,
    /// Number of ranks that have them.
    pub num_ranks: u64,
    /// Number of pairs of a rank and a function that have them.
    pub num_metrics: u64,
    /// New anomalies of each (program, function), in that order.
    pub by_func: Vec<((u32, u32), u64)>,
    /// New anomalies of each (program, rank), in that order; only the ranks with most.
    pub by_rank: Vec<((u32, u32), u64)>,
    /// New anomalies of each (program, rank, function), in that order; only those with the greatest severity.
    pub metrics: Vec<((u32, u32, u32), MetricsData)>,
}

impl PacketDigest {
    /// Returns the digest of a packet.
    pub fn of(packet: &Packet) -> Self {
        let (mut digest, mut metrics) = Self::counted(packet);
        metrics.sort_by(|a, b| {
            let severity = |it: &AnomalyMetrics| it.new_data.severity.accumulate;
            severity(b).total_cmp(&severity(a))
        });
        metrics.truncate(MAX_METRICS);
        metrics.sort_by_key(|it| (it.app, it.rank, it.fid));
        let metrics = metrics.into_iter();
        digest.metrics = metrics
            .map(|it| ((it.app, it.rank, it.fid), it.new_data.clone()))
            .collect();
        digest.by_rank.sort_by_key(|(_, new)| Reverse(*new));
        digest.by_rank.truncate(MAX_RANKS);
        digest.by_rank.sort_unstable();
        digest
    }

    /// Returns the digest of a packet of any size, in which nothing is left out.
    pub fn complete(packet: &Packet) -> Self {
        let (mut digest, metrics) = Self::counted(packet);
        // The later of two entries for the same rank and function counts.
        let metrics: BTreeMap<(u32, u32, u32), MetricsData> = metrics
            .into_iter()
            .map(|it| ((it.app, it.rank, it.fid), it.new_data.clone()))
            .collect();
        digest.metrics = metrics.into_iter().collect();
        digest
    }

    /// Returns the digest without metrics, and the entries with these.
    fn counted(packet: &Packet) -> (Self, Vec<&AnomalyMetrics>) {
        let mut by_func: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for entry in &packet.anomaly_metrics {
            let new = rounded(entry.new_data.count.accumulate);
            *by_func.entry((entry.app, entry.fid)).or_default() += new;
        }
        let mut by_rank: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let ranks = packet.anomaly_stats.iter().flat_map(|stats| &stats.anomaly);
        for step in ranks.flat_map(|rank| &rank.data) {
            *by_rank.entry((step.app, step.rank)).or_default() += step.n_anomalies;
        }
        by_rank.retain(|_, new| *new > 0);
        let new: Vec<&AnomalyMetrics> = packet.anomaly_metrics.iter().collect();
        let pairs: BTreeSet<_> = new.iter().map(|it| (it.app, it.rank, it.fid)).collect();
        let count = |len: usize| u64::try_from(len).unwrap_or(u64::MAX);
        let digest = Self {
            created_at: packet.created_at,
            num_anomalies: by_rank.values().sum(),
            num_ranks: count(by_rank.len()),
            num_metrics: count(pairs.len()),
            by_func: by_func.into_iter().collect(),
            by_rank: by_rank.into_iter().collect(),
            metrics: Vec::new(),
        };
        (digest, new)
    }
}

/// Returns a sum of counts as a count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a sum of counts; otherwise the nearest count"
)]
pub(crate) fn rounded(total: f64) -> u64 {
    total.round() as u64
}
