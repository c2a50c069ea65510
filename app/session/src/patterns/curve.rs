//! The curve of a pattern's durations, so that every question about it costs O(log n): q and s can be dragged.

use callgrove_model::DurationNs;
use callgrove_patterns::pattern::{Pattern, ReferenceCurve};

use super::reference::PatternReference;

/// From left to right on a drawn curve: the share of occurrences, fastest first. The slow end is stretched, so that one
/// of a million is seen as well as half of them: each part of the same width halves what is left,
/// `place = log(1 / (1 − share))`, as a share of the width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CurveAxis {
    /// Number of occurrences.
    pub num: usize,
}

impl CurveAxis {
    /// Where a share of the occurrences ends, 0 to 1.
    pub fn place_of(self, share: f64) -> f64 {
        let rest = (1.0 - share).max(self.least());
        -rest.log10() / -self.least().log10()
    }

    /// The share that ends at a place.
    pub fn share_at(self, place: f64) -> f64 {
        let place = place.clamp(0.0, 1.0);
        if place >= 1.0 {
            return 1.0;
        }
        1.0 - self.least().powf(place)
    }

    /// The place, on the sorted curve, of the occurrence that is drawn at a place.
    pub fn rank_at(self, place: f64) -> usize {
        let rank = (self.share_at(place) * self.num as f64) as usize;
        rank.min(self.num.saturating_sub(1))
    }

    /// The same in the middle of one of some columns.
    pub fn rank_in(self, column: usize, num_columns: usize) -> usize {
        self.rank_at((column as f64 + 0.5) / num_columns.max(1) as f64)
    }

    /// The share that is not told apart from nothing: half an occurrence.
    pub fn least(self) -> f64 {
        0.5 / self.num.max(1) as f64
    }
}

/// Durations of a pattern in order, and their sums.
#[derive(Clone, Debug, Default)]
pub struct PatternCurve {
    curve: ReferenceCurve,
    /// The time of all that are at a place of the curve or beyond it; one more than there are durations.
    rest_ns: Vec<i64>,
}

impl PatternCurve {
    /// Sorts the durations of a pattern: O(n log n).
    pub fn new(pattern: &Pattern) -> Self {
        let curve = pattern.curve();
        let mut rest_ns: Vec<i64> = Vec::with_capacity(curve.len() + 1);
        let mut sum_ns = 0_i64;
        rest_ns.push(sum_ns);
        for duration in curve.sorted().iter().rev() {
            sum_ns = sum_ns.saturating_add(duration.0);
            rest_ns.push(sum_ns);
        }
        rest_ns.reverse();
        Self { curve, rest_ns }
    }

    /// The curve itself.
    pub fn reference_curve(&self) -> &ReferenceCurve {
        &self.curve
    }

    /// Durations, shortest first.
    pub fn sorted(&self) -> &[DurationNs] {
        self.curve.sorted()
    }

    /// d: the usual duration.
    pub fn usual(&self, reference: PatternReference) -> DurationNs {
        self.curve.reference(reference.share)
    }

    /// s × d: what takes longer is anomalous.
    pub fn limit(&self, reference: PatternReference) -> DurationNs {
        self.curve.limit(reference.share, reference.factor)
    }

    /// Number of occurrences that are usual, undecided and anomalous.
    pub fn counts(&self, reference: PatternReference) -> [usize; 3] {
        self.curve.counts(reference.share, reference.factor)
    }

    /// The anomalous occurrences, shortest first, as places in [`Pattern::occurrences`].
    pub fn anomalous(&self, reference: PatternReference) -> &[u32] {
        self.curve.anomalous(reference.share, reference.factor)
    }

    /// Time of the anomalous occurrences beyond d.
    pub fn excess(&self, reference: PatternReference) -> DurationNs {
        let [usual, undecided, anomalous] = self.counts(reference);
        let number = i64::try_from(anomalous).unwrap_or(i64::MAX);
        let rest_ns = self.rest_ns.get(usual + undecided).copied().unwrap_or(0);
        let usual_ns = self.usual(reference).0.saturating_mul(number);
        DurationNs(rest_ns.saturating_sub(usual_ns))
    }
}
