//! Tests of the calls of one context: slow lanes, and lanes on which the own time grows or changes.

use std::collections::BTreeSet;

use callgrove_model::{DurationNs, LaneIdx, Real, TimeNs};

use super::lane_windows::{LaneWindows, NUM_WINDOWS};
use super::own_time::{OwnTime, Series, tick_ns};
use super::robust::{
    USUAL_PERCENT, kendall, median, median_and_spread, quantile, signed, theil_sen,
};

/// Minimum number of calls in a window.
const MIN_WINDOW: usize = 5;
/// Minimum number of calls of a lane that is compared with others.
const MIN_CALLS: usize = 20;
/// Minimum number of lanes that are compared.
const MIN_LANES: usize = 4;
/// Minimum own time of a slow lane, in percent of the time of its peers.
const SLOW_PERCENT: i64 = 115;
/// Minimum excess of a slow lane, in spreads.
const SLOW_SPREADS: f64 = 5.0;
/// Divisor of the lanes' median that gives their minimum spread: 1/50.
const MIN_SPREAD_DIVISOR: i64 = 50;
/// Number of windows of a slow lane per window that may be as fast as the windows of its peers.
const SLOW_WINDOWS: usize = 10;
/// Minimum growth in percent of the start.
const GROWTH_PERCENT: i64 = 15;
/// Minimum Kendall's τ of a growth.
const GROWTH_TAU: f64 = 0.5;
/// Minimum growth in standard errors.
const GROWTH_ERRORS: f64 = 4.0;
/// Standard error of the median of one side of a change, in standard errors of a window: 1.25 / √4 for the shortest
/// side.
const SIDE_ERROR: f64 = 0.63;
/// Minimum change in percent of the smaller side.
const CHANGE_PERCENT: i64 = 20;
/// Minimum change in spreads of either side.
const CHANGE_SPREADS: f64 = 5.0;
/// Minimum number of windows on each side of a change.
const MIN_SIDE: usize = 4;
/// Minimum difference in clock ticks that can be trusted.
const MIN_TICKS: i64 = 2;
/// Factor from the .2–.6 quantile range to the standard error of the quantile .4 (times √n). The range is 1.095
/// standard deviations of a normal distribution, and the standard error is 1.27 standard deviations over √n; rounded
/// up for safety.
const ERROR_OF_RANGE: f64 = 1.5;

/// Factor from the median absolute difference of two neighbours to their standard deviation: 1.4826 / √2.
const ERROR_OF_DIFFERENCE: f64 = 1.05;
/// Factor from the standard error of a mean to that of a median, for normal values.
const ERROR_OF_MEDIAN: f64 = 1.25;

/// Summary of the calls of a context on one lane.
pub(super) struct LaneSummary {
    pub(super) lane: LaneIdx,
    pub(super) num_calls: usize,
    pub(super) total_ns: i64,
    pub(super) usual_ns: i64,
    /// The standard error of `usual_ns`.
    error_ns: f64,
    /// The usual duration of each window.
    windows: Vec<i64>,
    /// Standard error of a window's usual duration, the mean of all windows.
    window_error_ns: f64,
}

/// A context with the summaries of its lanes.
pub(super) struct ContextSummary {
    pub(super) lanes: Vec<LaneSummary>,
    tick_ns: i64,
}

/// The onset of a change: its time, and the number of calls after it.
pub(super) struct Onset {
    pub(super) at: TimeNs,
    pub(super) num_after: usize,
}

/// A finding on one lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneFinding {
    pub(super) lane: LaneIdx,
    pub(super) what: Shift,
    /// True if its peers are the other lanes that are slower than most.
    pub(super) is_among_slow: bool,
    /// The time that it costs this lane.
    pub(super) cost: DurationNs,
    pub(super) evidence: f64,
}

impl LaneFinding {
    /// Returns whether the lane is slower than its peers throughout.
    pub(super) fn is_slow(&self) -> bool {
        matches!(self.what, Shift::Slow { .. })
    }
}

/// A difference of own times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Shift {
    Slow {
        usual_ns: i64,
        peers_ns: i64,
    },
    Growth {
        from_ns: i64,
        to_ns: i64,
    },
    Change {
        from_ns: i64,
        to_ns: i64,
        at: TimeNs,
    },
}

