//! Call stack trees as documents of the collection `trees`. Times are in microseconds, as in the other collections.

use std::sync::Arc;

use callgrove_model::Reason;
use serde::{Deserialize, Serialize};

/// Version of the schema of trees. Version 1 has no reasons.
pub const TREE_VERSION: u32 = 2;

/// An execution of a function with all its calls: judged abnormal by a tree model, or part of the sample for learning.
///
/// The store adds `__id`. Documents are read with or without it.
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
    /// Node on which it ran.
    pub hostname: Arc<str>,
    /// Time of entry.
    pub entry: u64,
    /// Time of exit.
    pub exit: u64,
    /// Time from entry to exit.
    pub runtime_total: u64,
    /// I/O step in which it ended.
    pub io_step: u64,
    /// True if it was taken for the sample, regardless of the judgement.
    pub is_sample: bool,
    /// The judgement of the model in force; `None` without a model.
    pub judged: Option<TreeJudgement>,
    /// Outlier score: −log₁₀ of the p-value; 0 without a model.
    pub outlier_score: f64,
    /// Severity: its duration.
    pub outlier_severity: u64,
    /// Number of calls, the root included.
    pub num_calls: u64,
    /// The calls; `None` for a tree with more than [`MAX_RECORDED_CALLS`].
    pub tree: Option<RecordedTree>,
}

/// Maximum number of recorded reasons of a tree.
pub const MAX_RECORDED_REASONS: usize = 8;
/// Maximum number of calls of a tree that is recorded with them.
pub const MAX_RECORDED_CALLS: usize = 20_000;

/// The judgement of a tree by a tree model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeJudgement {
    /// Name of the model.
    pub model: Arc<str>,
    /// Its version.
    pub version: u32,
    /// Score; smaller is more abnormal.
    pub score: f64,
    /// Fraction of normal trees with the same or a smaller score, in (0, 1].
    pub p_value: f64,
    /// True if the model judges it abnormal.
    pub is_anomaly: bool,
    /// Fraction of its time in functions that no training tree calls, 0..=1.
    pub unseen_time_share: f64,
    /// True if no training tree has its structure.
    pub is_new_structure: bool,
    /// Why an abnormal tree deviates from the training trees, the most important reason first, at most
    /// [`MAX_RECORDED_REASONS`].
    #[serde(default)]
    pub reasons: Vec<Reason>,
}

/// The calls of a tree in order of entry, the root first; all columns but `functions` have the same length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedTree {
    /// Names of the functions.
    pub functions: Vec<Arc<str>>,
    /// Index into `functions`.
    pub func: Vec<u32>,
    /// Depth in the call stack; 0 for the root.
    pub depth: Vec<u32>,
    /// Time of entry relative to the root's.
    pub entry: Vec<u64>,
    /// Duration from entry to exit.
    pub inclusive: Vec<u64>,
}
