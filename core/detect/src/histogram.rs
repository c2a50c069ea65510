//! Counts of execution times in a bounded number of bins, independent of the order of the times.

use serde::{Deserialize, Serialize};

use crate::error::{DetectError, Result, damaged};
use crate::grid;
use crate::moments::Moments;
use crate::params::Params;
use crate::power_sums::Extremes;
use callgrove_model::Real;

/// Smallest size of a batch that is sorted or tabulated before it is added to existing bins; smaller ones are added
/// value by value.
const SMALL_BATCH: usize = 24;

/// A batch is counted in a table if its bins span at most this many times its size, and is sorted otherwise.
const MAX_BINS_PER_VALUE: u64 = 4;

/// A bin of a [`Histogram`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct Bin {
    /// The index in the grid of the histogram's precision.
    pub index: u64,
    /// Number of executions in it, at least 1.
    pub count: u64,
}

impl From<(u64, u64)> for Bin {
    fn from((index, count): (u64, u64)) -> Self {
        Self { index, count }
    }
}

impl From<Bin> for (u64, u64) {
    fn from(bin: Bin) -> Self {
        (bin.index, bin.count)
    }
}

/// How often each time occurred; times are integer microseconds.
///
/// Bins belong to a fixed grid: at precision p each octave has 2ᵖ bins of equal width, and times below 2ᵖ⁺¹ µs have one
/// bin each, so a bin is never wider than 2⁻ᵖ of its times. p is the largest precision at which at most `max_bins` bins
/// are occupied. Grids nest, and every further time occupies the same bins or more. So p only falls, and its final
/// value depends on the times alone: adding values one by one, in batches, or in histograms of parts, in any order and
/// grouping, gives equal histograms, and no execution is lost. A distant outlier costs one bin, not the resolution of
/// all others.
///
/// ```
/// use callgrove_detect::Histogram;
///
/// let mut all = Histogram::new(200);
/// all.extend(&[10, 12, 12, 1_000_000]);
/// let mut part = Histogram::new(200);
/// part.extend(&[1_000_000, 12]);
/// let mut other = Histogram::new(200);
/// other.extend(&[12, 10]);
/// other.merge(&part);
/// assert_eq!(other, all);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Histogram {
    max_bins: usize,
    precision: u32,
    /// Occupied bins, in order of their index.
    bins: Vec<Bin>,
}

impl Histogram {
    /// Returns an empty histogram that will have at most `max_bins` occupied bins, at least [`Params::MIN_BINS`].
    pub fn new(max_bins: usize) -> Self {
        Self {
            max_bins: max_bins.max(Params::MIN_BINS),
            precision: grid::FINEST,
            bins: Vec::new(),
        }
    }

    /// Returns an empty histogram with at most 2^`precision` bins per octave.
    pub(crate) fn with_precision(precision: u32, max_bins: usize) -> Self {
        Self {
            precision,
            ..Self::new(max_bins)
        }
    }

