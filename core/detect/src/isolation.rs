//! Isolation: distinguishes a single execution from the edge of many similar ones.
//!
//! A low density alone does not make an outlier. The tail of any distribution ends in bins with one execution, short
//! data have many of them, and a threshold relative to the range of scores flags them all. The surroundings distinguish
//! the two: close to the end of a natural tail is the rest of the tail.
//!
//! The surroundings of a bin are the executions within a reach that follows from the width of the body. The body is the
//! highest density region (Hyndman 1996, doi:10.1080/00031305.1996.10473359) of 90 % of the executions: the fullest
//! bins, summed over all modes, so that gaps between modes, long tails and outliers do not widen it. Each side of the
//! median has its own reach, because the grid is close to logarithmic and expands the left tail. For a lognormal
//! distribution an execution must be about 5.2 standard deviations out to be isolated, nearly as far as SSTD requires
//! by default.
//!
//! An execution is isolated if its surroundings, including itself, hold at most as many executions as may be outliers.

use std::cmp::Reverse;

use crate::grid;
use crate::histogram::{Bin, Histogram};
use callgrove_model::Real;

/// Largest precision of scores and surroundings: with 2⁶ bins per octave, times that differ by less than 1.6 % are
/// alike.
const FINEST_SCORING: u32 = 6;

/// Share of the executions in the body.
const BODY: f64 = 0.9;

/// Ratio of the reach to the half width of the body: as far as the densest 99 % of a normal distribution.
const REACH: f64 = 2.576 / 1.645;

/// Number of executions that may be outliers together, however short the run is.
const ALLOWANCE: f64 = 2.0;

/// Largest share of all executions that may be outliers together: among less than 16 executions none is an outlier.
const LARGEST_SHARE: f64 = 1.0 / 16.0;

/// Number of executions above which the share that may be outliers falls with the square root of the number, like
/// random fluctuations of counts: a long run shows which rare events recur.
const SHORT_RUN: f64 = 10_000.0;

/// The histogram by which executions are scored, and the surroundings of its bins.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    histogram: Histogram,
    /// `below[i]` is the number of executions in bins before the i-th, shape `[num_bins + 1]`.
    below: Vec<u64>,
    body: Body,
    limit: u64,
    /// Index of the first bin; `positions` holds the position of each index from there on, or [`UNSEEN`].
    first: u64,
    positions: Vec<u16>,
    /// True for each bin whose executions are isolated, shape `[num_bins]`.
    isolated: Vec<bool>,
}

/// Marks a bin without executions. Positions are smaller: there are at most 65 octaves of 2⁶ bins.
const UNSEEN: u16 = u16::MAX;

impl Surroundings {
    /// Returns the surroundings if a share `outlier_share` may be outliers.
    ///
    /// The grid is coarsened until the number of occupied bins fits the number n of executions: at most 2 ∛n (Rice
    /// rule; Lane 2015, Introduction to Statistics).
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cube root has a third of the bits, and 65 octaves have 2⁶ bins each"
    )]
    pub(crate) fn new(all: &Histogram, outlier_share: f64) -> Self {
        let total = all.total();
        let num_bins = (2.0 * total.real().cbrt()).ceil() as usize;
        let histogram = all.coarsened(FINEST_SCORING, num_bins);
        let bins = histogram.bins();
        let mut below = Vec::with_capacity(bins.len() + 1);
        below.push(0);
        let mut sum: u64 = 0;
        for bin in bins {
            sum = sum.saturating_add(bin.count);
            below.push(sum);
        }
        let first = bins.first().map_or(0, |bin| bin.index);
        let span = bins.last().map_or(0, |bin| bin.index - first + 1);
        let mut positions = vec![UNSEEN; span as usize];
        for (position, bin) in (0_u16..).zip(bins) {
            positions[(bin.index - first) as usize] = position;
        }
        let mut surroundings = Self {
            below,
            body: Body::new(bins, total, outlier_share),
            limit: max_outliers(total, outlier_share),
            first,
            positions,
            isolated: Vec::new(),
            histogram,
        };
        let bins = surroundings.histogram.bins().iter();
        surroundings.isolated = bins
            .map(|bin| surroundings.would_be_isolated(bin.index))
            .collect();
        surroundings
    }

    /// Returns the histogram by which executions are scored.
    pub(crate) fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Returns the largest number of executions that are outliers together.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns whether the executions of each bin are isolated, shape `[num_bins]`.
    pub(crate) fn isolated(&self) -> &[bool] {
        &self.isolated
    }

    /// Returns the position of the bin of a time, if the bin holds any execution.
    #[inline]
    pub(crate) fn find(&self, value: u64) -> Option<usize> {
        let index = grid::index(value, self.histogram.precision());
        let slot = usize::try_from(index.wrapping_sub(self.first)).ok()?;
        let position = self.positions.get(slot).copied();
        position
            .filter(|&position| position != UNSEEN)
            .map(usize::from)
    }

    /// Returns whether an execution is isolated.
    #[inline]
    pub(crate) fn is_isolated(&self, value: u64) -> bool {
        self.find(value).map_or_else(
            || self.would_be_isolated(grid::index(value, self.histogram.precision())),
            |position| self.isolated[position],
        )
    }

    /// Returns whether executions in this bin, if there were any, would be isolated.
    fn would_be_isolated(&self, index: u64) -> bool {
        let bins = self.histogram.bins();
        let (first, last) = self.body.around(index);
        let start = bins.partition_point(|bin| bin.index < first);
        let end = bins.partition_point(|bin| bin.index <= last);
        self.below[end] - self.below[start] <= self.limit
    }
}

/// The width of the body on each side of the median, in bins.
#[derive(Clone, Copy, Default, Debug)]
struct Body {
    median: u64,
    below: u64,
    above: u64,
}

impl Body {
    /// Returns the body: the fullest bins that hold [`BODY`] of the executions, or all but `outlier_share` if that is
    /// less.
    fn new(bins: &[Bin], total: u64, outlier_share: f64) -> Self {
        let mut body = Self {
            median: median(bins, total),
            ..Self::default()
        };
        let mut fullest: Vec<Bin> = bins.to_vec();
        fullest.sort_unstable_by_key(|bin| (Reverse(bin.count), bin.index));
        let mut missing = BODY.min(1.0 - outlier_share) * total.real();
        for bin in fullest {
            if missing <= 0.0 {
                break;
            }
            missing -= bin.count.real();
            body.below += u64::from(bin.index <= body.median);
            body.above += u64::from(bin.index >= body.median);
        }
        body
    }

    /// Returns the first and the last bin of the surroundings of a bin.
    fn around(&self, index: u64) -> (u64, u64) {
        let width = if index < self.median {
            self.below
        } else {
            self.above
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a body is as wide as there are bins"
        )]
        let reach = ((REACH * width.real()).round() as u64).max(1);
        (index.saturating_sub(reach), index.saturating_add(reach))
    }
}

/// Returns the bin of the median.
fn median(bins: &[Bin], total: u64) -> u64 {
    let mut cumulative: u64 = 0;
    let median = bins.iter().find(|bin| {
        cumulative = cumulative.saturating_add(bin.count);
        cumulative >= total.div_ceil(2)
    });
    median.map_or(0, |bin| bin.index)
}

/// Returns the largest number of executions that may be outliers together.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share from 0 to 1 of a count is one, rounded down"
)]
fn max_outliers(total: u64, outlier_share: f64) -> u64 {
    let n = total.real();
    let share = outlier_share * n.min((SHORT_RUN * n).sqrt());
    share.max(ALLOWANCE.min(LARGEST_SHARE * n)) as u64
}
