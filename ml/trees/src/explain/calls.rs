//! Usual times and callees of single calls, wherever they are in a tree: for forests in which no two trees are alike,
//! so that complete trees are not comparable.

use std::collections::BTreeMap;

use callgrove_model::{CsTree, DurationNs, Forest, FuncId, TreeIdx};
use serde::{Deserialize, Serialize};

use super::merge::{CallPath, Merger};
use super::paths::CallPaths;
use crate::real::Real;

/// Minimum share of the calls of a function that call another one for it to be expected of each.
const EXPECTED_SHARE: f64 = 0.9;
/// Minimum number of calls of a function for expectations.
const MIN_CALLS: u64 = 20;

/// Medians and fences over single calls.
#[derive(Clone, Debug)]
pub(super) struct UsualCalls {
    /// Times by pair of caller's function and function.
    times: Vec<CallTime>,
    /// The functions that calls of a function are expected to call.
    expected: BTreeMap<FuncId, Vec<Expected>>,
}

/// The usual duration of the calls of a function by a caller's function.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallTime {
    median_ns: f64,
    /// Longer calls are outliers.
    fence_ns: f64,
}

/// A function that calls of another are expected to call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Expected {
    pub(super) func: FuncId,
    /// Rarity of a call without it, 0 to 1.
    pub(super) rarity: f64,
}

/// The odd calls along one path.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct OddCalls {
    /// Time above the median of the calls that are outliers.
    pub(super) excess_ns: i64,
    /// Duration of the longest of them, in units of the fence; 0 without any.
    pub(super) ratio: f64,
    /// Number of calls of the caller that are expected to call this function, and do not.
    pub(super) num_lacking: u64,
    /// Rarity of that, 0 to 1.
    pub(super) rarity: f64,
}

impl UsualCalls {
    /// Returns usual calls from times by pair of caller's function and function, and the expected callees of
    /// functions.
    pub(super) fn new(times: Vec<CallTime>, expected: BTreeMap<FuncId, Vec<Expected>>) -> Self {
        Self { times, expected }
    }

    /// Returns the times of a pair of caller's function and function; zeros for an unknown pair.
    pub(super) fn time(&self, edge: usize) -> CallTime {
        self.times.get(edge).copied().unwrap_or_default()
    }

    /// Returns the expected callees of functions, with the caller.
    pub(super) fn expected(&self) -> impl Iterator<Item = (FuncId, Expected)> {
        let all = self.expected.iter();
        all.flat_map(|(&caller, expected)| expected.iter().map(move |&it| (caller, it)))
    }

    /// Computes the usual calls of some trees.
    pub(super) fn of(
        forest: &Forest,
        paths: &CallPaths,
        merger: &mut Merger,
        trees: &[TreeIdx],
    ) -> Self {
        let mut times: Vec<(usize, i64)> = Vec::new();
        let mut num_calls: BTreeMap<FuncId, u64> = BTreeMap::new();
        let mut num_with: BTreeMap<(FuncId, FuncId), u64> = BTreeMap::new();
        for &tree in trees {
            let tree = forest.tree(tree);
            paths.merge(merger, tree);
            let exclusive = tree.exclusive().iter().map(|time| time.0.max(0));
            let edges = merger.path_of_vertex().iter().map(|&path| paths.edge(path));
            times.extend(edges.zip(exclusive));
            for &func in tree.funcs() {
                *num_calls.entry(func).or_default() += 1;
            }
            for (caller, func) in callees(tree) {
                *num_with.entry((tree.funcs()[caller], func)).or_default() += 1;
            }
        }
        times.sort_unstable();
        let mut times_of_edge = vec![CallTime::default(); paths.num_edges()];
        for times in times.chunk_by(|a, b| a.0 == b.0) {
            times_of_edge[times[0].0] = CallTime::of(times, paths.tick_ns.real());
        }
        let mut expected: BTreeMap<FuncId, Vec<Expected>> = BTreeMap::new();
        for ((caller, func), num_with) in num_with {
            let all = num_calls[&caller];
            if all >= MIN_CALLS && num_with.real() >= EXPECTED_SHARE * all.real() {
                let without = (all - num_with + 1).real();
                let most = (all + 1).real();
                let rarity = (most / without).ln() / most.ln();
                expected
                    .entry(caller)
                    .or_default()
                    .push(Expected { func, rarity });
            }
        }
        Self {
            times: times_of_edge,
            expected,
        }
    }

    /// Returns the odd calls of a tree that `merger` has just merged, by path.
    pub(super) fn odd(
        &self,
        paths: &CallPaths,
        merger: &Merger,
        tree: CsTree<'_>,
    ) -> BTreeMap<CallPath, OddCalls> {
        let path_of_vertex = merger.path_of_vertex();
        let mut odd: BTreeMap<CallPath, OddCalls> = BTreeMap::new();
        for (vertex, &path) in path_of_vertex.iter().enumerate() {
            let usual = self.time(paths.edge(path));
            let time_ns = tree.exclusive()[vertex].0.real();
            if usual.fence_ns > 0.0 && time_ns > usual.fence_ns {
                let odd = odd.entry(path).or_default();
                let excess = DurationNs::nearest(time_ns - usual.median_ns);
                odd.excess_ns = odd.excess_ns.saturating_add(excess.0);
                odd.ratio = odd.ratio.max(time_ns / usual.fence_ns);
            }
        }
        let callees = callees(tree);
        for (vertex, &path) in path_of_vertex.iter().enumerate() {
            let expected = self
                .expected
                .get(&tree.funcs()[vertex])
                .into_iter()
                .flatten();
            for expected in expected {
                if callees.binary_search(&(vertex, expected.func)).is_ok() {
                    continue;
                }
                if let Some(path) = paths.callee(path, expected.func) {
                    let odd = odd.entry(path).or_default();
                    odd.num_lacking += 1;
                    odd.rarity = expected.rarity;
                }
            }
        }
        odd
    }

    /// Returns the median time of a call along a path.
    pub(super) fn median_ns(&self, paths: &CallPaths, path: CallPath) -> f64 {
        self.time(paths.edge(path)).median_ns
    }
}

impl CallTime {
    /// Computes median and fence of times in ascending order. Times spread by factors, so the fence is Tukey's for
    /// far outliers of the logarithms; a tick is added first, since many times are 0.
    fn of(times: &[(usize, i64)], tick_ns: f64) -> Self {
        let quartile = |quarter: usize| (times[(times.len() - 1) * quarter / 4].1).real();
        let [low, high] = [1, 3].map(|quarter| quartile(quarter) + tick_ns);
        Self {
            median_ns: quartile(2),
            fence_ns: high * (high / low).powi(3) + tick_ns,
        }
    }

    /// Returns its numbers.
    pub(super) fn numbers(self) -> [f64; 2] {
        [self.median_ns, self.fence_ns]
    }
}

/// Returns the vertices and the functions that each calls, each pair once, in ascending order.
fn callees(tree: CsTree<'_>) -> Vec<(usize, FuncId)> {
    let called =
        (1..tree.len()).filter_map(|vertex| Some((tree.parent(vertex)?, tree.funcs()[vertex])));
    let mut callees: Vec<(usize, FuncId)> = called.collect();
    callees.sort_unstable();
    callees.dedup();
    callees
}
