//! The curve of a pattern's durations, and the threshold above which they are anomalous.
//!
//! Sorted by duration, the occurrences of a pattern form a curve that is flat over the normal ones and steep at its
//! end. The fastest share `q` is the *reference set*, and its longest duration, `d`, is the reference duration. Up to
//! `d` an occurrence is normal, from there to `s × d` it is undecided, and beyond that it is anomalous. So
//! occurrences just above the reference set are not reported for three per cent (slides 25 to 34 of Mosli Bouksiaa,
//! Trahay, Thomas: Détection automatique d'anomalies de performance).
//!
//! Sorting costs O(n log n), once. After that any `q` and `s` cost O(log n), so that a user can drag both.

use callgrove_model::DurationNs;

/// Default share of the occurrences that is the reference set.
pub const DEFAULT_REFERENCE_SHARE: f64 = 0.75;

/// Default minimum duration of an anomalous occurrence, as a multiple of the reference duration.
pub const DEFAULT_ANOMALY_FACTOR: f64 = 3.0;

/// The shortest reference duration that is multiplied: one tick of a microsecond clock. A call shorter than a tick
/// has a duration of zero or one tick, by chance; without this minimum, the ticks would be anomalous.
const TICK: DurationNs = DurationNs::from_us(1);

/// The position of an occurrence on its pattern's curve.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Standing {
    /// Not longer than the reference duration.
    Reference,
    /// Longer than the reference duration, but not `s` times.
    Undecided,
    /// Longer than `s` times the reference duration.
    Anomalous,
}

/// Durations in ascending order, and the index of each in the input.
#[derive(Clone, Debug, Default)]
pub struct ReferenceCurve {
    sorted: Vec<DurationNs>,
    /// The index, in the input, of each duration.
    indices: Vec<u32>,
}

impl ReferenceCurve {
    /// Returns the curve of some durations; equal ones stay in the order given.
    pub fn new(durations: &[DurationNs]) -> Self {
        let mut order: Vec<(DurationNs, u32)> = durations.iter().copied().zip(0..).collect();
        order.sort_unstable();
        Self {
            sorted: order.iter().map(|&(duration, _)| duration).collect(),
            indices: order.iter().map(|&(_, index)| index).collect(),
        }
    }

    /// Returns the number of durations.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Returns whether there are no durations.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Returns the durations in ascending order: the curve as it is drawn.
    pub fn sorted(&self) -> &[DurationNs] {
        &self.sorted
    }

    /// Returns the index, in the input, of each one of [`Self::sorted`].
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Returns the reference duration d: the longest of the fastest share `q`, which holds at least one. `q` is
    /// clamped to 0 to 1; NaN is 1. Zero if the curve is empty.
    pub fn reference(&self, q: f64) -> DurationNs {
        let num_reference = self.num_reference(q);
        num_reference
            .checked_sub(1)
            .and_then(|last| self.sorted.get(last))
            .copied()
            .unwrap_or(DurationNs::ZERO)
    }

    /// Returns the longest duration that is not anomalous: `s` times the reference duration (or times a microsecond,
    /// if that is longer). Below 1 and for NaN, `s` is 1.
    pub fn limit(&self, q: f64, s: f64) -> DurationNs {
        let reference = self.reference(q);
        let factor = s.max(1.0);
        let micros = reference.max(TICK).as_secs_f64() * 1e9;
        DurationNs::nearest(micros * factor).max(reference)
    }

    /// Returns the position of a duration on the curve.
    pub fn standing(&self, duration: DurationNs, q: f64, s: f64) -> Standing {
        if duration <= self.reference(q) {
            Standing::Reference
        } else if duration <= self.limit(q, s) {
            Standing::Undecided
        } else {
            Standing::Anomalous
        }
    }

    /// Returns the number of durations of each kind: reference, undecided, anomalous.
    pub fn counts(&self, q: f64, s: f64) -> [usize; 3] {
        let (d, limit) = (self.reference(q), self.limit(q, s));
        let usual = self.sorted.partition_point(|&it| it <= d);
        let decided = self.sorted.partition_point(|&it| it <= limit);
        [usual, decided - usual, self.len() - decided]
    }

    /// Returns the indices, in the input, of the anomalous durations, shortest first.
    pub fn anomalous(&self, q: f64, s: f64) -> &[u32] {
        let limit = self.limit(q, s);
        let from = self.sorted.partition_point(|&it| it <= limit);
        self.indices.get(from..).unwrap_or_default()
    }

    /// Returns the size of the reference set: `q` of all durations, rounded up, and at least one.
    fn num_reference(&self, q: f64) -> usize {
        let q = if q.is_nan() { 1.0 } else { q.clamp(0.0, 1.0) };
        let all = u32::try_from(self.len()).unwrap_or(u32::MAX);
        let wanted = q * f64::from(all);
        let (mut low, mut high) = (all.min(1), all);
        while low < high {
            let middle = low + (high - low) / 2;
            if f64::from(middle) < wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        usize::try_from(low).unwrap_or(usize::MAX)
    }
}
