//! Executions that took improbably long for who called them, weighed by the time that they cost.
//!
//! Times are on a logarithmic scale, x = ln(1 + t / µs), for each caller of the function on its own.
//!
//! **What is usual.** A mode is where times are dense: half an octave holds 2.5 % of the executions, and two standard
//! deviations of that for chance. The usual ends half an octave above the start of the last such place. So modes of any
//! number and the gaps between them are usual; executions that are few, or many but spread over octaves, are not.
//!
//! **What is probable beyond.** Times above a level u are taken to be Pareto distributed, which is exponential in x: of
//! k executions beyond it, (k + 1) · exp(−(x − u) / γ) take x or longer. γ is the median of x − u over ln 2, and
//! 2 / √k more for safety, so up to a third of the tail may be anomalies. The first level is the end of the usual, each next one has
//! half of the executions beyond it, down to 32, so a tail that falls ever faster is followed; the least of all
//! expectations counts. Where there are less than 32, γ follows from how the number falls over the last mode. γ is at
//! least 0.2. Executions beyond a first gap, of a factor of 1.6, are no part of the tail if they are at most 1 in 500, or two.
//!
//! **What is an outlier.** N executions took t or longer and E are expected, so with t as border about E / N
//! of the discoveries are false (Benjamini and Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x). The border is the
//! shortest t at which that is at most (excess / severe)^1.75, or 1, where the excess is t less the median. One that cost the
//! severe time is told as soon as it is improbable at all; one that cost a tenth of it must be 56 times less probable.
//! Severe is also at least five times the longest usual time, so that functions which take long
//! are not told for their ordinary tails.
//!
//! **Calls in a row.** Where one execution of the caller calls a function many times, each call may be a bit longer. So of five calls or more that follow
//! one another there, all of them beyond the usual, the excess is added up: they have to cost what they cost together. And that they follow one another is
//! improbable: E is divided by 4 for each call but the first. If calls were independent, it would be divided by far more; but what
//! disturbs one call often disturbs the next.
//!
//! Less than 32 executions with one caller are judged by the whole function if their median is usual there, and otherwise
//! not at all; less than 32 of a function are not judged.
//!
//! Cost: a pass over the bins to compile, one comparison for a usual execution.

use crate::contexts::Since;
use crate::histogram::Histogram;
use crate::verdict::USUAL_SCORE;
use crate::{CallerKey, Contexts, Verdict};
use callgrove_model::Real;

/// Fewer executions are not judged, and no tail is fitted to fewer.
const FEW: u64 = 32;
/// Half an octave.
const WINDOW: f64 = std::f64::consts::LN_2 / 2.0;
/// This share of the executions within the window makes a mode, and two standard deviations more, for chance.
const MODE_SHARE: f64 = 0.025;
const LEAST_MODE: f64 = 4.0;
/// The thinnest tail: ten times as long is 100,000 times less probable.
const LEAST_DECAY: f64 = 0.2;
/// ln 1.6.
const GAP: f64 = 0.47;
/// At most one in so many executions, but always two, may be beyond a gap.
const GAP_SHARE: u64 = 500;
const LEAST_GAP: u64 = 2;
/// What counts as severe is at least so many times the longest usual time.
const SEVERE_FACTOR: f64 = 5.0;
/// How much more evidence less severe executions need.
const SEVERITY_POWER: f64 = 1.75;

/// Factor by which the evidence grows with each further call of a row: of the calls beyond the usual that are no fault, one in four is followed by another.
const IN_ROW: f64 = 4.0;
/// Fewer calls are no row: on a busy machine, two or three calls are often disturbed together.
const LEAST_ROW: u32 = 5;
/// More calls in a row are no less probable.
const MOST_IN_ROW: f64 = 30.0;

/// Calls of a function by one execution of its caller that follow one another, none of them usual.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallsInRow {
    /// How many there are.
    pub num_calls: u32,
    /// Their excess over the median together, in microseconds.
    pub excess_us: u64,
}

/// All is usual.
const USUAL: Verdict = Verdict {
    score: USUAL_SCORE,
    is_outlier: false,
};

