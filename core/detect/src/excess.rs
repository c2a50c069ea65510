//! Outliers by improbably long times for their caller, weighted by the time that they cost.
//!
//! Times are on a logarithmic scale, x = ln(1 + t / µs), separately for each caller of the function.
//!
//! **Usual times.** A mode is where times are dense: half an octave holds 2.5 % of the executions, plus two standard
//! deviations of that number for chance. The usual range ends half an octave above the start of the last such position.
//! So modes of any number and the gaps between them are usual. Executions that are few, or many but spread over
//! octaves, are not.
//!
//! **Probability beyond.** Times above a level u are assumed to be Pareto distributed, which is exponential in x: of k
//! executions beyond u, (k + 1) · exp(−(x − u) / γ) take x or longer. γ is the median of x − u over ln 2, increased by
//! a factor of 1 + 2 / √k for safety, so up to a third of the tail may be anomalies. The first level is the end of the
//! usual range. Each further level has half of the executions beyond it, down to 32, so that a tail that falls ever
//! faster is followed. The smallest of all expectations counts. With less than 32 executions beyond the usual range, γ
//! follows from the decrease over the last mode. γ is at least 0.2. Executions beyond a first gap, of a factor of 1.6,
//! do not belong to the tail if they are at most 1 in 500, or two.
//!
//! **Outliers.** If N executions took t or longer and E are expected, then with a threshold of t about E / N of the
//! discoveries are false (Benjamini and Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x). The threshold is the
//! shortest t for which this share is at most (excess / severe)^1.75, or 1, where the excess is t less the median. An
//! execution that costs the severe time is reported as soon as it is improbable at all; one that costs a tenth of it
//! must be 56 times less probable. The severe time is also at least five times the longest usual time, so that long
//! functions are not reported for their ordinary tails.
//!
//! **Calls in a row.** If one execution of the caller calls a function many times, each call may be slightly longer. So
//! for five or more consecutive calls, all beyond the usual range, the excess is summed up: they count by their common
//! cost. A row is also improbable in itself, so E is divided by 4 for each call but the first. For independent calls
//! the factor would be far larger, but a disturbance of one call often affects the next.
//!
//! A caller with less than 32 executions is judged by the whole function if its median is usual there, and otherwise
//! not at all. A function with less than 32 executions is not judged.
//!
//! Cost: a pass over the bins to compile, and one comparison for a usual execution.

use crate::contexts::{CallerKey, Contexts, EpochRange};
use crate::histogram::Histogram;
use crate::verdict::{USUAL_SCORE, Verdict};
use callgrove_model::Real;

/// Number of executions from which a function or caller is judged and a tail is fitted.
const MIN_EXECUTIONS: u64 = 32;
/// Half an octave, the width in which the density is measured.
const WINDOW: f64 = std::f64::consts::LN_2 / 2.0;
/// Share of the executions within [`WINDOW`] that makes a mode, before two standard deviations are added for chance.
const MODE_SHARE: f64 = 0.025;
/// Smallest number of executions that makes a mode.
const MIN_MODE: f64 = 4.0;
/// The smallest γ: ten times as long is 100,000 times less probable.
const MIN_DECAY: f64 = 0.2;
/// Width of a gap: ln 1.6.
const GAP: f64 = 0.47;
/// At most one in this number of executions may be beyond a gap.
const GAP_SHARE: u64 = 500;
/// Number of executions that may always be beyond a gap.
const MIN_GAP: u64 = 2;
/// The severe time is at least this many times the longest usual time.
const SEVERE_FACTOR: f64 = 5.0;
/// The exponent by which less severe executions need more evidence.
const SEVERITY_POWER: f64 = 1.75;

/// Factor by which the evidence grows with each further call of a row: one in four harmless calls beyond the usual
/// range is followed by another.
const ROW_FACTOR: f64 = 4.0;
/// Smallest number of calls of a row: on a busy machine, two or three calls are often disturbed together.
const MIN_ROW: u32 = 5;
/// Number of further calls beyond which a row does not become less probable.
const MAX_ROW: f64 = 30.0;