impl ContextSummary {
    pub(super) fn new(all: &[Series]) -> Self {
        let tick_ns = tick_ns(all);
        let lanes = all.iter().map(|series| LaneSummary::new(series, tick_ns));
        Self {
            lanes: lanes.collect(),
            tick_ns,
        }
    }

    /// Returns the summary of lanes given as windows; times are multiples of `tick_ns`.
    pub(super) fn of_windows(all: &[LaneWindows], tick_ns: i64) -> Self {
        let lanes = all.iter().map(LaneSummary::of_windows);
        Self {
            lanes: lanes.collect(),
            tick_ns,
        }
    }

    /// Returns the significant differences, at most one finding a lane. `min_cost` is the minimum cost of a finding.
    /// `onset` returns the exact onset of a change on the lane at an index that lies between two windows, given the
    /// usual times before and afterwards.
    pub(super) fn findings(
        &self,
        min_cost: DurationNs,
        onset: impl Fn(usize, usize, (i64, i64)) -> Option<Onset>,
    ) -> Vec<LaneFinding> {
        let mut found = Vec::new();
        let peers = self.peers();
        for (at, lane) in self.lanes.iter().enumerate() {
            let change = || self.change(lane, |split, levels| onset(at, split, levels));
            let slow = || self.slow(lane, peers.as_ref()?);
            let finding = change().or_else(|| self.growth(lane)).or_else(slow);
            found.extend(finding.filter(|it| it.cost >= min_cost));
        }
        self.compare_slow(&mut found, min_cost);
        found
    }

    /// Compares the lanes that are slower than most with one another: nodes may differ in speed, and one rank of the slower
    /// ones may be slower yet.
    fn compare_slow(&self, found: &mut [LaneFinding], min_cost: DurationNs) {
        let slow = found.iter().filter(|it| it.is_slow());
        let slow: BTreeSet<LaneIdx> = slow.map(|it| it.lane).collect();
        let of_slow = self.lanes.iter().filter(|it| slow.contains(&it.lane));
        let of_slow: Vec<&LaneSummary> = of_slow.collect();
        let Some(peers) = Peers::of(&of_slow) else {
            return;
        };
        for lane in of_slow {
            let Some(finding) = self.slow(lane, &peers).filter(|it| it.cost >= min_cost) else {
                continue;
            };
            let known = found.iter_mut().find(|it| it.lane == lane.lane);
            if let Some(known) = known {
                *known = LaneFinding {
                    is_among_slow: true,
                    ..finding
                };
            }
        }
    }

    /// Returns the lanes that can be compared, if there are enough of them.
    pub(super) fn peers(&self) -> Option<Peers> {
        Peers::of(&self.lanes.iter().collect::<Vec<_>>())
    }

    fn slow(&self, lane: &LaneSummary, peers: &Peers) -> Option<LaneFinding> {
        let excess_ns = lane.usual_ns - peers.usual_ns;
        let noise_ns = peers.spread_ns.real().max(lane.error_ns);
        let evidence = excess_ns.real() / noise_ns.max(1.0);
        let is_slow = lane.num_calls >= MIN_CALLS
            && is_percent(lane.usual_ns, peers.usual_ns, SLOW_PERCENT)
            && excess_ns >= MIN_TICKS * self.tick_ns
            && evidence > SLOW_SPREADS;
        if !is_slow {
            return None;
        }
        let num_windows = lane.windows.len();
        let of_peers = |at: usize| peers.windows[at * NUM_WINDOWS / num_windows];
        let is_as_fast = |it: &(usize, &i64)| *it.1 - of_peers(it.0) < excess_ns / 2;
        let num_fast = lane.windows.iter().enumerate().filter(is_as_fast).count();
        (num_fast * SLOW_WINDOWS <= num_windows).then(|| LaneFinding {
            lane: lane.lane,
            what: Shift::Slow {
                usual_ns: lane.usual_ns,
                peers_ns: peers.usual_ns,
            },
            is_among_slow: false,
            cost: cost(excess_ns, lane.num_calls),
            evidence,
        })
    }

