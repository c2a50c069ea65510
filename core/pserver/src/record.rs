//! The documents of the provenance database's global collections but `incidents` (`core/incidents`), with the field
//! names of their schemas. All times and durations are in microseconds, the unit of those schemas. The store adds
//! `__id`.
//!
//! The documents of the collection `counter_stats` are [`CounterStats`](callgrove_overview::packet::CounterStats).

use callgrove_detect::RunStats;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of the schema of trends.
pub const TREND_VERSION: u32 = 1;

/// Profile and anomalies of one function over the run: a document of `func_stats`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FuncStatsRecord {
    /// Program.
    pub app: u32,
    /// Global index of the function.
    pub fid: u32,
    /// Its name.
    pub fname: String,
    /// `None` if it never was anomalous.
    pub anomaly_metrics: Option<FuncAnomalyMetrics>,
    /// Runtimes of its executions.
    pub runtime_profile: RuntimeProfile,
}

/// The anomalies of a function over the run: the [`MetricsData`](callgrove_overview::packet::MetricsData) of packets, but the number
/// of anomalies has another name in this schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FuncAnomalyMetrics {
    /// Number of anomalies per step that has any.
    pub anomaly_count: RunStats,
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
    /// Score.
    pub score: RunStats,
    /// Severity.
    pub severity: RunStats,
}

/// Runtimes of the executions of a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimeProfile {
    /// Exclusive runtime, without children.
    pub exclusive_runtime: RunStats,
    /// Inclusive runtime, with children.
    pub inclusive_runtime: RunStats,
}

/// The model of one function: a document of `ad_model`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdModelRecord {
    /// Program.
    pub pid: u32,
    /// Global index of the function.
    pub fid: u32,
    /// Its name.
    pub func_name: String,
    /// Statistics or a histogram, in the form of `algo_params` of executions.
    pub model: Value,
}

/// A persistent or slow change of the run: a document of `trends`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrendRecord {
    /// [`TREND_VERSION`].
    pub version: u32,
    /// Its identifier in its program: kind, function and first rank.
    pub trend_id: String,
    /// Program.
    pub pid: u32,
    /// `slow`, `growth` or `change`.
    pub kind: String,
    /// True if the latest steps still show it.
    pub holds: bool,
    /// Last I/O step that was analysed.
    pub io_step: u64,
    /// Number of `ranks`.
    pub num_ranks: usize,
    /// The affected ranks, ascending.
    pub ranks: Vec<u32>,
    /// Host of all affected ranks, if it is a single one of several in the run.
    pub host: Option<String>,
    /// Global index of the function with the highest cost.
    pub fid: u32,
    /// Its name.
    pub func: String,
    /// Names of other functions with the same finding.
    pub other_funcs: Vec<String>,
    /// Usual exclusive time of a call: on these ranks, at the end, or after the change.
    pub own: f64,
    /// The exclusive time that it is compared with: that of the peers, at the start, or before the change.
    pub usual: f64,
    /// Ratio of the two; `None` if the latter is 0.
    pub factor: Option<f64>,
    /// Start of a change; `None` for the other kinds.
    pub start: Option<i64>,
    /// Other ranks that call the function.
    pub peers: Vec<u32>,
    /// Its cost in time, over all its ranks and functions.
    pub cost: i64,
    /// The difference as a multiple of the spread, or of its standard error.
    pub evidence: f64,
    /// Why it may be harmless; `None` without such a reason.
    pub doubt: Option<String>,
    /// The finding as a sentence.
    pub words: String,
}
