//! The delays that a run has all the time, and those that exceed them.
//!
//! On a machine that other programs use, every rank is late again and again. Such delays belong to the run: no report
//! of a single one is true. A delay exceeds them if the run itself does not lead one to expect it. The run is divided
//! into as many windows as the program has iterations, and each window of each thread has a largest delay, often none.
//! Their quantiles .80 and .95 determine an exponential tail, and a delay is reported if fewer than `EXPECTED` such
//! delays are expected in the whole run. Faults in fewer than a twentieth of the windows cannot raise that bound, and a
//! run whose windows mostly have no delay has none.
//!
//! What the other ranks of the host lose in the same time is the host's: only the rest of a delay is the rank's own.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{DurationNs, LaneIdx, Real, TimeNs};
use callgrove_segments::{Clocks, LaneSegments, Segments, index};

use super::delay_root::{DelayRoot, share};
use super::outcome::CauseKind;

/// Minimum delay that counts.
const MIN_DELAY: DurationNs = DurationNs::from_us(200);
/// Number of delays of the background that may be reported in a run. Chosen on jobs of PyTorch: a tenth of it misses
/// nothing there, ten times as much reports four delays of the machine in 16 runs.
const EXPECTED: f64 = 0.05;
/// Divisors of the number of windows: a fifth of them and a twentieth have a larger delay than the two quantiles that
/// determine the tail.
const TAIL: (usize, usize) = (5, 20);
/// Logarithm of the ratio of the two.
const LN_RATIO: f64 = 2.0 * std::f64::consts::LN_2;
/// Divisor of the work of the busiest thread of a rank: a thread with less than a tenth of it does not count.
const WORKING: i64 = 10;
/// Minimum number of visits of a place by each thread that shows how many iterations there are.
const MIN_VISITS: usize = 8;
/// Maximum number of other ranks with which a delay is compared.
const MAX_OTHERS: usize = 64;
/// Share of a delay that the other ranks have in common above which the rank is less certain: 3/10.
const SHARED: (i64, i64) = (3, 10);
/// Maximum confidence then, in percent: an assumption.
const SHARED_PERCENT: u8 = 75;
/// Divisor of a delay: a rank that lost at least half as much in the same time was late, too.
const LATE: i64 = 2;
/// Minimum number of ranks of a host that can be late because of the host.
const MIN_RANKS: usize = 3;

/// A delay compared with those of other ranks in the same time.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct DelayComparison {
    /// The part that is the rank's own.
    pub(super) own: DurationNs,
    /// The part that half of the other ranks of the host lost, too.
    pub(super) common: DurationNs,
    /// True if most ranks of the host that did not wait for others were late at once.
    pub(super) is_of_host: bool,
}

/// The background of a run.
pub(super) struct DelayBackground {
    /// By root.
    comparisons: Vec<DelayComparison>,
    tail: Tail,
}

/// The upper end of the distribution of the windows' largest delays.
#[derive(Clone, Copy, Default, Debug)]
struct Tail {
    /// A fifth of the windows have a larger delay.
    from_ns: f64,
    /// The scale of the exponential tail above it.
    scale_ns: f64,
    /// The number of windows above it in the whole run.
    num_above: f64,
}

/// A delay on the time axis.
#[derive(Clone, Copy)]
struct Loss {
    start: TimeNs,
    end: TimeNs,
    amount: DurationNs,
}

impl DelayBackground {
    /// Measures the background of delays of some kinds. Cost: O(n log n) in roots, times the ranks of a host.
    pub(super) fn new(
        segments: &Segments,
        clocks: &Clocks,
        roots: &[DelayRoot],
        kinds: &[CauseKind],
    ) -> Self {
        let is_counted = |root: &DelayRoot| {
            kinds.contains(&root.kind)
                && root.attributed_to.is_none()
                && root.amount >= MIN_DELAY
                && !is_aside(segments, root)
        };
        let counted: Vec<usize> = (0..roots.len())
            .filter(|&it| is_counted(&roots[it]))
            .collect();
        let comparisons = compare(segments, clocks, roots, &counted);
        let tail = Windows::new(segments, workers(segments)).map(|windows| {
            let largest = windows.largest(segments, roots, &counted, &comparisons);
            windows.tail(segments, &largest)
        });
        Self {
            comparisons,
            tail: tail.unwrap_or_default(),
        }
    }

