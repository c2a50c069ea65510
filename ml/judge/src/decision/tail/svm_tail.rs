//! The tail distribution of the scores of the one-class SVM.

use serde::{Deserialize, Serialize};

use super::null_tail::{NullTail, Observation};
use crate::decision::quantiles::{ascending, lower_scale, quantile};

/// Minimum p-value of the one-class SVM alone: it detects dissimilarity, but does not measure it.
const MIN_P_VALUE: f64 = 0.001;

/// The distribution of the scores of the one-class SVM for normal trees: those of the trees that it was trained on,
/// before labels.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SvmTail {
    middle: f64,
    scale: f64,
    tail: NullTail,
}

impl SvmTail {
    /// Fits scores, of which the smallest are the most abnormal, with the times of their trees.
    pub fn fit(scores: &[Observation]) -> Self {
        let sorted = ascending(scores.iter().map(|seen| -seen.value).collect());
        let middle = quantile(&sorted, 0.5);
        let scale = lower_scale(&sorted, 1e-9);
        let standardised = scores.iter().map(|seen| Observation {
            value: (-seen.value - middle) / scale,
            ..*seen
        });
        Self {
            middle,
            scale,
            tail: NullTail::fit(&standardised.collect::<Vec<_>>()),
        }
    }

    /// Returns ln of the share of normal trees with such a score or a smaller one.
    pub fn ln_p(&self, score: f64) -> f64 {
        let value = (-score - self.middle) / self.scale;
        self.tail.ln_p(value, 0.0).max(MIN_P_VALUE.ln())
    }

    /// Returns whether its numbers can be the result of a fit.
    pub fn is_valid(&self) -> bool {
        // Scores are differences of kernels, so between -1 and 1, and those of labelled trees are scaled to that
        // range.
        (-1.0..=1.0).contains(&self.middle)
            && self.scale > 0.0
            && self.scale <= 8.0
            && self.tail.is_valid()
    }
}
