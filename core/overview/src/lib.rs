//! The state of a run as a monitoring client knows it: the combined content of all packets so far.
//!
//! [`Overview::apply`] takes packets one by one. Statistics over the run are complete in every packet and replace older
//! ones; anomalies per step come once and are collected in a [`StepHistory`]. The result does not depend on how steps
//! are distributed over packets, nor on their order; a duplicate packet changes nothing.
//!
//! Everything is in sorted vectors, so that it can be sent as JSON and searched by bisection.

#![cfg_attr(
    not(test),
    warn(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_lossless
    )
)]

mod condensed;
mod history;
pub mod packet;
mod rank_blocks;
mod rank_groups;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_detect::RunStats;
use callgrove_model::RunIdentity;
use serde::{Deserialize, Serialize};

pub use condensed::NUM_TOP;
pub use history::{MAX_FOLDED, RECENT_STEPS, StepHistory, StepSpan};
pub use packet::merged_stats;
use packet::{
    AnomalyMetrics, AnomalyStats, CounterStats, FuncAnomalies, MetricsData, Packet, RankAnomalies,
    merged_metrics, rounded,
};
pub use rank_blocks::{MAX_BLOCKS, MAX_LISTED_RANKS, RankBlock, RankBlocks, RankRange};

/// Number of ranks that keep the last [`RECENT_STEPS`] steps and [`MAX_FOLDED`] spans each. Of more ranks, recent steps
/// are fewer and older spans wider, for all ranks alike, so that a heat map of them has columns of equal width.
const RANKS_IN_FULL: usize = 512;
/// Maximum number of spans in the histories of all ranks together, of 48 bytes each.
const MAX_SPANS: usize = RANKS_IN_FULL * (4_096 + MAX_FOLDED);
/// Maximum log2 of the width of a span.
const MAX_FOLD_SHIFT: u32 = 63;

/// The host of each rank that has reported one, by program and rank. Packets do not have them.
pub type RankHosts = BTreeMap<(u32, u32), Arc<str>>;

/// The combined content of all packets of a run so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overview {
    /// Creation time of the newest packet, in milliseconds since the epoch; 0 before the first.
    pub last_packet_ms: u64,
    /// The run; empty before the first packet that identifies it.
    pub run: RunIdentity,
    /// Number of entries without a program and rank, which were left out.
    pub num_unreadable: u64,
    /// By program and rank. If there are `blocks`, only those with the most anomalies.
    pub ranks: Vec<RankOverview>,
    /// By program and function.
    pub funcs: Vec<FuncOverview>,
    /// By program, rank and function; only those with anomalies.
    pub metrics: Vec<FuncOnRank>,
    /// Number of metrics that were left out, since they have fewer anomalies.
    #[serde(skip_serializing_if = "history::is_zero")]
    pub num_omitted_metrics: u32,
    /// By program and name.
    pub counters: Vec<CounterStats>,
    /// Log2 of the minimum width of the spans of older steps; 0 unless the job has many ranks.
    #[serde(skip_serializing_if = "history::is_zero")]
    fold_shift: u32,
    /// All ranks in blocks; absent unless this is the overview of a job with many ranks for viewers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<RankBlocks>,
}

/// One rank of one program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankOverview {
    /// Program.
    pub app: u32,
    /// Rank.
    pub rank: u32,
    /// Anomalies per step over the run: `accumulate` is their number, `count` that of the steps.
    pub anomalies: RunStats,
    /// Anomalies of each step.
    pub history: StepHistory,
    /// Count, score and severity over all functions.
    pub metrics: MetricsData,
}

/// One function of one program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FuncOverview {
    /// Program.
    pub app: u32,
    /// Global index of the function.
    pub fid: u32,
    /// Name, as the tracing library writes it.
    pub name: String,
    /// Exclusive runtime in microseconds.
    pub exclusive: RunStats,
    /// Inclusive runtime in microseconds.
    pub inclusive: RunStats,
    /// Anomalies per step over the run: `accumulate` is their number.
    pub anomalies: RunStats,
    /// Count, score and severity over all ranks.
    pub metrics: MetricsData,
}

/// One function on one rank of one program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FuncOnRank {
    /// Program.
    pub app: u32,
    /// Rank.
    pub rank: u32,
    /// Global index of the function.
    pub fid: u32,
    /// Count, score and severity since the beginning of the run.
    pub metrics: MetricsData,
}

