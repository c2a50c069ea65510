//! A provenance document of the collections anomalies and normalexecs, as far as it could be read.
//!
//! Fields that are missing or of another type are `None` or empty, never an error: documents of
//! other writers and versions are shown as well as they can be.

pub(super) mod decode;
#[cfg(test)]
mod tests;
mod window;

use std::sync::Arc;

use callgrove_model::{CommKind, ProgramId};
use serde_json::Value;

use super::RunStats;
use crate::EventKey;
pub use window::RecordWindow;

/// One execution. Times are microseconds since the epoch, lengths of time microseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct ExecutionDocument {
    /// Label `rank:step:index`; empty if missing.
    pub event_id: String,
    /// Function name; empty if missing.
    pub func: String,
    /// Global index of the function.
    pub fid: Option<u32>,
    /// Program.
    pub app: Option<u32>,
    /// Rank.
    pub rank: Option<u32>,
    /// Thread.
    pub thread: Option<u64>,
    /// Host.
    pub hostname: Option<String>,
    /// Entry.
    pub entry_us: Option<u64>,
    /// Exit.
    pub exit_us: Option<u64>,
    /// Time without children.
    pub runtime_exclusive_us: Option<f64>,
    /// Time with children.
    pub runtime_total_us: Option<f64>,
    /// I/O step.
    pub step: Option<u64>,
    /// Start and end of the step.
    pub step_range_us: Option<(u64, u64)>,
    /// How unlikely it is.
    pub score: Option<f64>,
    /// How important it is.
    pub severity_us: Option<f64>,
    /// Whether it ran on a GPU.
    pub is_gpu: bool,
    /// Where on a GPU.
    pub gpu_location: Option<RecordGpuLocation>,
    /// What launched it.
    pub gpu_parent: Option<RecordGpuParent>,
    /// The execution itself, its caller, and so on outwards.
    pub call_stack: Vec<StackFrame>,
    /// Counters while it ran, in order of time.
    pub counters: Vec<RecordCounter>,
    /// What the detector went by.
    pub model: Model,
    /// What happened around it on the same thread.
    pub window: RecordEvents,
    /// The node while it ran.
    pub node_state: Option<RecordNode>,
    /// The document itself.
    pub json: Arc<Value>,
}

/// An execution in a call stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StackFrame {
    /// Label.
    pub event_id: String,
    /// Function name.
    pub func: String,
    /// Entry.
    pub entry_us: u64,
    /// Exit; `None` if it was still running.
    pub exit_us: Option<u64>,
    /// Whether it is anomalous too; `None` if not known.
    pub is_anomaly: Option<bool>,
}

/// A counter's value.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordCounter {
    /// Name.
    pub name: String,
    /// Value, in the counter's unit.
    pub value: f64,
    /// Time.
    pub time_us: u64,
}

/// Where on a GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordGpuLocation {
    /// Device.
    pub device: Option<u64>,
    /// Context.
    pub context: Option<u64>,
    /// Stream.
    pub stream: Option<u64>,
    /// Index that the tracing library gave the three together.
    pub thread: Option<u64>,
}

/// The CPU function that launched what ran on a GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecordGpuParent {
    /// It is known.
    Known {
        /// Label.
        event_id: String,
        /// CPU thread.
        thread: Option<u64>,
        /// Itself, its caller, and so on outwards.
        call_stack: Vec<StackFrame>,
    },
    /// It is not; the detector's words.
    Unknown(String),
}

/// What the detector went by.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Model {
    /// Nothing that could be read.
    #[default]
    Unknown,
    /// Mean and standard deviation.
    Moments(RunStats),
    /// A histogram of times.
    RecordHistogram(RecordHistogram),
}

/// A histogram of times in microseconds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RecordHistogram {
    /// Executions per bin.
    pub counts: Vec<f64>,
    /// Lower edge of the first bin, then the upper edges: one more than `counts`.
    pub edges: Vec<f64>,
    /// Threshold on scores.
    pub threshold: Option<f64>,
}

/// What happened around an execution on the same thread.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RecordEvents {
    /// Executions, in order of entry.
    pub executions: Vec<WindowExecution>,
    /// Messages, in order of time.
    pub messages: Vec<WindowComm>,
}

/// An execution in the window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowExecution {
    /// Label.
    pub event_id: String,
    /// Label of the caller.
    pub parent_event_id: String,
    /// Function name.
    pub func: String,
    /// Entry.
    pub entry_us: u64,
    /// Exit; `None` if it was still running.
    pub exit_us: Option<u64>,
    /// Whether it is anomalous; `None` if not known.
    pub is_anomaly: Option<bool>,
}

/// A message in the window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowComm {
    /// Sent or received here.
    pub kind: CommKind,
    /// The rank at the other end.
    pub partner: u32,
    /// Bytes.
    pub size_bytes: u64,
    /// Tag.
    pub tag: i64,
    /// How many messages with the same sender, receiver and tag came before it; `None` if that is not known.
    pub number: Option<u64>,
    /// Time.
    pub time_us: u64,
    /// Label of the execution that sent or received.
    pub event_id: String,
}

/// The node while an execution ran.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordNode {
    /// Fields and their values, as the monitoring plugin names them.
    pub fields: Vec<(String, String)>,
    /// When the newest of them was taken.
    pub time_us: Option<u64>,
}

impl ExecutionDocument {
    /// Program and label, which name the execution in a run.
    pub fn label(&self) -> (Option<u32>, String) {
        (self.app, self.event_id.clone())
    }

    /// What names the execution in every source of its run; `None` if the event id is none.
    pub fn key(&self) -> Option<EventKey> {
        EventKey::parse(ProgramId(self.app.unwrap_or(0)), &self.event_id)
    }

    /// The document as text that a person can read.
    pub fn pretty_json(&self) -> String {
        serde_json::to_string_pretty(&*self.json).unwrap_or_default()
    }
}

impl RecordHistogram {
    /// The bin of a time; `None` outside all bins.
    pub fn bin_of(&self, time_us: f64) -> Option<usize> {
        let upper = self.edges.get(1..)?;
        let bin = upper.partition_point(|&edge| edge < time_us);
        (bin < self.counts.len() && time_us >= *self.edges.first()?).then_some(bin)
    }

    /// Number of executions in later bins than that of `time_us`.
    pub fn num_longer(&self, time_us: f64) -> f64 {
        let lower = &self.edges[..self.counts.len().min(self.edges.len())];
        let first = lower.partition_point(|&edge| edge < time_us);
        self.counts.iter().skip(first).sum()
    }
}
