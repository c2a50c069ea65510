//! The records of the provenance database, with the field names of the Chimbuko schemas ("Function event schema",
//! "Metadata schema"). All times and durations are in microseconds, the unit of those schemas.
//!
//! The types of the global collections are defined where they are computed, in `callgrove_pserver::record`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Version of the schema of executions.
pub const VERSION: u32 = 2;

/// One execution of a function with its context: a document of `anomalies` or `normalexecs`.
///
/// The store adds `__id`. Documents are read with or without it. A document that lacks a field which is not an
/// `Option`, or has a field of another type, is an error: an AD instance, which stores judged records again, leaves it
/// unchanged.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExecutionRecord {
    /// [`VERSION`].
    pub version: u32,
    /// The call stack, starting with this execution.
    pub call_stack: Vec<CallStackEntry>,
    /// Counter samples on the same thread during the execution.
    pub counter_events: Vec<CounterEvent>,
    /// Time of entry.
    pub entry: u64,
    /// Time of exit.
    pub exit: u64,
    /// Label `rank:step:index`.
    pub event_id: String,
    /// Global index of the function.
    pub fid: u32,
    /// Name of the function.
    pub func: Arc<str>,
    /// Parameters of the judgement: statistics (SSTD) or a histogram and threshold (the others). The records of a step,
    /// function and caller share one text.
    pub algo_params: Arc<RawValue>,
    /// True if it ran on a GPU.
    pub is_gpu_event: bool,
    /// Its location on the GPU; `None` for the CPU.
    pub gpu_location: Option<GpuLocation>,
    /// The CPU call that launched it; `None` for an execution on the CPU.
    pub gpu_parent: Option<GpuParent>,
    /// Program.
    pub pid: u32,
    /// Rank.
    pub rid: u32,
    /// Thread.
    pub tid: u32,
    /// Node on which it ran.
    pub hostname: Arc<str>,
    /// Exclusive time, without its children.
    pub runtime_exclusive: u64,
    /// Inclusive time, with its children.
    pub runtime_total: u64,
    /// I/O step in which it was judged.
    pub io_step: u64,
    /// Start of that step.
    pub io_step_tstart: u64,
    /// End of that step.
    pub io_step_tend: u64,
    /// Outlier score; larger is less likely.
    pub outlier_score: f64,
    /// Severity: its exclusive time.
    pub outlier_severity: u64,
    /// Events around it on the same thread.
    pub event_window: EventWindow,
    /// State of the node; `None` without monitoring.
    pub node_state: Option<NodeState>,
}

/// One function of a call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallStackEntry {
    /// Time of entry.
    pub entry: u64,
    /// Time of exit; 0 if it had not exited when the record was written.
    pub exit: u64,
    /// Global index of the function.
    pub fid: u32,
    /// Name of the function.
    pub func: Arc<str>,
    /// Label `rank:step:index`.
    pub event_id: String,
    /// True if it is anomalous, false while unknown; absent in the call stack of a GPU parent, where the schema has no
    /// such field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_anomaly: Option<bool>,
}

/// One sample of a counter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CounterEvent {
    /// Index of the counter.
    pub counter_idx: u32,
    /// Its name.
    pub counter_name: Arc<str>,
    /// Its value, in its own unit.
    pub counter_value: u64,
    /// Program.
    pub pid: u32,
    /// Rank.
    pub rid: u32,
    /// Thread.
    pub tid: u32,
    /// Time of the sample.
    #[serde(rename = "ts")]
    pub ts_us: u64,
}

/// The events on one thread around an execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventWindow {
    /// Executions in order of entry.
    pub exec_window: Vec<ExecWindowEntry>,
    /// Messages.
    pub comm_window: Vec<CommWindowEntry>,
}

/// One execution of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecWindowEntry {
    /// Time of entry.
    pub entry: u64,
    /// Time of exit; 0 if it had not exited when the record was written.
    pub exit: u64,
    /// Global index of the function.
    pub fid: u32,
    /// Name of the function.
    pub func: Arc<str>,
    /// Label `rank:step:index`.
    pub event_id: String,
    /// Label of the execution that called it.
    pub parent_event_id: String,
    /// True if it is anomalous; false while unknown.
    pub is_anomaly: bool,
}

/// Direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommType {
    /// Sent by the rank of the record.
    #[serde(rename = "SEND")]
    Send,
    /// Received by that rank.
    #[serde(rename = "RECV")]
    Recv,
}

/// One message of a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommWindowEntry {
    /// Direction.
    #[serde(rename = "type")]
    pub kind: CommType,
    /// Program.
    #[serde(default)]
    pub pid: u32,
    /// Rank of the record.
    #[serde(default)]
    pub rid: u32,
    /// Thread.
    #[serde(default)]
    pub tid: u32,
    /// Rank that sent it.
    pub src: u32,
    /// Rank that received it.
    pub tar: u32,
    /// Its size.
    #[serde(default)]
    pub bytes: u64,
    /// Its tag.
    #[serde(default)]
    pub tag: u64,
    /// Index, from 0, among the messages with this sender, receiver and tag since the start of the stream. The event
    /// with the same number on the other side matches it. `None` if earlier messages may be missing.
    #[serde(default)]
    pub number: Option<u64>,
    /// Time of the MPI call.
    #[serde(rename = "timestamp")]
    pub timestamp_us: u64,
    /// Label of the execution that it belongs to.
    #[serde(default)]
    pub execdata_key: String,
}

impl CommWindowEntry {
    /// Returns the rank at the other end.
    pub fn partner(&self) -> u32 {
        match self.kind {
            CommType::Send => self.tar,
            CommType::Recv => self.src,
        }
    }
}

/// The last known state of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeState {
    /// Fields and values, in the order of monitoring.
    pub data: Vec<NodeStateField>,
    /// Time of the newest value.
    #[serde(rename = "timestamp")]
    pub timestamp_us: u64,
}

/// One field of a node's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeStateField {
    /// Name, such as `Memory Available (MB)`.
    pub field: Arc<str>,
    /// Value, in the unit given in the name.
    pub value: serde_json::Number,
}

/// Location of an execution on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GpuLocation {
    /// Context of the device.
    pub context: u32,
    /// Device.
    pub device: u32,
    /// Stream of the device.
    pub stream: u32,
    /// Virtual thread that TAU assigned to the three.
    pub thread: u32,
}

/// The execution on the CPU that launched one on a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum GpuParent {
    /// The execution was found.
    Found {
        /// Its label `rank:step:index`.
        event_id: String,
        /// Its thread.
        tid: u32,
        /// Its call stack, starting with itself.
        call_stack: Vec<CallStackEntry>,
    },
    /// The reason why it was not found, as text.
    Missing(String),
}

/// One entry of the run's metadata: a document of `metadata`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataRecord {
    /// Its key, such as `Hostname`.
    pub descr: String,
    /// Program.
    pub pid: u32,
    /// Rank.
    pub rid: u32,
    /// Thread; the virtual one for metadata of a GPU's stream.
    pub tid: u32,
    /// Its value.
    pub value: String,
}