impl Overview {
    /// Applies a packet.
    pub fn apply(&mut self, packet: &Packet) {
        self.last_packet_ms = self.last_packet_ms.max(packet.created_at);
        if !packet.run.is_empty() {
            self.run.clone_from(&packet.run);
        }
        self.insert_ranks(packet);
        if let Some(stats) = &packet.anomaly_stats {
            self.apply_anomalies(stats);
            self.bound_histories();
        }
        self.apply_metrics(&packet.anomaly_metrics);
        for counter in packet.counter_stats.iter().flatten() {
            let key = (counter.app, counter.counter.as_str());
            let place = self
                .counters
                .binary_search_by(|known| (known.app, known.counter.as_str()).cmp(&key));
            match place {
                Ok(at) => self.counters[at].stats = counter.stats,
                Err(at) => self.counters.insert(at, counter.clone()),
            }
        }
    }

    /// Returns a rank, if it is known.
    pub fn rank(&self, app: u32, rank: u32) -> Option<&RankOverview> {
        let place = self
            .ranks
            .binary_search_by_key(&(app, rank), |known| (known.app, known.rank));
        place.ok().map(|at| &self.ranks[at])
    }

    /// Returns a function, if it is known.
    pub fn func(&self, app: u32, fid: u32) -> Option<&FuncOverview> {
        let place = self
            .funcs
            .binary_search_by_key(&(app, fid), |known| (known.app, known.fid));
        place.ok().map(|at| &self.funcs[at])
    }

    /// Returns the number of anomalies of all ranks since the beginning of the run.
    pub fn num_anomalies(&self) -> u64 {
        if let Some(blocks) = &self.blocks {
            return blocks.blocks.iter().map(|block| block.num_anomalies).sum();
        }
        let totals = self.ranks.iter().map(|rank| rank.anomalies.accumulate);
        rounded(totals.sum())
    }

    /// Returns the fraction of all anomalies that a function has, 0 to 1; 0 without anomalies.
    pub fn share_of_anomalies(&self, func: &FuncOverview) -> f64 {
        let total: f64 = self
            .funcs
            .iter()
            .map(|func| func.anomalies.accumulate)
            .sum();
        if total > 0.0 {
            func.anomalies.accumulate / total
        } else {
            0.0
        }
    }

    /// Returns the first and last step that any rank has reported.
    pub fn steps(&self) -> Option<(u64, u64)> {
        let in_blocks = || self.blocks.iter().flat_map(|blocks| &blocks.blocks);
        let of_ranks = || self.ranks.iter().filter_map(|rank| rank.history.reported());
        let reported = || of_ranks().chain(in_blocks().filter_map(|block| block.reported));
        let first = reported().map(|(first, _)| first).min()?;
        let last = reported().map(|(_, last)| last).max()?;
        Some((first, last))
    }

    /// Adds the ranks that a packet is the first to name, all at once, since an insertion moves all that follow.
    fn insert_ranks(&mut self, packet: &Packet) {
        let entries = packet.anomaly_stats.iter().flat_map(|it| &it.anomaly);
        let of_metrics = packet.anomaly_metrics.iter();
        let keys: BTreeSet<(u32, u32)> = entries
            .filter_map(program_and_rank)
            .chain(of_metrics.map(|entry| (entry.app, entry.rank)))
            .filter(|&(app, rank)| self.rank(app, rank).is_none())
            .collect();
        if keys.is_empty() {
            return;
        }
        let new = keys.into_iter().map(|(app, rank)| RankOverview {
            app,
            rank,
            ..RankOverview::default()
        });
        self.ranks.extend(new);
        self.ranks.sort_by_key(|rank| (rank.app, rank.rank));
        self.coarsen();
    }

