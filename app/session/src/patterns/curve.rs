//! The curve of a pattern's durations, so that every question about it costs O(log n): q and s can be dragged.

use callgrove_model::DurationNs;
use callgrove_patterns::pattern::{Pattern, ReferenceCurve};

use super::reference::PatternReference;

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
