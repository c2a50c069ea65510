//! Ranks that have more own work in every iteration than their peers, also because they make more calls.
//!
//! A host that takes a core away only ever adds time, and at another call path each time. So the usual work of an
//! iteration is the sum over call paths of a low quantile over the iterations: disturbances hardly reach it. A path that
//! occurs in fewer iterations counts nothing.

use std::collections::BTreeMap;

use callgrove_model::{FuncId, LaneIdx, Real};
use callgrove_segments::RankWork;

use super::robust::{median, median_and_spread};

/// Divisor of the number of iterations: the quantile .1. On a host with fewer cores than ranks the medians of equal ranks
/// differ by a factor of two, and this quantile by 5 %.
const LOW: usize = 10;
/// Minimum work of a slow rank in percent of the median of its peers. Equal ranks of jobs on a host with too few cores
/// differ by up to 38 %: one of them may never have a core for itself.
const SLOW_PERCENT: i64 = 140;
/// The same if at least half of the difference is in calls that no other rank makes.
const EXTRA_CALLS_PERCENT: i64 = 115;
/// Minimum work in percent of the next rank: only one rank can be named.
const TOP_PERCENT: i64 = 108;

/// A rank with more work than its peers.
#[derive(Clone, Debug)]
pub(super) struct SlowRank {
    pub(super) lane: LaneIdx,
    pub(super) peers: Vec<LaneIdx>,
    /// The function with the largest difference.
    pub(super) func: FuncId,
    /// Its usual own work in an iteration.
    pub(super) usual_ns: i64,
    /// The median of its peers.
    pub(super) peers_ns: i64,
    /// The number of its iterations.
    pub(super) num_iterations: usize,
    /// True if at least half of the difference is in calls that no other rank makes.
    pub(super) makes_extra_calls: bool,
    /// The difference in units of the spread of the peers.
    pub(super) evidence: f64,
}

/// Returns the rank with more work than its peers, if it has more in both halves of the run, and in odd and even
/// iterations.
pub(super) fn slow_rank(ranks: &[RankWork]) -> Option<SlowRank> {
    let all = |_: usize| true;
    let usual: Vec<i64> = ranks.iter().map(|it| usual_ns(it, all)).collect();
    let top = (0..ranks.len()).max_by_key(|&it| (usual[it], std::cmp::Reverse(it)))?;
    let rank = &ranks[top];
    let others = || (0..ranks.len()).filter(|it| *it != top);
    let of_others: Vec<i64> = others().map(|it| usual[it]).collect();
    let next_ns = of_others.iter().copied().max()?;
    let (peers_ns, spread_ns) = median_and_spread(&of_others);
    let excess_ns = usual[top] - peers_ns;
    let is_percent =
        |of_ns: i64, percent| usual[top].saturating_mul(100) >= of_ns.saturating_mul(percent);
    let differences = differences(ranks, top);
    let extra_ns: i64 = differences
        .values()
        .filter(|it| it.is_extra)
        .map(|it| it.ns)
        .sum();
    let makes_extra_calls = extra_ns.saturating_mul(2) >= excess_ns;
    let least = if makes_extra_calls {
        EXTRA_CALLS_PERCENT
    } else {
        SLOW_PERCENT
    };
    if peers_ns <= 0 || !is_percent(peers_ns, least) || !is_percent(next_ns, TOP_PERCENT) {
        return None;
    }
    let half = rank.paths.first()?.by_iteration_ns.len() / 2;
    let parts: [&dyn Fn(usize) -> bool; 4] = [
        &|it| it < half,
        &|it| it >= half,
        &|it| it % 2 == 0,
        &|it| it % 2 == 1,
    ];
    let is_top = |part: &&dyn Fn(usize) -> bool| {
        let of = |it: usize| usual_ns(&ranks[it], part);
        others().all(|it| of(it) < of(top))
    };
    let largest = differences
        .iter()
        .max_by_key(|it| (it.1.ns, std::cmp::Reverse(it.0)))?;
    parts.iter().all(is_top).then(|| SlowRank {
        lane: rank.lane,
        peers: others().map(|it| ranks[it].lane).collect(),
        func: largest.1.func,
        usual_ns: usual[top],
        peers_ns,
        num_iterations: rank.num_iterations,
        makes_extra_calls,
        evidence: excess_ns.real() / spread_ns.max(peers_ns / 50).max(1).real(),
    })
}

/// Returns the usual own work of a rank in some of its iterations.
fn usual_ns(rank: &RankWork, is_of: impl Fn(usize) -> bool) -> i64 {
    rank.paths
        .iter()
        .map(|it| low_ns(&it.by_iteration_ns, &is_of))
        .sum()
}

fn low_ns(by_iteration_ns: &[i64], is_of: impl Fn(usize) -> bool) -> i64 {
    let of = by_iteration_ns.iter().enumerate().filter(|it| is_of(it.0));
    let mut values: Vec<i64> = of.map(|it| *it.1).collect();
    if values.is_empty() {
        return 0;
    }
    let at = values.len() / LOW;
    *values.select_nth_unstable(at).1
}

/// The difference of a rank from its peers at one call path.
struct Difference {
    func: FuncId,
    ns: i64,
    /// True if no other rank calls it.
    is_extra: bool,
}

fn differences(ranks: &[RankWork], top: usize) -> BTreeMap<u32, Difference> {
    let mut of_others: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    for (_, other) in ranks.iter().enumerate().filter(|it| it.0 != top) {
        for path in &other.paths {
            let usual_ns = low_ns(&path.by_iteration_ns, |_| true);
            of_others.entry(path.path).or_default().push(usual_ns);
        }
    }
    let rank = &ranks[top];
    let difference = |path: &callgrove_segments::PathWork| {
        let known = of_others.get(&path.path);
        let mut others = known.cloned().unwrap_or_default();
        others.resize(ranks.len() - 1, 0);
        Difference {
            func: path.func,
            ns: low_ns(&path.by_iteration_ns, |_| true) - median(others),
            is_extra: known.is_none(),
        }
    };
    rank.paths
        .iter()
        .map(|it| (it.path, difference(it)))
        .collect()
}