/// Consecutive calls of a function by one execution of its caller, none of them usual.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallsInRow {
    /// Number of calls.
    pub num_calls: u32,
    /// The sum of their excesses over the median, in µs.
    pub excess_us: u64,
}

/// The verdict on usual executions.
const USUAL: Verdict = Verdict {
    score: USUAL_SCORE,
    is_outlier: false,
};

/// The thresholds of a function, by caller.
#[derive(Clone, Debug)]
pub(crate) struct Excess {
    /// Every execution up to this time in µs is usual, for any caller.
    usual_us: u64,
    /// The first is that of the whole function.
    thresholds: Vec<ContextThreshold>,
    /// The index of the threshold of each tracked caller, ordered by caller; `None` if it has too few executions.
    by_caller: Vec<(CallerKey, Option<usize>)>,
}

/// The usual range and the outlier threshold of one context.
#[derive(Clone, Debug)]
pub(crate) struct ContextThreshold {
    usual_us: u64,
    outlier_us: u64,
    median_us: u64,
    /// The excess that counts fully.
    severe_us: f64,
    /// Beyond the usual range: the first time of each bin, and the number of executions that took at least as long.
    seen: Vec<(u64, u64)>,
    tail: Tail,
    histogram: Histogram,
}

/// The expected number of executions beyond the usual range.
#[derive(Clone, Debug)]
struct Tail {
    total: f64,
    levels: Vec<Level>,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    start: f64,
    count: f64,
    decay: f64,
}

impl Excess {
    /// Returns `None` if the function has too few executions. `severe_us` is the excess that counts fully.
    pub(crate) fn new(contexts: &Contexts, range: EpochRange, severe_us: f64) -> Option<Self> {
        let whole = ContextThreshold::new(contexts.sum(range), severe_us)?;
        let whole_usual_us = whole.usual_us;
        let mut thresholds = vec![whole];
        let mut by_caller = Vec::new();
        for (caller, histogram) in contexts.callers(range) {
            let median_us = LogBins::new(&histogram).median_us;
            if let Some(threshold) = ContextThreshold::new(histogram, severe_us) {
                by_caller.push((caller, Some(thresholds.len())));
                thresholds.push(threshold);
            } else {
                // Few executions: if they are unusual for the function, they are of their own kind and not judged.
                let threshold = (median_us <= whole_usual_us).then_some(0);
                by_caller.push((caller, threshold));
            }
        }
        let usual_us = thresholds.iter().map(|it| it.usual_us).min()?;
        Some(Self {
            usual_us,
            thresholds,
            by_caller,
        })
    }

    /// Returns the index of the threshold for a caller. 0 is that of the whole function; `None` means that the caller
    /// is not judged.
    pub(crate) fn index(&self, caller: CallerKey) -> Option<usize> {
        let found = self.by_caller.binary_search_by_key(&caller, |it| it.0);
        found.map_or(Some(0), |at| self.by_caller[at].1)
    }

    pub(crate) fn thresholds(&self) -> &[ContextThreshold] {
        &self.thresholds
    }

    /// Returns whether every execution up to this time is usual, for any caller.
    #[inline]
    pub(crate) fn is_usual(&self, time_us: u64) -> bool {
        time_us <= self.usual_us
    }

    #[inline]
    pub(crate) fn judge(&self, caller: CallerKey, time_us: u64) -> Verdict {
        if self.is_usual(time_us) {
            return USUAL;
        }
        self.index(caller)
            .map_or(USUAL, |index| self.thresholds[index].judge(time_us))
    }

    /// Judges an execution among others in a row.
    pub(crate) fn judge_in_row(&self, caller: CallerKey, time_us: u64, row: CallsInRow) -> Verdict {
        let verdict = self.judge(caller, time_us);
        let threshold = self.index(caller).map(|index| &self.thresholds[index]);
        let is_outlier = threshold.is_some_and(|it| it.is_outlier_in_row(time_us, row));
        Verdict {
            is_outlier: verdict.is_outlier || is_outlier,
            ..verdict
        }
    }