    pub(super) fn of(&self, root: usize) -> DelayComparison {
        self.comparisons[root]
    }

    /// Returns the number of delays of at least this length that the background has in the whole run.
    fn expected(&self, delay: DurationNs) -> f64 {
        let Tail {
            from_ns,
            scale_ns,
            num_above,
        } = self.tail;
        if delay.0.real() <= from_ns {
            return f64::INFINITY;
        }
        num_above * (-(delay.0.real() - from_ns) / scale_ns.max(1.0)).exp()
    }

    /// Returns the maximum confidence in the rank of a delay, in percent: how many such delays are not of the
    /// background.
    pub(super) fn percent(&self, delay: DelayComparison) -> u8 {
        if delay.common.0.saturating_mul(SHARED.1)
            > (delay.own + delay.common).0.saturating_mul(SHARED.0)
        {
            return SHARED_PERCENT;
        }
        let share = 1.0 / (1.0 + self.expected(delay.own));
        (1..=100)
            .rev()
            .find(|percent| f64::from(*percent) <= 100.0 * share)
            .unwrap_or(1)
    }

    /// Returns whether a delay exceeds the background.
    pub(super) fn is_exceeded(&self, delay: DurationNs) -> bool {
        self.expected(delay) < EXPECTED
    }
}

/// Returns whether a delay is that of a helper thread for which no thread waited: the program goes on without it.
pub(super) fn is_aside(segments: &Segments, root: &DelayRoot) -> bool {
    let at = root.lane.index();
    let lane = &segments.lanes[at];
    let has_before = at > 0 && segments.lanes[at - 1].process == lane.process;
    has_before && !lane.is_device && root.operation.is_none() && root.cost == DurationNs::ZERO
}

/// Windows of equal length, as many as the program has iterations.
struct Windows {
    /// The lanes that work.
    workers: Vec<usize>,
    start: TimeNs,
    length_ns: i64,
    count: usize,
}

impl Windows {
    fn new(segments: &Segments, workers: Vec<usize>) -> Option<Self> {
        let lanes = || workers.iter().map(|&it| &segments.lanes[it]);
        let start = lanes().filter_map(|it| it.span).map(|it| it.0).min()?;
        let end = lanes().filter_map(|it| it.span).map(|it| it.1).max()?;
        // Half of the repeated work is at places that are visited at least so often by a thread.
        let mut places: Vec<(usize, DurationNs)> =
            vec![(0, DurationNs::ZERO); segments.places.num_places()];
        for gap in lanes().flat_map(|it| &it.gaps) {
            let of_place = &mut places[index(gap.place)];
            of_place.0 += 1;
            of_place.1 += gap.duration();
        }
        let is_worker = |lane: LaneIdx| workers.binary_search(&lane.index()).is_ok();
        for (place, of_place) in (0..).zip(&mut places) {
            for (_, durations_ns) in segments.short.by_lane(place).filter(|it| is_worker(it.0)) {
                of_place.0 += durations_ns.len();
                let sum_ns: i64 = durations_ns.iter().map(|&it| i64::from(it)).sum();
                of_place.1 += DurationNs(sum_ns);
            }
        }
        places.retain(|it| it.0 >= MIN_VISITS * workers.len());
        places.sort_unstable();
        let whole: DurationNs = places.iter().map(|it| it.1).sum();
        let mut below = DurationNs::ZERO;
        let median = places.iter().find(|it| {
            below += it.1;
            below.0.saturating_mul(2) >= whole.0
        })?;
        let count = median.0 / workers.len().max(1);
        let length_ns = end.since(start).0 / i64::try_from(count).ok()?.max(1);
        (length_ns > 0).then_some(Self {
            workers,
            start,
            length_ns,
            count,
        })
    }

