//! Settings of the model.

use serde::{Deserialize, Serialize};

/// Settings of the model that a person may change while labelling.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSettings {
    /// ν, the expected share of outliers among trees that look normal: above 0, at most 1.
    pub nu: f64,
    /// Factor above 0 of the rule for the kernel width γ: the larger, the narrower the kernel.
    pub gamma: f64,
}
