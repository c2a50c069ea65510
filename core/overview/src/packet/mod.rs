//! The packets that the parameter server streams to viewers, as the Chimbuko schemas define them
//! ("Parameter Server Streaming Output"). Times of anomalies are microseconds since the epoch.
//!
//! The schema is here; `merge.rs` merges two packets, and `digest.rs` condenses one. The state of the server builds them (`state/packets.rs`).

mod digest;
mod merge;
mod merged_stats;

use callgrove_detect::RunStats;
use callgrove_model::RunIdentity;
use serde::{Deserialize, Serialize};

pub use digest::PacketDigest;
pub(crate) use digest::rounded;
pub(crate) use merged_stats::merged_metrics;
pub use merged_stats::merged_stats;

/// Version of the schema.
pub const VERSION: u32 = 2;

/// One packet: what is new since the previous packet, and totals over the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Packet {
    /// [`VERSION`].
    pub version: u32,
    /// Creation time in milliseconds since the epoch.
    pub created_at: u64,
    /// The run; empty if no AD instance has identified it.
    #[serde(skip_serializing_if = "RunIdentity::is_empty", default)]
    pub run: RunIdentity,
    /// Absent if no AD instance has sent anything since the previous packet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub anomaly_stats: Option<AnomalyStats>,
    /// One entry per program, rank and function with anomalies since the previous packet.
    pub anomaly_metrics: Vec<AnomalyMetrics>,
    /// Absent if no counter was ever reported.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counter_stats: Option<Vec<CounterStats>>,
}

/// Anomalies by rank and step, and by function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnomalyStats {
    /// Milliseconds since the epoch.
    pub created_at: u64,
    /// By rank, in order of program and rank; only ranks with data since the previous packet.
    pub anomaly: Vec<RankAnomalies>,
    /// By function, in order of program and function, over the run.
    pub func: Vec<FuncAnomalies>,
}

/// Anomalies of one rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankAnomalies {
    /// One entry for each I/O step since the previous packet.
    pub data: Vec<StepAnomalies>,
    /// `program:rank`.
    pub key: String,
    /// Anomalies per step over the run: `accumulate` is their number, `count` that of the steps.
    pub stats: RunStats,
}

/// Anomalies of one I/O step of one rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepAnomalies {
    /// Program.
    pub app: u32,
    /// Exit time of the latest anomaly in the step; 0 without one.
    #[serde(rename = "max_timestamp")]
    pub max_timestamp_us: u64,
    /// Entry time of the earliest anomaly in the step; 0 without one.
    #[serde(rename = "min_timestamp")]
    pub min_timestamp_us: u64,
    /// Number of anomalies.
    pub n_anomalies: u64,
    /// Rank.
    pub rank: u32,
    /// I/O step.
    pub step: u64,
    /// Scores of the anomalies.
    pub outlier_scores: RunStats,
}

/// Profile and anomalies of one function over the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FuncAnomalies {
    /// Program.
    pub app: u32,
    /// Global index of the function.
    pub fid: u32,
    /// Name.
    pub name: String,
    /// Exclusive runtime in microseconds.
    pub exclusive: RunStats,
    /// Inclusive runtime in microseconds.
    pub inclusive: RunStats,
    /// Anomalies per step.
    pub stats: RunStats,
}

/// Anomalies of one function on one rank of one program.
#[expect(
    clippy::pub_underscore_fields,
    reason = "`_id` is the schema's own name"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnomalyMetrics {
    /// Program.
    pub app: u32,
    /// Rank.
    pub rank: u32,
    /// Global index of the function.
    pub fid: u32,
    /// Name.
    pub fname: String,
    /// Index of this (program, rank, function), the same in every packet of the run.
    pub _id: u64,
    /// New data since the previous packet.
    pub new_data: MetricsData,
    /// Since the beginning of the run.
    pub all_data: MetricsData,
}

/// Count, score and severity of anomalies over some steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricsData {
    /// First step with an anomaly.
    pub first_io_step: u64,
    /// Last step with an anomaly.
    pub last_io_step: u64,
    /// Exit time of the latest anomaly.
    #[serde(rename = "max_timestamp")]
    pub max_timestamp_us: u64,
    /// Entry time of the earliest anomaly.
    #[serde(rename = "min_timestamp")]
    pub min_timestamp_us: u64,
    /// Severity, in microseconds.
    pub severity: RunStats,
    /// Score.
    pub score: RunStats,
    /// Number of anomalies per step that has any.
    pub count: RunStats,
}

/// One counter over all ranks since the beginning of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterStats {
    /// Program.
    pub app: u32,
    /// Name.
    pub counter: String,
    /// Values, in the counter's unit.
    pub stats: RunStats,
}