    /// Returns the process and the largest delay of each window that has one, by process.
    fn largest(
        &self,
        segments: &Segments,
        roots: &[DelayRoot],
        counted: &[usize],
        comparisons: &[DelayComparison],
    ) -> Vec<(usize, DurationNs)> {
        let mut by_window: BTreeMap<(usize, i64), DurationNs> = BTreeMap::new();
        for &it in counted {
            let root = &roots[it];
            let lane = root.lane.index();
            // A delay on a lane that hardly works counts for the first worker of its rank.
            let process = |it: &usize| segments.lanes[*it].process;
            let first = || {
                self.workers
                    .partition_point(|it| process(it) < process(&lane))
            };
            let worker = self
                .workers
                .binary_search(&lane)
                .unwrap_or_else(|_| first());
            let window = root.start.since(self.start).0.div_euclid(self.length_ns);
            let delay = by_window.entry((worker, window)).or_default();
            *delay = comparisons[it].own.max(*delay);
        }
        let process = |worker: usize| {
            self.workers
                .get(worker)
                .map(|it| segments.lanes[*it].process)
        };
        let known = by_window.into_iter();
        // Workers are in order of their process.
        known
            .filter_map(|((worker, _), delay)| Some((process(worker)?, delay)))
            .collect()
    }

    /// Returns the tail that half of the ranks have or exceed.
    fn tail(&self, segments: &Segments, largest: &[(usize, DurationNs)]) -> Tail {
        let mut num_workers: BTreeMap<usize, usize> = BTreeMap::new();
        for &lane in &self.workers {
            *num_workers.entry(segments.lanes[lane].process).or_default() += 1;
        }
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for (process, num_workers) in num_workers {
            let start = largest.partition_point(|it| it.0 < process);
            let end = largest.partition_point(|it| it.0 <= process);
            let mut delays: Vec<DurationNs> = largest[start..end].iter().map(|it| it.1).collect();
            delays.sort_unstable_by_key(|it| Reverse(*it));
            let num_windows = num_workers.saturating_mul(self.count);
            let exceeded_by =
                |divisor: usize| delays.get(num_windows / divisor).map_or(0, |it| it.0);
            from.push(exceeded_by(TAIL.0));
            to.push(exceeded_by(TAIL.1));
        }
        // Of two ranks the one with less: a single rank's delays are never the machine's.
        let middle = |mut of: Vec<i64>| {
            of.sort_unstable();
            let upper = of.len() / 2;
            match of.len() {
                2 => of[0].real(),
                len if len % 2 == 0 => f64::midpoint(of[upper - 1].real(), of[upper].real()),
                _ => of[upper].real(),
            }
        };
        let (from_ns, to_ns) = (middle(from), middle(to));
        let all = self.workers.len().saturating_mul(self.count);
        Tail {
            from_ns,
            scale_ns: (to_ns - from_ns) / LN_RATIO,
            num_above: (all / TAIL.0).real(),
        }
    }
}

/// Returns the lanes that work, in order.
fn workers(segments: &Segments) -> Vec<usize> {
    let work = |lane: usize| segments.lanes[lane].own_work;
    let repeats = |it: &LaneSegments| !it.is_device && it.num_gaps >= MIN_VISITS;
    let lanes = (0..segments.lanes.len()).filter(|&it| repeats(&segments.lanes[it]));
    let lanes: Vec<(usize, DurationNs)> = lanes.map(|it| (it, work(it))).collect();
    let mut most = vec![DurationNs::ZERO; segments.processes.len()];
    for &(lane, work) in &lanes {
        let of_process = &mut most[segments.lanes[lane].process];
        *of_process = work.max(*of_process);
    }
    let works = |it: &(usize, DurationNs)| {
        let most = most[segments.lanes[it.0].process];
        it.1 > DurationNs::ZERO && it.1.0.saturating_mul(WORKING) >= most.0
    };
    lanes.into_iter().filter(works).map(|it| it.0).collect()
}

/// Returns the ranks of each host, as indices into the processes. Ranks whose host is not stated are one group: what
/// they lose at the same time has a common cause.
fn ranks_of_hosts(segments: &Segments, clocks: &Clocks) -> Vec<BTreeSet<usize>> {
    let mut ranks = vec![BTreeSet::new(); clocks.hosts().len()];
    for (lane, it) in segments.lanes.iter().enumerate() {
        ranks[clocks.host_of(LaneIdx::from_index(lane))].insert(it.process);
    }
    ranks
}

