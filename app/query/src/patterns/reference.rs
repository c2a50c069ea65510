//! The reference of patterns, chosen by the user.

use serde::{Deserialize, Serialize};

use callgrove_patterns::{DEFAULT_ANOMALY_FACTOR, DEFAULT_REFERENCE_SHARE};

/// The definition of a pattern's usual duration, and of the durations far from it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PatternReference {
    /// q: the share of the fastest occurrences that are the reference, 0..=1. The longest of them is d.
    pub share: f64,
    /// s: factor from 1 on. Occurrences longer than s × d are anomalous; those between d and s × d are undecided.
    pub factor: f64,
}

impl Default for PatternReference {
    fn default() -> Self {
        Self {
            share: DEFAULT_REFERENCE_SHARE,
            factor: DEFAULT_ANOMALY_FACTOR,
        }
    }
}
