//! The documents of the provenance database's collection `incidents`, with the field names of their schema. All times
//! and durations are in microseconds, the unit of the schema. The store adds `__id`.

use callgrove_causes::{CauseKind, WaitKind};
use serde::{Deserialize, Serialize};

/// Version of the schema of incidents.
pub const INCIDENT_VERSION: u32 = 2;

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