    /// Returns an empty histogram on the grid of this one, to count a part that will be merged into it without starting
    /// on a finer grid than necessary.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self {
            max_bins: self.max_bins,
            precision: self.precision,
            bins: Vec::new(),
        }
    }

    /// Adds one time.
    pub fn insert(&mut self, value: u64) {
        let index = grid::index(value, self.precision);
        match self.bins.binary_search_by_key(&index, |bin| bin.index) {
            Ok(at) => self.bins[at].count = self.bins[at].count.saturating_add(1),
            Err(at) => {
                self.bins.insert(at, Bin { index, count: 1 });
                self.settle();
            }
        }
    }

    /// Adds many times. Linear in their number once the grid has settled.
    pub fn extend(&mut self, values: &[u64]) {
        if let Some(range) = Extremes::of(values) {
            self.extend_within(values, range);
        }
    }

    /// Adds at least one time; the smallest and the largest are those of `range`.
    pub(crate) fn extend_within(&mut self, values: &[u64], range: Extremes) {
        if self.bins.is_empty() {
            self.bins = count_bins(values, range, self.precision);
            self.settle();
        } else if values.len() < SMALL_BATCH {
            for &value in values {
                self.insert(value);
            }
        } else {
            self.add(&count_bins(values, range, self.precision));
            self.settle();
        }
    }

    /// Adds the counts of another histogram; the smaller `max_bins` of the two applies.
    pub fn merge(&mut self, other: &Self) {
        self.max_bins = self.max_bins.min(other.max_bins);
        // An empty histogram also has a grid, but no bins that need it.
        if !other.bins.is_empty() {
            self.coarsen(other.precision);
            if other.precision == self.precision {
                self.add(&other.bins);
            } else {
                self.add(&other.coarsened(self.precision, other.bins.len()).bins);
            }
        }
        self.settle();
    }

    /// Returns the largest allowed number of occupied bins.
    pub fn max_bins(&self) -> usize {
        self.max_bins
    }

    /// Returns p: each octave has 2ᵖ bins.
    pub fn precision(&self) -> u32 {
        self.precision
    }

    /// Returns the occupied bins, in ascending order of index.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// Returns the number of executions counted.
    pub fn total(&self) -> u64 {
        self.bins
            .iter()
            .fold(0, |total, bin| total.saturating_add(bin.count))
    }

    /// Returns the smallest and the largest time of a bin in µs.
    pub fn range(&self, bin: Bin) -> (u64, u64) {
        (
            grid::first(bin.index, self.precision),
            grid::last(bin.index, self.precision),
        )
    }

    /// Returns the counts of all bins from the first occupied to the last, shape `[num_bins]`, and their edges in µs,
    /// shape `[num_bins + 1]`. Without executions both are empty.
    ///
    /// Times are integers, so edges lie halfway between two. All empty bins between two occupied ones are returned as
    /// one.
    pub fn counts_and_edges(&self) -> (Vec<u64>, Vec<f64>) {
        let mut counts = Vec::with_capacity(self.bins.len() + 1);
        let mut edges = Vec::with_capacity(self.bins.len() + 2);
        for &bin in &self.bins {
            let (first, last) = self.range(bin);
            let lower = first.real() - 0.5;
            match edges.last() {
                None => edges.push(lower),
                Some(&upper) if upper < lower => {
                    counts.push(0);
                    edges.push(lower);
                }
                Some(_) => {}
            }
            counts.push(bin.count);
            edges.push(last.real() + 0.5);
        }
        (counts, edges)
    }

    /// Returns a histogram from its parts.
    ///
    /// # Errors
    /// [`DetectError::Damaged`] if the bins do not ascend, are empty, are too many, are not on the grid, or hold more
    /// than [`Moments::MAX_COUNT`] executions, or if `max_bins` is out of range.
    pub fn from_parts(max_bins: usize, precision: u32, bins: Vec<Bin>) -> Result<Self> {
        let damaged = |what| Err(damaged("a histogram", what));
        if !(Params::MIN_BINS..=Params::MAX_BINS).contains(&max_bins) {
            return damaged("the bound on bins");
        }
        if precision > grid::FINEST {
            return damaged("the precision");
        }
        if bins.len() > max_bins {
            return damaged("the number of bins");
        }
        let last_index = grid::last_index(precision);
        if bins.last().is_some_and(|bin| bin.index > last_index) {
            return damaged("the last bin");
        }
        if !bins.is_sorted_by(|a, b| a.index < b.index) {
            return damaged("the order of bins");
        }
        if bins.iter().any(|bin| bin.count == 0) {
            return damaged("an empty bin");
        }
        let total = bins
            .iter()
            .try_fold(0_u64, |sum, bin| sum.checked_add(bin.count));
        if total.is_none_or(|total| total > Moments::MAX_COUNT) {
            return damaged("the sum of counts");
        }
        Ok(Self {
            max_bins,
            precision,
            bins,
        })
    }

    /// Returns this histogram on a grid of at most `precision`, with at most `num_bins` occupied bins but at least one
    /// per octave.
    pub(crate) fn coarsened(&self, precision: u32, num_bins: usize) -> Self {
        let precision = precision.min(self.finest_with(num_bins));
        let mut coarse = Self {
            max_bins: self.max_bins,
            precision,
            bins: Vec::with_capacity(num_bins.min(self.bins.len())),
        };
        let moved = self.bins.iter();
        moved.for_each(|bin| append(&mut coarse.bins, self.moved(bin, precision)));
        coarse
    }

    /// Coarsens the grid until there are at most `max_bins` bins.
    fn settle(&mut self) {
        if self.bins.len() > self.max_bins {
            self.coarsen(self.finest_with(self.max_bins));
        }
    }

    /// Returns the finest precision, up to the current one, at which at most `num_bins` bins are occupied; 0 if even
    /// that has more.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "there are as many precisions as bits"
    )]
    fn finest_with(&self, num_bins: usize) -> u32 {
        if self.bins.len() <= num_bins {
            return self.precision;
        }
        // Number of adjacent bins by the precision at which they become separate.
        let mut num_separating = [0_usize; u64::BITS as usize];
        for pair in self.bins.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|bin| grid::first(bin.index, self.precision));
            num_separating[grid::separating_precision(a, b) as usize] += 1;
        }
        let mut num_occupied = 1;
        let fits = |&&num: &&usize| {
            num_occupied += num;
            num_occupied <= num_bins
        };
        let num_fitting = num_separating.iter().take_while(fits).count();
        num_fitting.saturating_sub(1) as u32
    }

    /// Returns a bin of this histogram on a grid that is not finer.
    fn moved(&self, bin: &Bin, precision: u32) -> Bin {
        Bin {
            index: grid::index(grid::first(bin.index, self.precision), precision),
            count: bin.count,
        }
    }

    /// Moves the counts to the grid of `precision`, if that is coarser.
    fn coarsen(&mut self, precision: u32) {
        if precision < self.precision {
            *self = self.coarsened(precision, self.bins.len());
        }
    }

    /// Adds bins of this grid with ascending indices in place, because most are already occupied.
    fn add(&mut self, others: &[Bin]) {
        if self.bins.is_empty() {
            self.bins.extend_from_slice(others);
            return;
        }
        let (mut at, mut num_missing) = (0, 0);
        for other in others {
            while self.bins.get(at).is_some_and(|it| it.index < other.index) {
                at += 1;
            }
            match self.bins.get_mut(at) {
                Some(our) if our.index == other.index => {
                    our.count = our.count.saturating_add(other.count);
                }
                _ => num_missing += 1,
            }
        }
        // From the end on, each bin moves up by the number of bins to insert before it.
        let mut left = self.bins.len();
        self.bins.resize(left + num_missing, Bin::from((0, 0)));
        for other in others.iter().rev() {
            if num_missing == 0 {
                return;
            }
            while left > 0 && self.bins[left - 1].index > other.index {
                left -= 1;
                self.bins[left + num_missing] = self.bins[left];
            }
            if left == 0 || self.bins[left - 1].index < other.index {
                num_missing -= 1;
                self.bins[left + num_missing] = *other;
            }
        }
    }
}

