//! The origin of a model file.

use callgrove_model::{DurationNs, WeightUnit};
use serde::{Deserialize, Serialize};

/// The run and the functions that a model was trained on.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ModelOrigin {
    /// File names of the programs, ascending; empty if the trace does not name them.
    pub programs: Vec<String>,
    /// Root functions.
    pub functions: Vec<String>,
    /// Number of ranks of the run.
    pub num_ranks: usize,
    /// Number of executions that it was trained on.
    pub num_trees: usize,
    /// Number of these that it calls abnormal.
    pub num_abnormal: usize,
    /// Median of their durations, or weights.
    pub median_duration: DurationNs,
    /// The unit of their weights.
    #[serde(default)]
    pub unit: WeightUnit,
}
