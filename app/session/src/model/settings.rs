//! Settings of the model.

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
