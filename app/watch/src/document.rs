//! A provenance document of the collections anomalies and normalexecs.
//!
//! Reading never fails: fields that are missing or of another type are `None` or empty, and unreadable list items are
//! omitted. So documents of other writers and versions are shown as completely as possible.

mod decode;
#[cfg(test)]
mod tests;
mod window;

use std::sync::Arc;

use callgrove_detect::RunStats;
use callgrove_model::ProgramId;
pub use callgrove_provdb::{CallStackEntry, CommType, GpuParent};
use callgrove_provdb::{CounterEvent, EventWindow, GpuLocation, NodeState};
use callgrove_query::EventKey;
use serde::Deserialize;
use serde_json::Value;

pub use window::RecordWindow;

/// One execution. Points in time are microseconds since the epoch, durations are microseconds.
///
/// Its lists and objects have the types of the record. The numbers are optional here, unlike in the
/// [`ExecutionRecord`](callgrove_provdb::ExecutionRecord), which is never read in part because an AD instance stores it
/// again.
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
    /// Exclusive time.
    pub runtime_exclusive_us: Option<f64>,
    /// Inclusive time.
    pub runtime_total_us: Option<f64>,
    /// I/O step.
    pub step: Option<u64>,
    /// Start and end of the step.
    pub step_range_us: Option<(u64, u64)>,
    /// Anomaly score; the higher, the less likely the execution.
    pub score: Option<f64>,
    /// Severity in microseconds.
    pub severity_us: Option<f64>,
    /// True if it ran on a GPU.
    pub is_gpu: bool,
    /// Device, context and stream on a GPU.
    pub gpu_location: Option<GpuLocation>,
    /// The execution that launched it.
    pub gpu_parent: Option<GpuParent>,
    /// The execution itself, its caller, and so on up to the outermost one.
    pub call_stack: Vec<CallStackEntry>,
    /// Counter values during it, in order of time.
    pub counters: Vec<CounterEvent>,
    /// The model of the detector.
    pub model: Model,
    /// Events around it on the same thread: executions in order of entry, messages in order of time.
    pub window: EventWindow,
    /// State of the node during it.
    pub node_state: Option<NodeState>,
    /// The document itself.
    pub json: Arc<Value>,
}

/// The model of the detector.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Model {
    /// No readable model.
    #[default]
    Unknown,
    /// Mean and standard deviation.
    Moments(RunStats),
    /// A histogram of times.
    RecordHistogram(RecordHistogram),
}

/// A histogram of times in microseconds. Its bins have long names in the schema, and other names in newer versions of
/// the peer.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
pub struct RecordHistogram {
    /// Executions per bin.
    #[serde(rename = "Histogram Bin Counts", alias = "counts")]
    pub counts: Vec<f64>,
    /// Lower edge of the first bin, then the upper edges; one element more than `counts`.
    #[serde(rename = "Histogram Bin Edges", alias = "edges")]
    pub edges: Vec<f64>,
    /// Threshold on scores; stored outside the histogram object.
    #[serde(skip)]
    pub threshold: Option<f64>,
}

impl ExecutionDocument {
    /// Returns program and label, which identify the execution in a run.
    pub fn label(&self) -> (Option<u32>, String) {
        (self.app, self.event_id.clone())
    }

    /// Returns the key of the execution in every source of its run; `None` if the event id is invalid.
    pub fn key(&self) -> Option<EventKey> {
        EventKey::parse(ProgramId(self.app.unwrap_or(0)), &self.event_id)
    }

    /// Returns the document as indented JSON.
    pub fn pretty_json(&self) -> String {
        serde_json::to_string_pretty(&*self.json).unwrap_or_default()
    }
}

impl RecordHistogram {
    /// Returns the bin of a time; `None` outside all bins.
    pub fn bin_of(&self, time_us: f64) -> Option<usize> {
        let upper = self.edges.get(1..)?;
        let bin = upper.partition_point(|&edge| edge < time_us);
        (bin < self.counts.len() && time_us >= *self.edges.first()?).then_some(bin)
    }

    /// Returns the number of executions in later bins than that of `time_us`.
    pub fn num_longer(&self, time_us: f64) -> f64 {
        let lower = &self.edges[..self.counts.len().min(self.edges.len())];
        let first = lower.partition_point(|&edge| edge < time_us);
        self.counts.iter().skip(first).sum()
    }
}
