//! Call stack trees as documents of the collection `trees`. Times are microseconds, as in the other collections.

use std::sync::Arc;

use callgrove_model::Reason;
use serde::{Deserialize, Serialize};

/// Version of the schema of trees. Those of version 1 have no reasons.
pub const TREE_VERSION: u32 = 2;

/// An execution of a function with all that it called: one that a tree model calls abnormal, or one of a sample to
/// learn from.
///
/// The store adds `__id`. Reading back takes documents with or without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeRecord {
    /// [`TREE_VERSION`], or an earlier one.
    pub version: u32,
    /// Label `rank:step:index` of the root.
    pub event_id: String,
    /// Program.
    pub pid: u32,
    /// Rank.
    pub rid: u32,
    /// Thread.
    pub tid: u32,
    /// Global index of the root's function.
    pub fid: u32,
    /// Its name.
    pub func: Arc<str>,
    /// Node that it ran on.
    pub hostname: Arc<str>,
    /// Time of entry.
    pub entry: u64,
    /// Time of exit.
    pub exit: u64,
    /// Time from entry to exit.
    pub runtime_total: u64,
    /// I/O step in which it ended.
    pub io_step: u64,
    /// Whether it was taken for the sample, whatever was said of it.
    pub is_sample: bool,
    /// What the model in force said of it; none without a model.
    pub judged: Option<TreeJudgement>,
    /// How unlikely it is: −log₁₀ of the p-value; 0 without a model.
    pub outlier_score: f64,
    /// How much it matters: its time.
    pub outlier_severity: u64,
    /// Number of calls, the root included.
    pub num_calls: u64,
    /// The calls; none of a tree with more than [`MAX_RECORDED_CALLS`].
    pub tree: Option<RecordedTree>,
}

/// Reasons that are recorded of a tree.
pub const MAX_RECORDED_REASONS: usize = 8;
/// A tree of more calls is recorded without them.
pub const MAX_RECORDED_CALLS: usize = 20_000;

/// What a tree model said of a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeJudgement {
    /// Name of the model.
    pub model: Arc<str>,
    /// Its version.
    pub version: u32,
    /// The smaller, the more abnormal.
    pub score: f64,
    /// Share of normal trees that stand out as much or more, in (0, 1].
    pub p_value: f64,
    /// Whether the model calls it abnormal.
    pub is_anomaly: bool,
    /// Share of its time in functions that no tree of the training called, 0..=1.
    pub unseen_time_share: f64,
    /// Whether no tree of the training had its structure.
    pub is_new_structure: bool,
    /// Why an abnormal one stands out from what is usual in the training of the model, the most important reason first,
    /// at most [`MAX_RECORDED_REASONS`].
    #[serde(default)]
    pub reasons: Vec<Reason>,
}

/// The calls of a tree in order of entry, the root first; all columns but `functions` have one length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedTree {
    /// Names of the functions.
    pub functions: Vec<Arc<str>>,
    /// Index into `functions`.
    pub func: Vec<u32>,
    /// Number of callers up to the root: 0 for the root alone.
    pub depth: Vec<u32>,
    /// Time of entry after that of the root.
    pub entry: Vec<u64>,
    /// Time from entry to exit.
    pub inclusive: Vec<u64>,
}
