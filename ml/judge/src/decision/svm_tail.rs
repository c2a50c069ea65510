//! How rare a score of the one-class SVM is.

use serde::{Deserialize, Serialize};

use super::quantiles::{ascending, lower_scale, quantile};
use super::tail::{NullTail, Observation};

/// The least p-value that the one-class SVM alone gives: it says what is unlike the rest, not how far.
const LEAST_P_VALUE: f64 = 0.001;

/// The distribution of the scores of the one-class SVM when nothing is wrong: those of the trees that it
/// was trained on, before labels.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SvmTail {
    middle: f64,
    scale: f64,
    tail: NullTail,
}

impl SvmTail {
    /// Fits scores, of which the smallest are the most abnormal, with when their trees ran.
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

    /// ln of the share of normal trees with such a score or a smaller one.
    pub fn ln_p(&self, score: f64) -> f64 {
        let value = (-score - self.middle) / self.scale;
        self.tail.ln_p(value, 0.0).max(LEAST_P_VALUE.ln())
    }

    /// Whether its numbers can be those of a fit.
    pub(crate) fn is_whole(&self) -> bool {
        // Scores are differences of kernels, so between -1 and 1, and those of labelled ones are brought to that scale.
        (-1.0..=1.0).contains(&self.middle)
            && self.scale > 0.0
            && self.scale <= 8.0
            && self.tail.is_whole()
    }
}
