//! Median, spread and upper quantiles of the durations of a place on a lane.

use callgrove_model::DurationNs;

/// Factor from the distance of the first tenth below the median to a standard deviation above it: 1.4 / 1.28 = 35 /
/// 32.
const UPWARDS: (i64, i64) = (35, 32);
/// Divisor of the median that gives the minimum spread, 3 %: clocks tick, and caches and frequencies vary.
const MIN_SPREAD_DIVISOR: i64 = 33;
/// Number of spreads of the others by which the median of a slower lane is above theirs.
const SLOWER: i64 = 4;
/// Factor by which the spread of an unsteady lane is larger than that of the others.
const UNSTEADY: i64 = 3;

/// Divisors of a number of durations: a tenth of them and a fortieth are longer than the two upper quantiles.
const UPPER: [usize; 2] = [10, 40];
/// Minimum number of durations above the last quantile: each lane may have three faults at a place.
const MIN_ABOVE: usize = 3;

/// Median, spread and upper quantiles of some durations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Centre {
    pub(super) median_ns: i64,
    pub(super) spread_ns: i64,
    /// The quantiles .90 and .975; the median if there are too few durations.
    pub(super) upper: [DurationNs; 2],
}

impl Centre {
    /// Computes the centre of durations in any order; reorders them.
    pub(super) fn of(durations: &mut [i64]) -> Option<Self> {
        let last = durations.len().checked_sub(1)?;
        let (below, median, mut above) = durations.select_nth_unstable(last / 2);
        let median_ns = *median;
        let upper = UPPER.map(|divisor| {
            let num_above = (last / divisor).max(MIN_ABOVE * UPPER[1] / divisor);
            let Some(at) = above.len().checked_sub(num_above + 1) else {
                return DurationNs(median_ns);
            };
            let (_, quantile, rest) = std::mem::take(&mut above).select_nth_unstable(at);
            above = rest;
            DurationNs(*quantile)
        });
        let tenth = last / 10;
        let tenth_ns = match below.len() {
            0 => median_ns,
            _ if tenth >= below.len() => median_ns,
            _ => *below.select_nth_unstable(tenth).1,
        };
        Some(Self {
            median_ns,
            spread_ns: (median_ns - tenth_ns).saturating_mul(UPWARDS.0) / UPWARDS.1,
            upper,
        })
    }

    /// Returns the minimum spread.
    pub(super) fn least(&self) -> i64 {
        self.median_ns / MIN_SPREAD_DIVISOR
    }
}

/// Returns the centre that applies to a lane among others.
pub(super) fn among(own: Centre, others: Centre) -> Centre {
    let spread_ns = others.spread_ns.max(others.least());
    let is_slower = own.median_ns > others.median_ns + SLOWER * spread_ns;
    if is_slower && own.spread_ns > UNSTEADY * spread_ns {
        return others;
    }
    let most_ns = others.spread_ns.saturating_mul(UNSTEADY).max(own.least());
    Centre {
        spread_ns: own.spread_ns.min(most_ns),
        ..own
    }
}

/// Returns the medians of several medians, spreads and quantiles.
pub(super) fn middle(centres: &[Centre]) -> Centre {
    let median = |of: &dyn Fn(&Centre) -> i64| {
        let mut values: Vec<i64> = centres.iter().map(of).collect();
        let at = values.len() / 2;
        *values.select_nth_unstable(at).1
    };
    Centre {
        median_ns: median(&|it| it.median_ns),
        spread_ns: median(&|it| it.spread_ns),
        upper: [0, 1].map(|which| DurationNs(median(&|it| it.upper[which].0))),
    }
}
