//! The documents of the provenance database's global collections, field by field as their schemas name them. Every time and
//! duration is in microseconds, the unit of those schemas. The store adds `__id`.
//!
//! What the collection `counter_stats` has is a [`CounterStats`](crate::packet::CounterStats).

use callgrove_detect::RunStats;
use callgrove_patterns::cause::{CauseKind, WaitKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of the schema of incidents.
pub const INCIDENT_VERSION: u32 = 2;
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
    /// None if it never was anomalous.
    pub anomaly_metrics: Option<FuncAnomalyMetrics>,
    /// How long it took.
    pub runtime_profile: RuntimeProfile,
}

/// The anomalies of a function over the run: what packets call [`MetricsData`](crate::packet::MetricsData), where this schema has
/// another name for the number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FuncAnomalyMetrics {
    /// Number per step with anomalies.
    pub anomaly_count: RunStats,
    /// First step with an anomaly.
    pub first_io_step: u64,
    /// Last step with an anomaly.
    pub last_io_step: u64,
    /// Latest time of an anomaly (exit).
    #[serde(rename = "max_timestamp")]
    pub max_timestamp_us: u64,
    /// Earliest time of an anomaly (entry).
    #[serde(rename = "min_timestamp")]
    pub min_timestamp_us: u64,
    /// Score.
    pub score: RunStats,
    /// Severity.
    pub severity: RunStats,
}

/// How long the executions of a function took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimeProfile {
    /// Without their children.
    pub exclusive_runtime: RunStats,
    /// With their children.
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
    /// Statistics or a histogram, as `algo_params` of executions has it.
    pub model: Value,
}

/// Executions of several ranks that stalled together: a document of `incidents`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentRecord {
    /// [`INCIDENT_VERSION`].
    pub version: u32,
    /// What names it in its program: the label of one of its executions.
    pub incident_id: String,
    /// The incident that it turned out to be part of, which has its executions.
    pub joined_to: Option<String>,
    /// Program.
    pub pid: u32,
    /// The last I/O step in which one of its executions was reported.
    pub io_step: u64,
    /// The first delay begins.
    pub start: u64,
    /// The last delay ends.
    pub end: u64,
    /// What kind of cause it has. Documents of version 1 have other names for three of them.
    pub kind: CauseKind,
    /// Rank of the root; none where it is unknown, or no rank's doing.
    pub rid: Option<u32>,
    /// Global index of the function of the root's execution; none if that was not reported.
    pub fid: Option<u32>,
    /// Its name.
    pub func: Option<String>,
    /// Label of the root's execution.
    pub event_id: Option<String>,
    /// How long the root stalled, or how much it was late: µs. `stood` in documents of version 1.
    #[serde(alias = "stood")]
    pub own_delay: Option<u64>,
    /// In how many of a hundred such cases the root is the right one; none in documents of version 1.
    #[serde(default)]
    pub confidence: Option<u8>,
    /// The rank that it is if it is not `rid`; where `rid` is null, the likeliest one.
    #[serde(default)]
    pub next_best: Option<u32>,
    /// The host that was busy.
    #[serde(default)]
    pub host: Option<String>,
    /// How long all ranks together were held up, the root's own delay among it.
    pub delay: u64,
    /// Number of `members`.
    pub num_executions: usize,
    /// How many of them the detector found.
    pub num_anomalies: usize,
    /// Number of `ranks`.
    pub num_ranks: usize,
    /// Those of members and root, ascending.
    pub ranks: Vec<u32>,
    /// Labels of the executions, in the order in which they began to stall.
    pub members: Vec<String>,
    /// Who waited for whom.
    pub hops: Vec<IncidentHopRecord>,
    /// Messages of which both ends are known.
    pub messages: Vec<IncidentMessageRecord>,
}

/// An execution of an incident that waited for another rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentHopRecord {
    /// Its rank.
    pub rid: u32,
    /// Its label.
    pub event_id: String,
    /// Global index of its function.
    pub fid: u32,
    /// Name of its function.
    pub func: String,
    /// How long it waited.
    pub waited: u64,
    /// How it waited.
    pub kind: WaitKind,
    /// The rank that it waited for.
    pub peer_rid: u32,
    /// Label of the execution there.
    pub peer_event_id: Option<String>,
    /// Place in the messages of the incident; none where it waited for no message that is known.
    pub message: Option<usize>,
}

/// A message of which both ends are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentMessageRecord {
    /// Rank that sent it.
    pub src: u32,
    /// Rank that received it.
    pub tar: u32,
    /// Tag.
    pub tag: u64,
    /// How many messages with the same sender, receiver and tag came before it.
    pub number: u64,
    /// When it was sent, and in which execution.
    pub sent: MessageEnd,
    /// When it was received, and in which execution.
    pub received: MessageEnd,
}

/// One end of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageEnd {
    /// Time.
    #[serde(rename = "timestamp")]
    pub timestamp_us: u64,
    /// Label of the execution; none outside every function.
    pub event_id: Option<String>,
}

/// A persistent or slow change of the run: a document of `trends`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrendRecord {
    /// [`TREND_VERSION`].
    pub version: u32,
    /// What names it in its program: kind, function and first rank.
    pub trend_id: String,
    /// Program.
    pub pid: u32,
    /// `slow`, `growth` or `change`.
    pub kind: String,
    /// Whether the steps so far still show it.
    pub holds: bool,
    /// Last I/O step that was looked at.
    pub io_step: u64,
    /// Number of `ranks`.
    pub num_ranks: usize,
    /// The ranks that it is on, ascending.
    pub ranks: Vec<u32>,
    /// Their host, where the run has several and all are on one.
    pub host: Option<String>,
    /// Global index of the function in which it costs most.
    pub fid: u32,
    /// Its name.
    pub func: String,
    /// Names of other functions with the same finding.
    pub other_funcs: Vec<String>,
    /// The usual own time of a call: on these ranks, at the end, or afterwards.
    pub own: f64,
    /// What it is compared with: that of the peers, at the start, or before.
    pub usual: f64,
    /// The ratio of the two; none if the latter is 0.
    pub factor: Option<f64>,
    /// When a change began; none for the other kinds.
    pub start: Option<i64>,
    /// Other ranks that call the function.
    pub peers: Vec<u32>,
    /// The time that it costs on all its ranks and in all its functions.
    pub cost: i64,
    /// How many times larger than the spread, or its standard error, the difference is.
    pub evidence: f64,
    /// Why it may be no fault; none if nothing suggests that.
    pub doubt: Option<String>,
    /// The finding as a sentence.
    pub words: String,
}
