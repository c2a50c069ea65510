//! The curve of a pattern's durations. Every query costs O(log n), so that q and s can be dragged.

use callgrove_model::DurationNs;
use callgrove_patterns::{Pattern, ReferenceCurve};

use super::reference::PatternReference;

/// The horizontal axis of a drawn curve: the share of occurrences, fastest first. The slow end is stretched, so that
/// one occurrence of a million is visible as well as half of them: each part of equal width halves the rest, `position
/// = log(1 / (1 − share))`, as a share of the width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CurveAxis {
    /// Number of occurrences.
    pub num: usize,
}

impl CurveAxis {
    /// Returns the position where a share of the occurrences ends, 0 to 1.
    pub fn place_of(self, share: f64) -> f64 {
        let rest = (1.0 - share).max(self.least());
        -rest.log10() / -self.least().log10()
    }

    /// Returns the share that ends at a position.
    pub fn share_at(self, place: f64) -> f64 {
        let place = place.clamp(0.0, 1.0);
        if place >= 1.0 {
            return 1.0;
        }
        1.0 - self.least().powf(place)
    }

    /// Returns the index, on the sorted curve, of the occurrence that is drawn at a position.
    pub fn rank_at(self, place: f64) -> usize {
        let rank = (self.share_at(place) * self.num as f64) as usize;
        rank.min(self.num.saturating_sub(1))
    }

    /// Returns the index of the occurrence in the middle of a column.
    pub fn rank_in(self, column: usize, num_columns: usize) -> usize {
        self.rank_at((column as f64 + 0.5) / num_columns.max(1) as f64)
    }

    /// Returns the smallest share that differs from zero: half an occurrence.
    pub fn least(self) -> f64 {
        0.5 / self.num.max(1) as f64
    }
}

/// The sorted durations of a pattern, and their sums.
#[derive(Clone, Debug, Default)]
pub struct PatternCurve {
    curve: ReferenceCurve,
    /// Sum of the durations from each index to the end; one element more than there are durations.
    rest_ns: Vec<i64>,
}

impl PatternCurve {
    /// Sorts the durations of a pattern. Cost: O(n log n).
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

    /// Returns the curve itself.
    pub fn reference_curve(&self) -> &ReferenceCurve {
        &self.curve
    }

    /// Returns the durations, shortest first.
    pub fn sorted(&self) -> &[DurationNs] {
        self.curve.sorted()
    }

    /// Returns d, the usual duration.
    pub fn usual(&self, reference: PatternReference) -> DurationNs {
        self.curve.reference(reference.share)
    }

    /// Returns s × d; longer occurrences are anomalous.
    pub fn limit(&self, reference: PatternReference) -> DurationNs {
        self.curve.limit(reference.share, reference.factor)
    }

    /// Returns the numbers of usual, undecided and anomalous occurrences.
    pub fn counts(&self, reference: PatternReference) -> [usize; 3] {
        self.curve.counts(reference.share, reference.factor)
    }

    /// Returns the anomalous occurrences, shortest first, as indices into [`Pattern::occurrences`].
    pub fn anomalous(&self, reference: PatternReference) -> &[u32] {
        self.curve.anomalous(reference.share, reference.factor)
    }

    /// Returns the time of the anomalous occurrences beyond d.
    pub fn excess(&self, reference: PatternReference) -> DurationNs {
        let [usual, undecided, anomalous] = self.counts(reference);
        let number = i64::try_from(anomalous).unwrap_or(i64::MAX);
        let rest_ns = self.rest_ns.get(usual + undecided).copied().unwrap_or(0);
        let usual_ns = self.usual(reference).0.saturating_mul(number);
        DurationNs(rest_ns.saturating_sub(usual_ns))
    }
}
