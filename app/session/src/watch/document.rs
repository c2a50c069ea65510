//! A provenance document of the collections anomalies and normalexecs, as far as it could be read.
//!
//! Fields that are missing or of another type are `None` or empty, and so are list items that cannot be read left out,
//! never an error: documents of other writers and versions are shown as well as they can be.

mod decode;
#[cfg(test)]
mod tests;
mod window;

use std::sync::Arc;

use callgrove_model::ProgramId;
pub use callgrove_provdb::{CallStackEntry, CommType, GpuParent};
use callgrove_provdb::{CounterEvent, EventWindow, GpuLocation, NodeState};
use serde::Deserialize;
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
    pub gpu_location: Option<GpuLocation>,
    /// What launched it.
    pub gpu_parent: Option<GpuParent>,
    /// The execution itself, its caller, and so on outwards.
    pub call_stack: Vec<CallStackEntry>,
    /// Counters while it ran, in order of time.
    pub counters: Vec<CounterEvent>,
    /// What the detector went by.
    pub model: Model,
    /// What happened around it on the same thread: executions in order of entry, messages in order of time.
    pub window: EventWindow,
    /// The node while it ran.
    pub node_state: Option<NodeState>,
    /// The document itself.
    pub json: Arc<Value>,
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

/// A histogram of times in microseconds. The schema names its bins in words, and the peer's newer versions otherwise.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
pub struct RecordHistogram {
    /// Executions per bin.
    #[serde(rename = "Histogram Bin Counts", alias = "counts")]
    pub counts: Vec<f64>,
    /// Lower edge of the first bin, then the upper edges: one more than `counts`.
    #[serde(rename = "Histogram Bin Edges", alias = "edges")]
    pub edges: Vec<f64>,
    /// Threshold on scores, which stands beside the histogram.
    #[serde(skip)]
    pub threshold: Option<f64>,
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