/// Appends a bin that does not come before the last one, or adds its count to the last one.
#[inline]
fn append(bins: &mut Vec<Bin>, bin: Bin) {
    match bins.last_mut() {
        Some(last) if last.index == bin.index => last.count = last.count.saturating_add(bin.count),
        _ => bins.push(bin),
    }
}

/// Returns the bins of many times, ascending.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a table has at most MAX_BINS_PER_VALUE entries for each value"
)]
fn count_bins(values: &[u64], range: Extremes, precision: u32) -> Vec<Bin> {
    let indices = values.iter().map(|&value| grid::index(value, precision));
    let [first, last] = [range.min, range.max].map(|value| grid::index(value, precision));
    if last - first < MAX_BINS_PER_VALUE * values.len() as u64 {
        let mut counts = vec![0_u64; (last - first + 1) as usize];
        for index in indices {
            counts[(index - first) as usize] += 1;
        }
        let mut bins = Vec::with_capacity(counts.iter().filter(|&&count| count > 0).count());
        for (index, &count) in (first..).zip(&counts) {
            if count > 0 {
                bins.push(Bin { index, count });
            }
        }
        return bins;
    }
    let mut indices: Vec<u64> = indices.collect();
    indices.sort_unstable();
    let runs = indices.chunk_by(|a, b| a == b);
    let mut bins = Vec::with_capacity(runs.clone().count());
    bins.extend(runs.map(|run| Bin {
        index: run[0],
        count: run.len() as u64,
    }));
    bins
}

/// The stored form of a histogram.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    max_bins: usize,
    precision: u32,
    bins: Vec<Bin>,
}

impl From<Histogram> for Parts {
    fn from(histogram: Histogram) -> Self {
        let Histogram {
            max_bins,
            precision,
            bins,
        } = histogram;
        Self {
            max_bins,
            precision,
            bins,
        }
    }
}

impl TryFrom<Parts> for Histogram {
    type Error = DetectError;

    fn try_from(parts: Parts) -> Result<Self> {
        Self::from_parts(parts.max_bins, parts.precision, parts.bins)
    }
}