    fn growth(&self, lane: &LaneSummary) -> Option<LaneFinding> {
        if lane.windows.len() < NUM_WINDOWS {
            return None;
        }
        let line = theil_sen(&lane.windows);
        let (from_ns, to_ns) = (line.from_ns.max(0), line.to_ns.max(0));
        let growth_ns = to_ns - from_ns;
        let evidence = growth_ns.real() / lane.window_error_ns.max(1.0);
        let grows = is_percent(to_ns, from_ns, 100 + GROWTH_PERCENT)
            && growth_ns >= MIN_TICKS * self.tick_ns
            && evidence > GROWTH_ERRORS
            && kendall(&lane.windows) > GROWTH_TAU;
        grows.then(|| LaneFinding {
            lane: lane.lane,
            what: Shift::Growth { from_ns, to_ns },
            is_among_slow: false,
            cost: cost(growth_ns / 2, lane.num_calls),
            evidence,
        })
    }

    fn change(
        &self,
        lane: &LaneSummary,
        onset: impl Fn(usize, (i64, i64)) -> Option<Onset>,
    ) -> Option<LaneFinding> {
        if lane.windows.len() < NUM_WINDOWS {
            return None;
        }
        let splits = MIN_SIDE..=NUM_WINDOWS - MIN_SIDE;
        let split = splits.min_by_key(|&at| {
            let (before, after) = lane.windows.split_at(at);
            deviation(before).saturating_add(deviation(after))
        })?;
        let (before, after) = lane.windows.split_at(split);
        let (from_ns, spread_before) = median_and_spread(before);
        let (to_ns, spread_after) = median_and_spread(after);
        let step_ns = (to_ns - from_ns).abs();
        let spread_ns = spread_before.max(spread_after).real();
        let evidence = step_ns.real() / spread_ns.max(SIDE_ERROR * lane.window_error_ns).max(1.0);
        let changes = is_percent(to_ns.max(from_ns), to_ns.min(from_ns), 100 + CHANGE_PERCENT)
            && step_ns >= MIN_TICKS * self.tick_ns
            && evidence > CHANGE_SPREADS;
        if !changes {
            return None;
        }
        let onset = onset(split, (from_ns, to_ns))?;
        Some(LaneFinding {
            lane: lane.lane,
            what: Shift::Change {
                from_ns,
                to_ns,
                at: onset.at,
            },
            is_among_slow: false,
            cost: cost(step_ns, onset.num_after),
            evidence,
        })
    }
}

/// The usual times on the lanes of a context.
pub(super) struct Peers {
    pub(super) usual_ns: i64,
    spread_ns: i64,
    windows: Vec<i64>,
}

impl Peers {
    /// Returns what is usual among some lanes, if enough of them can be compared.
    fn of(lanes: &[&LaneSummary]) -> Option<Self> {
        let with_calls = || lanes.iter().filter(|it| it.num_calls >= MIN_CALLS);
        let usual: Vec<i64> = with_calls().map(|lane| lane.usual_ns).collect();
        if usual.len() < MIN_LANES {
            return None;
        }
        let (usual_ns, spread_ns) = median_and_spread(&usual);
        let window = |at: usize| {
            let of_lanes = with_calls().filter_map(|lane| {
                let last = lane.windows.len().checked_sub(1)?;
                lane.windows.get(at * (last + 1) / NUM_WINDOWS).copied()
            });
            median(of_lanes.collect())
        };
        Some(Self {
            usual_ns,
            spread_ns: spread_ns.max(usual_ns / MIN_SPREAD_DIVISOR),
            windows: (0..NUM_WINDOWS).map(window).collect(),
        })
    }
}

