//! The documents of the provenance database's global collections, with the field names of their schemas. All times and
//! durations are in microseconds, the unit of those schemas. The store adds `__id`.
//!
//! The documents of the collection `counter_stats` are [`CounterStats`](crate::packet::CounterStats).

use callgrove_causes::{CauseKind, WaitKind};
use callgrove_detect::RunStats;
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
    /// `None` if it never was anomalous.
    pub anomaly_metrics: Option<FuncAnomalyMetrics>,
    /// Runtimes of its executions.
    pub runtime_profile: RuntimeProfile,
}

/// The anomalies of a function over the run: the [`MetricsData`](crate::packet::MetricsData) of packets, but the number
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

/// Executions of several ranks that stalled together: a document of `incidents`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentRecord {
    /// [`INCIDENT_VERSION`].
    pub version: u32,
    /// Its identifier in its program: the label of one of its executions.
    pub incident_id: String,
    /// The incident that contains its executions, if they turned out to be one.
    pub joined_to: Option<String>,
    /// Program.
    pub pid: u32,
    /// The last I/O step in which one of its executions was reported.
    pub io_step: u64,
    /// Start of the first delay.
    pub start: u64,
    /// End of the last delay.
    pub end: u64,
    /// The kind of cause. Documents of version 1 have other names for three of them.
    pub kind: CauseKind,
    /// Rank of the root; `None` if it is unknown, or no single rank is the cause.
    pub rid: Option<u32>,
    /// Global index of the function of the root's execution; `None` if that was not reported.
    pub fid: Option<u32>,
    /// Its name.
    pub func: Option<String>,
    /// Label of the root's execution.
    pub event_id: Option<String>,
    /// The root's stall or own delay, in µs. `stood` in documents of version 1.
    #[serde(alias = "stood")]
    pub own_delay: Option<u64>,
    /// Confidence that the root is right, in percent; `None` in documents of version 1.
    #[serde(default)]
    pub confidence: Option<u8>,
    /// The most likely alternative to `rid`; if `rid` is null, the most likely rank.
    #[serde(default)]
    pub next_best: Option<u32>,
    /// The overloaded host.
    #[serde(default)]
    pub host: Option<String>,
    /// The summed delay of all ranks, including the root's own.
    pub delay: u64,
    /// Number of `members`.
    pub num_executions: usize,
    /// Number of members that the detector found.
    pub num_anomalies: usize,
    /// Number of `ranks`.
    pub num_ranks: usize,
    /// Ranks of members and root, ascending.
    pub ranks: Vec<u32>,
    /// Labels of the executions, in the order of the start of their stalls.
    pub members: Vec<String>,
    /// Which execution waited for which rank.
    pub hops: Vec<IncidentHopRecord>,
    /// Messages with both ends known.
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
    /// Duration of its wait.
    pub waited: u64,
    /// Kind of its wait.
    pub kind: WaitKind,
    /// The rank that it waited for.
    pub peer_rid: u32,
    /// Label of the execution on that rank.
    pub peer_event_id: Option<String>,
    /// Index into the messages of the incident; `None` if it waited for no known message.
    pub message: Option<usize>,
}

/// A message with both ends known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentMessageRecord {
    /// Rank that sent it.
    pub src: u32,
    /// Rank that received it.
    pub tar: u32,
    /// Tag.
    pub tag: u64,
    /// How many earlier messages have the same sender, receiver and tag.
    pub number: u64,
    /// Time of sending, and the execution that sent it.
    pub sent: MessageEnd,
    /// Time of receipt, and the execution that received it.
    pub received: MessageEnd,
}

/// One end of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageEnd {
    /// Time.
    #[serde(rename = "timestamp")]
    pub timestamp_us: u64,
    /// Label of the execution; `None` outside every function.
    pub event_id: Option<String>,
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
