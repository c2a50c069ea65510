//! The origin of a model file, and how it may be used with other runs.

use std::fmt;

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

/// The use of a model file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelUse {
    /// Unchanged; refused if it does not fit.
    #[default]
    AsMade,
    /// Unchanged, whether it fits or not.
    Anyway,
    /// With p-values of the run itself, whether it fits or not.
    Refitted,
}

impl ModelUse {
    /// Returns whether it is the default use, which files omit.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde asks by reference whether to leave a field out"
    )]
    pub(crate) fn is_as_made(&self) -> bool {
        *self == Self::AsMade
    }
}

impl fmt::Display for ModelUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AsMade => "as it was made",
            Self::Anyway => "though it does not fit",
            Self::Refitted => "with p-values of this run",
        })
    }
}
