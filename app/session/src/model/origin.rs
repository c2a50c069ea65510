//! What a model file was made for, and how far it may be used elsewhere.

use std::fmt;

use callgrove_model::{DurationNs, WeightUnit};
use serde::{Deserialize, Serialize};

/// What a model was made for.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ModelOrigin {
    /// Programs by the names of their files, ascending; empty if the trace did not say.
    pub programs: Vec<String>,
    /// Root functions.
    pub functions: Vec<String>,
    /// Ranks of the run.
    pub num_ranks: usize,
    /// Executions that it was trained on.
    pub num_trees: usize,
    /// Those of them that it calls abnormal.
    pub num_abnormal: usize,
    /// Their median duration, or weight.
    pub median_duration: DurationNs,
    /// The unit of their weights.
    #[serde(default)]
    pub unit: WeightUnit,
}

/// How a model file is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelUse {
    /// As it was made; it is refused where it does not fit.
    #[default]
    AsMade,
    /// The same, whether it fits or not.
    Anyway,
    /// With how rare an excess is from the run itself, whether it fits or not.
    Refitted,
}

impl ModelUse {
    /// Whether it is the usual way, which files need not mention.
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
