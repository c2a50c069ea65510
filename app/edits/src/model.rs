//! Settings of the model, and the use of a model file.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Settings of the model that a user may change while labelling.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSettings {
    /// ν, the expected share of outliers among trees that seem normal: above 0, at most 1.
    pub nu: f64,
    /// Factor above 0 of the rule for the kernel width γ: the larger, the narrower the kernel.
    pub gamma: f64,
    /// Share of the executions called abnormal that may be so by chance: above 0, below 1.
    #[serde(default = "usual_rate")]
    pub rate: f64,
}

/// Returns the rate of sessions that were saved before it could be chosen.
fn usual_rate() -> f64 {
    0.1
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
    pub fn is_as_made(&self) -> bool {
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
