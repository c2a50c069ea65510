//! What a person calls usual.

use serde::{Deserialize, Serialize};

use callgrove_patterns::pattern::{DEFAULT_ANOMALY_FACTOR, DEFAULT_REFERENCE_SHARE};

/// How a pattern's usual duration is taken, and what is far from it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PatternReference {
    /// q: the share of the fastest occurrences that are the reference, 0..=1; its end is d.
    pub share: f64,
    /// s: beyond this many times d an occurrence is anomalous, from 1 on; between the two it is undecided.
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