    /// Returns how much longer than the median an execution took; `None` if it is usual or not judged.
    pub(crate) fn excess_us(&self, caller: CallerKey, time_us: u64) -> Option<u64> {
        let threshold = self.thresholds.get(self.index(caller)?)?;
        (time_us > threshold.usual_us).then(|| time_us.saturating_sub(threshold.median_us))
    }
}

impl ContextThreshold {
    fn new(histogram: Histogram, severe_us: f64) -> Option<Self> {
        let bins = LogBins::new(&histogram);
        if bins.total() < MIN_EXECUTIONS {
            return None;
        }
        let mode = bins.last_mode()?;
        let end = bins.x[mode] + WINDOW;
        let beyond = bins.position(end);
        let tail = bins.tail(mode, beyond);
        let usual_us = histogram.range(histogram.bins()[beyond - 1]).1;
        let severe_us = severe_us.max(SEVERE_FACTOR * usual_us.real());
        let outlier_us = bins.shortest_outlier_us(beyond, &tail, severe_us);
        let first = |&bin| histogram.range(bin).0;
        let firsts = histogram.bins()[beyond..].iter().map(first);
        Some(Self {
            usual_us,
            outlier_us,
            median_us: bins.median_us,
            severe_us,
            seen: firsts.zip(bins.above[beyond..].iter().copied()).collect(),
            tail,
            histogram,
        })
    }

    pub(crate) fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Returns the time in µs from which executions are outliers.
    pub(crate) fn outlier_us(&self) -> u64 {
        self.outlier_us
    }

    pub(crate) fn judge(&self, time_us: u64) -> Verdict {
        if time_us <= self.usual_us {
            return USUAL;
        }
        Verdict {
            score: self.tail.score(scale(time_us)),
            is_outlier: time_us >= self.outlier_us,
        }
    }

    fn is_outlier_in_row(&self, time_us: u64, row: CallsInRow) -> bool {
        if row.num_calls < MIN_ROW || time_us <= self.usual_us {
            return false;
        }
        let at = self.seen.partition_point(|it| it.0 <= time_us);
        let seen = at.checked_sub(1).and_then(|at| self.seen.get(at));
        let further = f64::from(row.num_calls - 1).min(MAX_ROW);
        let severity = row.excess_us.real() / self.severe_us;
        seen.is_some_and(|&(_, seen)| {
            let expected = self.tail.expected(scale(time_us)) / ROW_FACTOR.powf(further);
            is_exceeded(expected, seen, severity)
        })
    }
}

impl Tail {
    /// Returns the expected number of executions that take as long or longer.
    fn expected(&self, x: f64) -> f64 {
        let beyond = self.levels.iter().filter(|level| level.start <= x);
        beyond
            .map(|level| level.count * (-(x - level.start) / level.decay).exp())
            .fold(self.total, f64::min)
    }

    /// Returns −log₁₀ of the probability.
    fn score(&self, x: f64) -> f64 {
        (self.total / self.expected(x)).log10().max(0.0)
    }
}

/// The occupied bins on the logarithmic scale.
struct LogBins<'a> {
    histogram: &'a Histogram,
    /// The middles of the bins.
    x: Vec<f64>,
    /// Number of executions in this bin and all above, followed by a 0; shape `[num_bins + 1]`.
    above: Vec<u64>,
    median_us: u64,
}

impl<'a> LogBins<'a> {
    fn new(histogram: &'a Histogram) -> Self {
        let bins = histogram.bins();
        let middle = |&bin| {
            let (first, last) = histogram.range(bin);
            f64::midpoint(first.real(), last.real()).ln_1p()
        };
        let mut above = vec![0; bins.len() + 1];
        for (at, bin) in bins.iter().enumerate().rev() {
            above[at] = above[at + 1] + bin.count;
        }
        let median = above.partition_point(|&count| 2 * count > above[0]);
        Self {
            histogram,
            x: bins.iter().map(middle).collect(),
            median_us: bins
                .get(median.saturating_sub(1))
                .map_or(0, |&bin| histogram.range(bin).0),
            above,
        }
    }

