//! Copula based outlier detection (Li et al. 2020, doi:10.1109/ICDM50108.2020.00135) in one dimension.

use crate::grid;
use crate::hbos::surprise;
use crate::histogram::{Bin, Histogram};
use crate::isolation::Surroundings;
use crate::lookup::Lookup;
use crate::threshold::{Level, threshold};
use crate::verdict::Verdict;
use callgrove_model::Real;

/// The tail in which outliers are expected, by the sign of the skewness.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Skew {
    Left,
    None,
    Right,
}

impl Skew {
    fn of(skewness: f64) -> Self {
        if skewness < 0.0 {
            Self::Left
        } else if skewness > 0.0 {
            Self::Right
        } else {
            Self::None
        }
    }

    /// Returns the score from the surprises at the two tails: that of the skewed tail, or their mean if it is larger.
    fn score(self, left: f64, right: f64) -> f64 {
        let corrected = match self {
            Self::Left => left,
            Self::None => left + right,
            Self::Right => right,
        };
        corrected.max(f64::midpoint(left, right))
    }
}

/// A bin and the number of executions below it.
#[derive(Clone, Copy, Debug)]
struct CumulativeBin {
    first: u64,
    last: u64,
    count: u64,
    below: u64,
}

impl CumulativeBin {
    /// Returns the number of executions that took at most `value`, and the number that took at least `value`, which
    /// lies in the bin.
    ///
    /// The executions of a bin are assumed to be spread evenly from its first time to its last.
    fn tails(&self, value: u64, total: u64) -> (f64, f64) {
        let up_to = |distance: u64| match self.last - self.first {
            0 => self.count.real(),
            width => 1.0 + (self.count - 1).real() * (distance.real() / width.real()),
        };
        let above = total.saturating_sub(self.below.saturating_add(self.count));
        let left = self.below.real() + up_to(value - self.first);
        let right = above.real() + up_to(self.last - value);
        (left, right)
    }
}

/// The tails of a histogram.
#[derive(Clone, Debug)]
pub(crate) struct Copod {
    surroundings: Surroundings,
    precision: u32,
    lookup: Lookup,
    bins: Vec<CumulativeBin>,
    total: u64,
    skew: Skew,
    threshold: f64,
}

impl Copod {
    /// Returns a judge by the tails of a histogram, which is not empty.
    pub(crate) fn new(
        histogram: &Histogram,
        skewness: f64,
        surroundings: Surroundings,
        range_share: f64,
        min_threshold: f64,
    ) -> Self {
        let total = histogram.total();
        let mut below: u64 = 0;
        let with_count_below = |&bin: &Bin| {
            let (first, last) = histogram.range(bin);
            let cumulative = CumulativeBin {
                first,
                last,
                count: bin.count,
                below,
            };
            below = below.saturating_add(bin.count);
            cumulative
        };
        let mut copod = Self {
            precision: histogram.precision(),
            lookup: Lookup::new(histogram.bins()),
            bins: histogram.bins().iter().map(with_count_below).collect(),
            total,
            skew: Skew::of(skewness),
            threshold: 0.0,
            surroundings,
        };
        let mut levels: Vec<Level> = copod.levels().collect();
        let own = threshold(&mut levels, range_share, copod.surroundings.limit());
        copod.threshold = own.max(min_threshold);
        copod
    }

    /// Returns the scores in the middle of each bin.
    fn levels(&self) -> impl Iterator<Item = Level> {
        self.bins.iter().map(|bin| {
            let (left, right) = bin.tails(u64::midpoint(bin.first, bin.last), self.total);
            Level {
                score: self.score(left, right),
                count: bin.count,
            }
        })
    }

    fn score(&self, left: f64, right: f64) -> f64 {
        let total = self.total.real();
        self.skew
            .score(surprise(left / total), surprise(right / total))
    }

    pub(crate) fn threshold(&self) -> f64 {
        self.threshold
    }

    pub(crate) fn judge(&self, value: u64) -> Verdict {
        let (left, right) = match self.lookup.find(grid::index(value, self.precision)) {
            Ok(at) => self.bins[at].tails(value, self.total),
            Err(at) => {
                let below = self.bins.get(at).map_or(self.total, |bin| bin.below);
                (below.real(), (self.total - below).real())
            }
        };
        let score = self.score(left, right);
        Verdict {
            score,
            is_outlier: score >= self.threshold && self.surroundings.is_isolated(value),
        }
    }
}
