//! The curve of a pattern's durations, and what is usual on it.
//!
//! Sorted by duration, the occurrences of a pattern draw a curve: flat over those that went as always, steep at
//! its end. The fastest share `q` is the *reference set*, and the longest of it, `d`, the reference duration. Up
//! to `d` an occurrence is as always, from there to `s × d` nothing is said, and beyond it is anomalous. So slow
//! ones near the border of the reference set are not accused for three per cent (slides 25 to 34 of Mosli
//! Bouksiaa, Trahay, Thomas: Détection automatique d'anomalies de performance).
//!
//! Sorting costs O(n log n), once. Then any `q` and `s` cost O(log n), so both can be dragged.

use callgrove_model::DurationNs;

/// Share of the occurrences that are taken as the reference, if nothing else is asked for.
pub const DEFAULT_REFERENCE_SHARE: f64 = 0.75;

/// How many times the reference duration an occurrence lasts at least to be anomalous, if nothing else is
/// asked for.
pub const DEFAULT_ANOMALY_FACTOR: f64 = 3.0;

/// The shortest reference duration that is multiplied: one tick of a microsecond clock. A call shorter than the
/// clock's tick lasts nothing or a tick, by chance; without this, the ticks would be anomalous.
const TICK: DurationNs = DurationNs::from_us(1);

/// How an occurrence stands on its pattern's curve.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Standing {
    /// Not longer than the reference duration.
    Reference,
    /// Longer than the reference duration, but not `s` times.
    Undecided,
    /// Longer than `s` times the reference duration.
    Anomalous,
}

/// Durations in ascending order, and whose they are.
#[derive(Clone, Debug, Default)]
pub struct ReferenceCurve {
    sorted: Vec<DurationNs>,
    /// The place, in what was given, of each duration.
    places: Vec<u32>,
}

impl ReferenceCurve {
    /// The curve of some durations; equal ones stay in the order given.
    pub fn new(durations: &[DurationNs]) -> Self {
        let mut order: Vec<(DurationNs, u32)> = durations.iter().copied().zip(0..).collect();
        order.sort_unstable();
        Self {
            sorted: order.iter().map(|&(duration, _)| duration).collect(),
            places: order.iter().map(|&(_, place)| place).collect(),
        }
    }

    /// Number of durations.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The durations, shortest first: the curve as it is drawn.
    pub fn sorted(&self) -> &[DurationNs] {
        &self.sorted
    }

    /// The place, in the durations given, of each one of [`Self::sorted`].
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// The reference duration d: the longest of the fastest share `q`, of which there is at least one. `q` is
    /// taken into 0 to 1; NaN is 1. Zero if the curve is empty.
    pub fn reference(&self, q: f64) -> DurationNs {
        let num_reference = self.num_reference(q);
        num_reference
            .checked_sub(1)
            .and_then(|last| self.sorted.get(last))
            .copied()
            .unwrap_or(DurationNs::ZERO)
    }

    /// The longest duration that is not anomalous: `s` times the reference duration (or times a microsecond, if
    /// that is longer). Below 1 and NaN, `s` is 1.
    pub fn limit(&self, q: f64, s: f64) -> DurationNs {
        let reference = self.reference(q);
        let factor = s.max(1.0);
        let micros = reference.max(TICK).as_secs_f64() * 1e9;
        DurationNs::nearest(micros * factor).max(reference)
    }

    /// How a duration stands on the curve.
    pub fn standing(&self, duration: DurationNs, q: f64, s: f64) -> Standing {
        if duration <= self.reference(q) {
            Standing::Reference
        } else if duration <= self.limit(q, s) {
            Standing::Undecided
        } else {
            Standing::Anomalous
        }
    }

    /// Number of durations of each standing: reference, undecided, anomalous.
    pub fn counts(&self, q: f64, s: f64) -> [usize; 3] {
        let (d, limit) = (self.reference(q), self.limit(q, s));
        let usual = self.sorted.partition_point(|&it| it <= d);
        let decided = self.sorted.partition_point(|&it| it <= limit);
        [usual, decided - usual, self.len() - decided]
    }

    /// The places, in the durations given, of the anomalous ones, shortest first.
    pub fn anomalous(&self, q: f64, s: f64) -> &[u32] {
        let limit = self.limit(q, s);
        let from = self.sorted.partition_point(|&it| it <= limit);
        self.places.get(from..).unwrap_or_default()
    }

    /// The size of the reference set: the least whole number that is at least `q` of all, and at least one.
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
