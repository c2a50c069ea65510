//! The long visits that a place has by design.
//!
//! The work at a place may differ by much from visit to visit, as in the levels of a graph search. Then a tenth of the
//! visits of most lanes are far above the median, and the spread below it does not show that.

use callgrove_model::Real;

/// Divisors of the visits of a lane: a tenth of them, a twentieth and a fortieth are longer than the three quantiles that
/// determine the tail.
const TAIL: [usize; 3] = [10, 20, 40];
/// Minimum number of visits of a lane above the last quantile: each lane may have three faults at a place.
const MIN_ABOVE: usize = 3;
/// Number of visits above the bound that are expected in the run.
const EXPECTED: f64 = 0.05;
/// Mean and variance of the shapes of tails among programs: an assumption.
const SHAPES: (f64, f64) = (0.2, 0.04);
/// Variance of Pickands' estimate of a shape, times the number of visits above the last quantile: 3 / (2 ln² 2).
const PICKANDS_VARIANCE: f64 = 3.122;

/// The visits of a place by one lane.
pub(super) struct LaneExcesses {
    pub(super) num_visits: usize,
    /// The excesses of the long ones over the usual duration, in nanoseconds.
    pub(super) long_ns: Vec<i64>,
    /// The excess from which on a visit is unusual, in nanoseconds.
    pub(super) least_ns: i64,
}

/// The upper end of the excesses of a place, as half of the lanes have it: a generalised Pareto distribution.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaceTail {
    /// A fortieth of the visits have a larger excess.
    from_ns: f64,
    scale_ns: f64,
    shape: f64,
    /// Number of visits above it in the run.
    num_above: f64,
}

impl PlaceTail {
    /// Returns the tail of a place if a tenth of the visits of half of the lanes are unusual. Faults of a few lanes do not
    /// change it.
    pub(super) fn of(lanes: Vec<LaneExcesses>) -> Option<Self> {
        let mut quantiles: Vec<[i64; 3]> = Vec::new();
        let mut least: Vec<i64> = Vec::new();
        let mut num_visits = 0;
        for mut lane in lanes {
            num_visits += lane.num_visits;
            lane.long_ns.sort_unstable_by(|a, b| b.cmp(a));
            quantiles.push(TAIL.map(|divisor| {
                let num_above = (lane.num_visits / divisor).max(MIN_ABOVE * TAIL[2] / divisor);
                lane.long_ns.get(num_above).copied().unwrap_or(0)
            }));
            least.push(lane.least_ns);
        }
        let middle = |mut of: Vec<i64>| {
            let at = (of.len() - 1) / 2;
            *of.select_nth_unstable(at).1
        };
        if least.is_empty() {
            return None;
        }
        let of_half = |at: usize| middle(quantiles.iter().map(|it| it[at]).collect());
        let [first, second, third] = [of_half(0), of_half(1), of_half(2)];
        if first <= middle(least) {
            return None;
        }
        let num_above = (num_visits / TAIL[2]).real();
        let (lower, upper) = ((second - first).real(), (third - second).real());
        let (mean, variance) = SHAPES;
        let shape = if lower > 0.0 && upper > 0.0 {
            let of_estimate = PICKANDS_VARIANCE / num_above.max(1.0);
            let estimate = (upper / lower).log2();
            (estimate * variance + mean * of_estimate) / (variance + of_estimate)
        } else {
            mean
        };
        let shape = shape.clamp(0.01, 1.0);
        // Between the quantiles lie scale / shape (4^shape - 1), with the scale at the first.
        let scale_ns = (third - first).real() * shape / (4.0_f64.powf(shape) - 1.0);
        Some(Self {
            from_ns: third.real(),
            scale_ns: scale_ns * 4.0_f64.powf(shape),
            shape,
            num_above,
        })
    }

    /// Returns the excess that fewer than `EXPECTED` visits of the run have by design, in nanoseconds.
    pub(super) fn bound_ns(&self) -> f64 {
        let ratio = (self.num_above / EXPECTED).max(1.0);
        let beyond = self.scale_ns * (ratio.powf(self.shape) - 1.0) / self.shape;
        self.from_ns + beyond
    }
}