/// The borders of a function, for each caller.
#[derive(Clone, Debug)]
pub(crate) struct Excess {
    /// Up to this time in µs all is usual, whoever called.
    usual_us: u64,
    /// The first is that of the whole function.
    borders: Vec<Border>,
    /// The border of each caller that is told apart, and none where it has too few executions; by caller.
    by_caller: Vec<(CallerKey, Option<usize>)>,
}

/// What is usual in one context, and what is an outlier.
#[derive(Clone, Debug)]
pub(crate) struct Border {
    usual_us: u64,
    outlier_us: u64,
    median_us: u64,
    /// The excess that counts once.
    severe_us: f64,
    /// Beyond the usual: the first time of each bin, and how many executions took it or longer.
    seen: Vec<(u64, u64)>,
    tail: Tail,
    histogram: Histogram,
}

/// What is expected beyond the usual.
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
    /// None if the function has too few executions. `severe_us` is the excess that counts once.
    pub(crate) fn new(contexts: &Contexts, since: Since, severe_us: f64) -> Option<Self> {
        let whole = Border::new(contexts.sum(since), severe_us)?;
        let whole_usual_us = whole.usual_us;
        let mut borders = vec![whole];
        let mut by_caller = Vec::new();
        for (caller, histogram) in contexts.callers(since) {
            let median_us = Spots::new(&histogram).median_us;
            if let Some(border) = Border::new(histogram, severe_us) {
                by_caller.push((caller, Some(borders.len())));
                borders.push(border);
            } else {
                // Few, but as usual for the function; or of a kind of their own.
                let border = (median_us <= whole_usual_us).then_some(0);
                by_caller.push((caller, border));
            }
        }
        let usual_us = borders.iter().map(|border| border.usual_us).min()?;
        Some(Self {
            usual_us,
            borders,
            by_caller,
        })
    }

    /// The border for a caller; 0 is that of the whole function, none means that nothing is judged.
    pub(crate) fn place(&self, caller: CallerKey) -> Option<usize> {
        let found = self.by_caller.binary_search_by_key(&caller, |it| it.0);
        found.map_or(Some(0), |at| self.by_caller[at].1)
    }

    pub(crate) fn borders(&self) -> &[Border] {
        &self.borders
    }

    /// Whether all is usual up to this time, whoever called.
    #[inline]
    pub(crate) fn is_usual(&self, time_us: u64) -> bool {
        time_us <= self.usual_us
    }

    #[inline]
    pub(crate) fn judge(&self, caller: CallerKey, time_us: u64) -> Verdict {
        if self.is_usual(time_us) {
            return USUAL;
        }
        self.place(caller)
            .map_or(USUAL, |place| self.borders[place].judge(time_us))
    }

    /// The same for an execution among others in a row.
    pub(crate) fn judge_in_row(&self, caller: CallerKey, time_us: u64, row: CallsInRow) -> Verdict {
        let verdict = self.judge(caller, time_us);
        let border = self.place(caller).map(|place| &self.borders[place]);
        let is_outlier = border.is_some_and(|it| it.is_outlier_in_row(time_us, row));
        Verdict {
            is_outlier: verdict.is_outlier || is_outlier,
            ..verdict
        }
    }

    /// How much longer than the median an execution took; `None` for one that is usual or not judged.
    pub(crate) fn excess_us(&self, caller: CallerKey, time_us: u64) -> Option<u64> {
        let border = self.borders.get(self.place(caller)?)?;
        (time_us > border.usual_us).then(|| time_us.saturating_sub(border.median_us))
    }
}

impl Border {
    fn new(histogram: Histogram, severe_us: f64) -> Option<Self> {
        let spots = Spots::new(&histogram);
        if spots.total() < FEW {
            return None;
        }
        let mode = spots.last_mode()?;
        let end = spots.x[mode] + WINDOW;
        let beyond = spots.position(end);
        let tail = spots.tail(mode, beyond);
        let usual_us = histogram.range(histogram.bins()[beyond - 1]).1;
        let severe_us = severe_us.max(SEVERE_FACTOR * usual_us.real());
        let outlier_us = spots.border_us(beyond, &tail, severe_us);
        let first = |&bin| histogram.range(bin).0;
        let firsts = histogram.bins()[beyond..].iter().map(first);
        Some(Self {
            usual_us,
            outlier_us,
            median_us: spots.median_us,
            severe_us,
            seen: firsts.zip(spots.above[beyond..].iter().copied()).collect(),
            tail,
            histogram,
        })
    }