impl LaneSummary {
    fn new(series: &Series, tick_ns: i64) -> Self {
        let mut all: Vec<i64> = series.calls.iter().map(|call| call.own_ns).collect();
        let num_calls = all.len();
        let num_windows = (num_calls / MIN_WINDOW).clamp(1, NUM_WINDOWS);
        let bounds: Vec<usize> = (0..=num_windows)
            .map(|at| at * num_calls / num_windows)
            .collect();
        let mut windows = Vec::with_capacity(num_windows);
        let mut error_ns = 0.0;
        for bound in bounds.windows(2) {
            let window = &mut all[bound[0]..bound[1]];
            windows.push(quantile(window, USUAL_PERCENT, tick_ns));
            error_ns += error(window, tick_ns);
        }
        Self {
            lane: series.lane,
            num_calls,
            total_ns: series.total_ns(),
            usual_ns: quantile(&mut all, USUAL_PERCENT, tick_ns),
            error_ns: error(&mut all, tick_ns),
            windows,
            window_error_ns: error_ns / num_windows.real(),
        }
    }

    /// Returns the summary of windows whose calls are no longer known. The standard error of a window is taken from
    /// the differences of neighbours, which a change or a slow growth hardly affects (von Neumann et al., Annals of
    /// Mathematical Statistics 12, 1941).
    fn of_windows(of_lane: &LaneWindows) -> Self {
        let all = &of_lane.windows;
        let mut usual: Vec<i64> = all.iter().map(|window| window.usual.0).collect();
        let differences = usual.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        let error_ns = median(differences.collect()).real() * ERROR_OF_DIFFERENCE;
        let groups = of_lane.groups();
        let windows = groups.iter().map(|group| {
            let usual = all[group.clone()].iter().map(|window| window.usual.0);
            median(usual.collect())
        });
        let windows: Vec<i64> = windows.collect();
        let in_group = all.len().real() / groups.len().max(1).real();
        Self {
            lane: of_lane.lane,
            num_calls: of_lane.num_calls(),
            total_ns: of_lane.total_ns(),
            usual_ns: quantile(&mut usual, USUAL_PERCENT, 1),
            error_ns: ERROR_OF_MEDIAN * error_ns / all.len().max(1).real().sqrt(),
            windows,
            window_error_ns: error_ns / in_group.max(1.0).sqrt(),
        }
    }
}

/// Returns the onset of a change in a series.
pub(super) fn onset(series: &Series, split: usize, levels: (i64, i64)) -> Option<Onset> {
    let first = first_call_after(&series.calls, split, levels);
    Some(Onset {
        at: series.calls.get(first)?.entry,
        num_after: series.calls.len() - first,
    })
}

/// Returns the standard error of the usual duration of some calls.
fn error(calls: &mut [i64], tick_ns: i64) -> f64 {
    let range_ns = quantile(calls, 60, tick_ns) - quantile(calls, 20, tick_ns);
    ERROR_OF_RANGE * range_ns.real() / calls.len().max(1).real().sqrt()
}

/// Returns the sum of absolute deviations from the median.
fn deviation(values: &[i64]) -> i64 {
    let middle = median(values.to_vec());
    let deviations = values.iter().map(|it| (it - middle).saturating_abs());
    deviations.fold(0, i64::saturating_add)
}

/// Returns the index of the first call after a change between two windows: the split of the two windows around it
/// that puts the most calls on the side of their own level.
fn first_call_after(calls: &[OwnTime], split: usize, (from_ns, to_ns): (i64, i64)) -> usize {
    let bound = |window: usize| window * calls.len() / NUM_WINDOWS;
    let middle_ns = i64::midpoint(from_ns, to_ns);
    let is_after = |call: &OwnTime| (call.own_ns > middle_ns) == (to_ns > from_ns);
    let (first, end) = (bound(split - 1), bound(split + 1));
    let (mut balance, mut best) = (0_i64, (0_i64, first));
    for (at, call) in calls[..end].iter().enumerate().skip(first) {
        balance += if is_after(call) { -1 } else { 1 };
        if balance > best.0 {
            best = (balance, at + 1);
        }
    }
    best.1.min(calls.len().saturating_sub(1))
}

/// Returns whether a time is at least `percent` percent of another one, which must not be 0.
fn is_percent(time_ns: i64, of_ns: i64, percent: i64) -> bool {
    let [time, of, percent] = [time_ns, of_ns, percent].map(i128::from);
    of > 0 && time * 100 >= of * percent
}

fn cost(excess_ns: i64, num_calls: usize) -> DurationNs {
    DurationNs(excess_ns.saturating_mul(signed(num_calls)))
}