    /// Widens the spans of older steps until those of all ranks fit into memory.
    fn bound_histories(&mut self) {
        let num_spans = |ranks: &[RankOverview]| -> usize {
            ranks.iter().map(|rank| rank.history.num_spans()).sum()
        };
        while num_spans(&self.ranks) > MAX_SPANS && self.fold_shift < MAX_FOLD_SHIFT {
            self.fold_shift += 1;
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        let share = self.ranks.len().div_ceil(RANKS_IN_FULL);
        let narrowing = share.next_power_of_two().ilog2();
        if narrowing > 0 {
            for rank in &mut self.ranks {
                rank.history.coarsen(narrowing, self.fold_shift);
            }
        }
    }

    fn apply_anomalies(&mut self, stats: &AnomalyStats) {
        for entry in &stats.anomaly {
            let key = program_and_rank(entry);
            let Some(known) = key.and_then(|(app, rank)| self.rank_mut(app, rank)) else {
                self.num_unreadable += 1;
                continue;
            };
            known.anomalies = entry.stats;
            for step in &entry.data {
                known.history.report(step);
            }
        }
        for FuncAnomalies {
            app,
            fid,
            name,
            exclusive,
            inclusive,
            stats,
        } in &stats.func
        {
            let known = self.func_mut(*app, *fid, name);
            known.exclusive = *exclusive;
            known.inclusive = *inclusive;
            known.anomalies = *stats;
        }
    }

    /// Replaces the totals by rank and function, and recomputes the sums that changed.
    fn apply_metrics(&mut self, metrics: &[AnomalyMetrics]) {
        let mut ranks = BTreeSet::new();
        let mut funcs = BTreeSet::new();
        let mut new: Vec<FuncOnRank> = Vec::new();
        for entry in metrics {
            let key = (entry.app, entry.rank, entry.fid);
            let place = self
                .metrics
                .binary_search_by_key(&key, |known| (known.app, known.rank, known.fid));
            match place {
                Ok(at) => self.metrics[at].metrics = entry.all_data.clone(),
                Err(_) => new.push(FuncOnRank {
                    app: entry.app,
                    rank: entry.rank,
                    fid: entry.fid,
                    metrics: entry.all_data.clone(),
                }),
            }
            if let Some(rank) = self.rank_mut(entry.app, entry.rank) {
                rank.metrics = MetricsData::default();
            }
            self.func_mut(entry.app, entry.fid, &entry.fname).metrics = MetricsData::default();
            ranks.insert((entry.app, entry.rank));
            funcs.insert((entry.app, entry.fid));
        }
        if metrics.is_empty() {
            return;
        }
        if !new.is_empty() {
            // The later of two entries for the same rank and function counts.
            new.reverse();
            self.metrics.append(&mut new);
            let key = |known: &FuncOnRank| (known.app, known.rank, known.fid);
            self.metrics.sort_by_key(key);
            self.metrics.dedup_by_key(|known| key(known));
        }
        let all = std::mem::take(&mut self.metrics);
        for known in &all {
            if ranks.contains(&(known.app, known.rank))
                && let Some(rank) = self.rank_mut(known.app, known.rank)
            {
                rank.metrics = merged_metrics(&rank.metrics, &known.metrics);
            }
            if funcs.contains(&(known.app, known.fid)) {
                let func = self.func_mut(known.app, known.fid, "");
                func.metrics = merged_metrics(&func.metrics, &known.metrics);
            }
        }
        self.metrics = all;
    }

    /// Returns a rank that the packet named.
    fn rank_mut(&mut self, app: u32, rank: u32) -> Option<&mut RankOverview> {
        let place = self
            .ranks
            .binary_search_by_key(&(app, rank), |known| (known.app, known.rank));
        place.ok().map(|at| &mut self.ranks[at])
    }

    /// Returns the function, and sets its name if one is given.
    fn func_mut(&mut self, app: u32, fid: u32, name: &str) -> &mut FuncOverview {
        let place = self
            .funcs
            .binary_search_by_key(&(app, fid), |known| (known.app, known.fid));
        let at = place.unwrap_or_else(|at| {
            let new = FuncOverview {
                app,
                fid,
                ..FuncOverview::default()
            };
            self.funcs.insert(at, new);
            at
        });
        let known = &mut self.funcs[at];
        if !name.is_empty() && known.name != name {
            name.clone_into(&mut known.name);
        }
        known
    }
}

/// Returns program and rank of an entry: from its key `program:rank`, or else from its first step.
fn program_and_rank(entry: &RankAnomalies) -> Option<(u32, u32)> {
    let by_key = || {
        let (app, rank) = entry.key.split_once(':')?;
        Some((app.parse().ok()?, rank.parse().ok()?))
    };
    by_key().or_else(|| entry.data.first().map(|step| (step.app, step.rank)))
}

#[cfg(test)]
mod block_tests;
#[cfg(test)]
mod tests;
