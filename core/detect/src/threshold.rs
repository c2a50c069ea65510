//! The threshold of scores from which executions are outliers: how it is computed for a step, and how it continues from
//! step to step.

use crate::error::{Result, damaged};

/// A score and the number of executions that have it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Level {
    pub(crate) score: f64,
    pub(crate) count: u64,
}

/// Returns the smallest score of outliers. Sorts `levels`.
///
/// The rule "the top 1 % of scores" has two readings, and the lower threshold applies: the top of the range of scores,
/// min + `range_share` · (max − min), as Chimbuko computes it; and the executions with the highest scores, at most
/// `limit` of them. In the second reading the threshold lies halfway between their lowest score and the next one, so
/// that a threshold that never falls still admits later outliers.
pub(crate) fn threshold(levels: &mut [Level], range_share: f64, limit: u64) -> f64 {
    levels.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
    let (Some(highest), Some(lowest)) = (levels.first(), levels.last()) else {
        return f64::INFINITY;
    };
    let of_range = lowest.score + range_share * (highest.score - lowest.score);
    of_range.min(of_executions(levels, limit))
}

/// Returns the threshold of the second reading for descending levels; infinite if the level of the highest score
/// already has too many executions.
fn of_executions(levels: &[Level], limit: u64) -> f64 {
    let mut cumulative: u64 = 0;
    let mut lowest_fitting = f64::INFINITY;
    for same in levels.chunk_by(|a, b| a.score.total_cmp(&b.score).is_eq()) {
        let counts = same.iter().map(|level| level.count);
        cumulative = counts.fold(cumulative, u64::saturating_add);
        if cumulative > limit {
            return f64::midpoint(lowest_fitting, same[0].score);
        }
        lowest_fitting = same[0].score;
    }
    lowest_fitting
}

/// The highest threshold of a function's scores so far; it never falls.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RunningThreshold(f64);

impl RunningThreshold {
    /// Returns a stored threshold.
    ///
    /// # Errors
    /// [`crate::DetectError::Damaged`] unless it is finite and at least 0.
    pub fn stored(value: f64) -> Result<Self> {
        if !(0.0..f64::INFINITY).contains(&value) {
            return Err(damaged("a model", "the threshold"));
        }
        Ok(Self(value))
    }

    /// Returns the threshold.
    pub fn value(self) -> f64 {
        self.0
    }

    /// Raises the threshold to the last [`crate::Judge::threshold`]; ignores an infinite one.
    pub fn raise(&mut self, threshold: f64) {
        if threshold.is_finite() {
            self.0 = self.0.max(threshold);
        }
    }
}