    fn total(&self) -> u64 {
        self.above[0]
    }

    /// Returns the first bin at or above x.
    fn position(&self, x: f64) -> usize {
        self.x.partition_point(|&other| other < x)
    }

    fn count(&self, from: f64, to: f64) -> u64 {
        self.above[self.position(from)] - self.above[self.position(to)]
    }

    /// Returns the end of the last mode: the last bin from which times are dense.
    fn last_mode(&self) -> Option<usize> {
        let expected = MODE_SHARE * self.total().real();
        let min_count = (expected + 2.0 * expected.sqrt()).max(MIN_MODE);
        let is_dense = |&x: &f64| self.count(x, x + WINDOW).real() >= min_count;
        self.x.iter().rposition(is_dense)
    }

    /// Returns the first bin above a gap that has few executions above it.
    fn gap(&self, beyond: usize) -> usize {
        let bins = self.histogram.bins();
        let few = (self.total() / GAP_SHARE).max(MIN_GAP);
        let is_after_gap = |at: &usize| {
            let below = scale(self.histogram.range(bins[at - 1]).1);
            let above = scale(self.histogram.range(bins[*at]).0);
            above - below >= GAP && self.above[*at] <= few
        };
        (beyond..bins.len())
            .find(is_after_gap)
            .unwrap_or(bins.len())
    }

    fn tail(&self, mode: usize, beyond: usize) -> Tail {
        let top = self.above[self.gap(beyond)];
        let from = self.x[mode];
        let mut tail = Tail {
            total: self.total().real(),
            levels: Vec::new(),
        };
        let mut start = from + WINDOW;
        let mut first = beyond;
        loop {
            let count = self.above[first].saturating_sub(top);
            if count < MIN_EXECUTIONS {
                break;
            }
            let half = self.above.partition_point(|&above| above > top + count / 2) - 1;
            let safety = 1.0 + 2.0 / count.real().sqrt();
            let decay = (self.x[half] - start) / std::f64::consts::LN_2 * safety;
            tail.levels.push(Level {
                start,
                count: (count + 1).real(),
                decay: decay.max(MIN_DECAY),
            });
            start = self.x[half];
            first = half + 1;
        }
        if tail.levels.is_empty() {
            let [inner, outer] = [mode, beyond].map(|at| self.above[at].saturating_sub(top) + 1);
            let safety = 1.0 + 2.0 / outer.real().sqrt();
            let decay = WINDOW / (inner.real() / outer.real()).ln() * safety;
            tail.levels.push(Level {
                start,
                count: outer.real(),
                decay: decay.max(MIN_DECAY),
            });
        }
        tail
    }

    /// Returns the shortest time that is an outlier.
    fn shortest_outlier_us(&self, beyond: usize, tail: &Tail, severe_us: f64) -> u64 {
        let is_outlier = |time_us: u64, seen: u64| {
            let excess_us = time_us.saturating_sub(self.median_us).real();
            is_exceeded(tail.expected(scale(time_us)), seen, excess_us / severe_us)
        };
        let bins = self.histogram.bins();
        for (&bin, &seen) in bins.iter().zip(&self.above).skip(beyond) {
            let (first, _) = self.histogram.range(bin);
            if is_outlier(first, seen) {
                return first;
            }
        }
        // Longer times have not occurred, so each is judged as if it occurred once.
        let longest = bins.last().map_or(0, |&bin| self.histogram.range(bin).1);
        let further = std::iter::successors(longest.checked_add(1), |time| time.checked_mul(2));
        further
            .into_iter()
            .find(|&time| is_outlier(time, 1))
            .unwrap_or(u64::MAX)
    }
}

/// Returns whether the number of executions seen exceeds the expected number by enough for the cost of one of them, as
/// a share of the severe time.
fn is_exceeded(expected: f64, seen: u64, severity: f64) -> bool {
    let false_share = severity.powf(SEVERITY_POWER).min(1.0);
    expected <= false_share * seen.real()
}

fn scale(time_us: u64) -> f64 {
    time_us.real().ln_1p()
}
