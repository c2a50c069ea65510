//! Histogram based outlier score (Goldstein and Dengel 2012) of one function.

use crate::isolation::Surroundings;
use crate::threshold::{Level, threshold};
use crate::verdict::Verdict;
use callgrove_model::Real;

/// Keeps scores finite: an empty bin scores −log₂ α = 100.
pub(crate) const ALPHA: f64 = 78.88e-32;

/// Returns the surprise, in bits, of an event with this probability.
pub(crate) fn surprise(probability: f64) -> f64 {
    -(probability + ALPHA).log2()
}

/// The verdict of every bin.
#[derive(Clone, Debug)]
pub(crate) struct Hbos {
    surroundings: Surroundings,
    verdicts: Vec<Verdict>,
    threshold: f64,
}

impl Hbos {
    /// Judges the bins of a histogram, which is not empty.
    pub(crate) fn new(surroundings: Surroundings, range_share: f64, min_threshold: f64) -> Self {
        let bins = surroundings.histogram().bins();
        let total = surroundings.histogram().total().real();
        let levels: Vec<Level> = bins
            .iter()
            .map(|bin| Level {
                score: surprise(bin.count.real() / total),
                count: bin.count,
            })
            .collect();
        let own = threshold(&mut levels.clone(), range_share, surroundings.limit());
        let threshold = own.max(min_threshold);
        let verdicts = levels
            .iter()
            .zip(surroundings.isolated())
            .map(|(level, &is_isolated)| Verdict {
                score: level.score,
                is_outlier: level.score >= threshold && is_isolated,
            });
        Self {
            verdicts: verdicts.collect(),
            surroundings,
            threshold,
        }
    }

    pub(crate) fn threshold(&self) -> f64 {
        self.threshold
    }

    #[inline]
    pub(crate) fn judge(&self, value: u64) -> Verdict {
        match self.surroundings.find(value) {
            Some(position) => self.verdicts[position],
            None => self.judge_unseen(value),
        }
    }

    /// Judges a time outside all bins, which is possible if the model is frozen.
    #[cold]
    fn judge_unseen(&self, value: u64) -> Verdict {
        let score = surprise(0.0);
        Verdict {
            score,
            is_outlier: score >= self.threshold && self.surroundings.is_isolated(value),
        }
    }
}