/// Compares each of the counted roots with what the other ranks of its host lost in the same time.
fn compare(
    segments: &Segments,
    clocks: &Clocks,
    roots: &[DelayRoot],
    counted: &[usize],
) -> Vec<DelayComparison> {
    let mut losses: Vec<Vec<Loss>> = vec![Vec::new(); segments.processes.len()];
    for root in counted.iter().map(|&it| &roots[it]) {
        losses[segments.lane(root.lane).process].push(Loss {
            start: root.start,
            end: root.end,
            amount: root.amount,
        });
    }
    let losses: Vec<Losses> = losses.into_iter().map(Losses::new).collect();
    let mut first_lanes = vec![0; segments.processes.len()];
    for (at, lane) in segments.lanes.iter().enumerate().rev() {
        first_lanes[lane.process] = at;
    }
    let hosts: Vec<Vec<usize>> = ranks_of_hosts(segments, clocks)
        .into_iter()
        .map(|it| it.into_iter().collect())
        .collect();
    let mut comparisons = vec![DelayComparison::default(); roots.len()];
    for &it in counted {
        let root = &roots[it];
        let ranks = &hosts[clocks.host_of(root.lane)];
        comparisons[it] = compare_one(segments, &losses, &first_lanes, ranks, root);
    }
    comparisons
}

fn compare_one(
    segments: &Segments,
    losses: &[Losses],
    first_lanes: &[usize],
    ranks: &[usize],
    root: &DelayRoot,
) -> DelayComparison {
    let own = segments.lane(root.lane).process;
    let stride = ranks.len().div_ceil(MAX_OTHERS).max(1);
    let others = ranks.iter().filter(|rank| **rank != own).step_by(stride);
    let (mut lost, mut num_late, mut num_on_time) = (Vec::new(), 1, 0);
    for &rank in others {
        let loss = losses[rank].within(root.start, root.end);
        lost.push(loss);
        if loss.0.saturating_mul(LATE) >= root.amount.0 {
            num_late += 1;
        } else if !was_waiting(segments, first_lanes[rank], root) {
            num_on_time += 1;
        }
    }
    if lost.len() + 1 < MIN_RANKS {
        return DelayComparison {
            own: root.amount,
            ..DelayComparison::default()
        };
    }
    lost.sort_unstable();
    let common = lost[(lost.len() - 1) / 2].min(root.amount);
    DelayComparison {
        own: root.amount - common,
        common,
        is_of_host: num_late >= MIN_RANKS && num_late > num_on_time,
    }
}

/// Returns whether a rank waited for others during most of a delay: then it could not be late itself.
fn was_waiting(segments: &Segments, lane: usize, root: &DelayRoot) -> bool {
    let waited = segments.lanes[lane].in_operations(root.start..root.end);
    waited.0.saturating_mul(2) > root.end.since(root.start).0
}

/// The losses of one rank, by start.
struct Losses {
    by_start: Vec<Loss>,
    /// For each, the latest end so far.
    latest: Vec<TimeNs>,
}

impl Losses {
    fn new(mut by_start: Vec<Loss>) -> Self {
        by_start.sort_unstable_by_key(|it| (it.start, it.end));
        let mut last = TimeNs(i64::MIN);
        let latest = by_start.iter().map(|it| {
            last = last.max(it.end);
            last
        });
        Self {
            latest: latest.collect(),
            by_start,
        }
    }

    /// Returns how much was lost within a time range.
    fn within(&self, start: TimeNs, end: TimeNs) -> DurationNs {
        let from = self.latest.partition_point(|it| *it <= start);
        let to = self.by_start.partition_point(|it| it.start < end);
        let here = self.by_start[from.min(to)..to].iter();
        here.filter(|it| it.end > start)
            .map(|it| {
                let length = it.end.since(it.start);
                let part = it.end.min(end).since(it.start.max(start));
                share(part, it.amount.min(length), length)
            })
            .sum()
    }
}