    pub(crate) fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Executions from here on are outliers.
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
        if row.num_calls < LEAST_ROW || time_us <= self.usual_us {
            return false;
        }
        let at = self.seen.partition_point(|it| it.0 <= time_us);
        let seen = at.checked_sub(1).and_then(|at| self.seen.get(at));
        let further = f64::from(row.num_calls - 1).min(MOST_IN_ROW);
        let severity = row.excess_us.real() / self.severe_us;
        seen.is_some_and(|&(_, seen)| {
            let expected = self.tail.expected(scale(time_us)) / IN_ROW.powf(further);
            is_exceeded(expected, seen, severity)
        })
    }
}

impl Tail {
    /// About how many executions were to be expected that take as long or longer.
    fn expected(&self, x: f64) -> f64 {
        let beyond = self.levels.iter().filter(|level| level.start <= x);
        beyond
            .map(|level| level.count * (-(x - level.start) / level.decay).exp())
            .fold(self.total, f64::min)
    }

    /// −log₁₀ of the probability.
    fn score(&self, x: f64) -> f64 {
        (self.total / self.expected(x)).log10().max(0.0)
    }
}

/// Occupied bins as places on the logarithmic scale.
struct Spots<'a> {
    histogram: &'a Histogram,
    /// Their middles.
    x: Vec<f64>,
    /// Executions in this bin and all above, and a 0; shape `[num_bins + 1]`.
    above: Vec<u64>,
    median_us: u64,
}

impl<'a> Spots<'a> {
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

    /// The first bin from x on.
    fn position(&self, x: f64) -> usize {
        self.x.partition_point(|&other| other < x)
    }

    fn count(&self, from: f64, to: f64) -> u64 {
        self.above[self.position(from)] - self.above[self.position(to)]
    }

    /// Where the last mode ends: the last bin from which on times are dense.
    fn last_mode(&self) -> Option<usize> {
        let expected = MODE_SHARE * self.total().real();
        let least = (expected + 2.0 * expected.sqrt()).max(LEAST_MODE);
        let is_dense = |&x: &f64| self.count(x, x + WINDOW).real() >= least;
        self.x.iter().rposition(is_dense)
    }

    /// The first bin above a gap that has few above it.
    fn gap(&self, beyond: usize) -> usize {
        let bins = self.histogram.bins();
        let few = (self.total() / GAP_SHARE).max(LEAST_GAP);
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
            if count < FEW {
                break;
            }
            let half = self.above.partition_point(|&above| above > top + count / 2) - 1;
            let safety = 1.0 + 2.0 / count.real().sqrt();
            let decay = (self.x[half] - start) / std::f64::consts::LN_2 * safety;
            tail.levels.push(Level {
                start,
                count: (count + 1).real(),
                decay: decay.max(LEAST_DECAY),
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
                decay: decay.max(LEAST_DECAY),
            });
        }
        tail
    }

    /// The shortest time that is an outlier.
    fn border_us(&self, beyond: usize, tail: &Tail, severe_us: f64) -> u64 {
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
        // Times that never were, as if there were one.
        let longest = bins.last().map_or(0, |&bin| self.histogram.range(bin).1);
        let further = std::iter::successors(longest.checked_add(1), |time| time.checked_mul(2));
        further
            .into_iter()
            .find(|&time| is_outlier(time, 1))
            .unwrap_or(u64::MAX)
    }
}

/// Whether executions that were seen are more than expected by enough for what one of them costs, as a share of what is severe.
fn is_exceeded(expected: f64, seen: u64, severity: f64) -> bool {
    let false_share = severity.powf(SEVERITY_POWER).min(1.0);
    expected <= false_share * seen.real()
}

fn scale(time_us: u64) -> f64 {
    time_us.real().ln_1p()
}
