//! Comparison of a tree with the usual tree of its kind, path by path.

use std::collections::BTreeMap;

use callgrove_model::{DifferenceKind, DurationNs};

use super::calls::OddCalls;
use super::merge::{CallPath, PathTotal};
use super::paths::CallPaths;
use super::raw_difference::RawDifference;
use super::usual::{UsualPath, UsualTree, UsualTrees};
use crate::real::Real;

/// Minimum difference of times, as a share of the usual duration of the tree.
const MIN_SHARE: f64 = 0.01;
/// Minimum difference of times in ticks of the clock, times the root of the number of calls.
const MIN_TICKS: f64 = 2.0;
/// Multiple of the usual time of the additional calls above which the extra time has other reasons, too.
const BEYOND_CALLS: f64 = 2.0;
/// Minimum distance of unusual counts and times from the quartiles, in interquartile ranges.
const FENCE: f64 = 1.5;
/// Rarity by which a path within something new must exceed that of its enclosing path to be named, too.
const MIN_EXTRA_RARITY: f64 = 0.25;

/// A path of the tree, of the usual tree, or of both.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathPair {
    path: CallPath,
    count: u64,
    exclusive_ns: i64,
    usual: UsualPath,
    /// Index of the caller.
    caller: Option<usize>,
}

/// Returns the paths of the tree and the usual paths, callers first.
pub(super) fn side_by_side(
    paths: &CallPaths,
    totals: &[PathTotal],
    kind: &UsualTree,
) -> Vec<PathPair> {
    let mut both: Vec<PathPair> = totals
        .iter()
        .map(|total| PathPair {
            path: total.path,
            count: total.count,
            exclusive_ns: total.exclusive_ns,
            usual: kind.path(total.path).copied().unwrap_or(UsualPath {
                path: total.path,
                share: 0.0,
                count: [0; 3],
                exclusive_ns: [0; 3],
            }),
            caller: None,
        })
        .collect();
    let has = |path: CallPath| {
        totals
            .binary_search_by_key(&path, |total| total.path)
            .is_ok()
    };
    let lacking = kind.paths.iter().filter(|usual| !has(usual.path));
    both.extend(lacking.map(|usual| PathPair {
        path: usual.path,
        count: 0,
        exclusive_ns: 0,
        usual: *usual,
        caller: None,
    }));
    both.sort_unstable_by_key(|row| row.path);
    for index in 0..both.len() {
        let caller = paths.caller(both[index].path);
        both[index].caller =
            caller.and_then(|caller| both.binary_search_by_key(&caller, |row| row.path).ok());
    }
    both
}

impl PathPair {
    fn is_missing(&self) -> bool {
        self.count == 0 && self.usual.count[1] > 0
    }

    fn found(&self, kind: DifferenceKind) -> RawDifference {
        RawDifference {
            kind,
            path: self.path,
            count: self.count,
            usual_count: self.usual.count[1],
            time_ns: self.exclusive_ns,
            usual_ns: self.usual.exclusive_ns[1],
            share: self.usual.share,
            novelty: 0.0,
            is_ordinary: false,
            importance: 0.0,
        }
    }
}

/// A tree and the usual tree of its kind.
pub(super) struct Comparison<'a> {
    pub(super) paths: &'a CallPaths,
    pub(super) usual: &'a UsualTrees,
    pub(super) kind: &'a UsualTree,
    /// The paths of both, callers first.
    pub(super) both: &'a [PathPair],
    /// The odd single calls, by path; for trees whose shape is not a kind.
    pub(super) odd: &'a BTreeMap<CallPath, OddCalls>,
}

impl Comparison<'_> {
    /// Returns the minimum difference in time for `count` calls.
    pub(super) fn min_difference_ns(&self, count: u64) -> f64 {
        let by_clock = MIN_TICKS * self.paths.tick_ns.real() * count.max(1).real().sqrt();
        by_clock.max(MIN_SHARE * self.kind.duration_ns.real())
    }

    /// Returns all differences, unsorted.
    pub(super) fn differences(&self) -> Vec<RawDifference> {
        let mut found = Vec::new();
        self.new_and_missing(&mut found);
        for row in self.both {
            if row.count > 0 && !self.is_new(row) {
                found.extend(self.change(row));
            }
        }
        if !self.kind.is_kind {
            self.lacking(&mut found);
        }
        found
    }

    /// Returns whether a path is new. If trees are not of one shape, a path that hardly any tree has is new even if
    /// the nearest ones have it.
    fn is_new(&self, row: &PathPair) -> bool {
        let is_rare = || !self.kind.is_same_shape && self.usual.is_rare(self.paths, row.path);
        row.count > 0 && (row.usual.count[1] == 0 || is_rare())
    }

    /// Adds the new and missing paths; one that is new or missing as a whole is one difference at its top.
    fn new_and_missing(&self, found: &mut Vec<RawDifference>) {
        /// Index in `found` of the difference that a row is part of.
        type Top = Option<usize>;
        let mut top_of_row: Vec<Top> = vec![None; self.both.len()];
        for (index, row) in self.both.iter().enumerate() {
            let above = row.caller.and_then(|caller| top_of_row[caller]);
            let (kind, rarity) = if self.is_new(row) {
                (DifferenceKind::New, self.usual.rarity(self.paths, row.path))
            } else if row.is_missing() {
                let rarity = self.usual.rarity_of_absence(self.paths, row.path);
                (DifferenceKind::Missing, rarity)
            } else {
                continue;
            };
            let novelty = rarity.sqrt();
            let is_part = |above: &usize| {
                kind == DifferenceKind::Missing
                    || novelty <= found[*above].novelty + MIN_EXTRA_RARITY
            };
            let top = above.filter(is_part).unwrap_or_else(|| {
                found.push(RawDifference {
                    time_ns: 0,
                    usual_ns: 0,
                    novelty,
                    is_ordinary: !self.kind.is_kind && !self.usual.is_rare(self.paths, row.path),
                    ..row.found(kind)
                });
                found.len() - 1
            });
            found[top].time_ns += row.exclusive_ns;
            found[top].usual_ns += row.usual.exclusive_ns[1];
            top_of_row[index] = Some(top);
        }
        let mut longer = Vec::new();
        for (row, top) in self.both.iter().zip(&top_of_row) {
            let Some(top) = top.map(|top| &mut found[top]) else {
                continue;
            };
            longer.extend(self.heavy_in_new(row, top));
        }
        found.extend(longer);
    }

    /// Returns the difference of a path within something new with calls that took much longer than such calls do
    /// elsewhere. Its time is reported there and removed from the top.
    fn heavy_in_new(&self, row: &PathPair, top: &mut RawDifference) -> Option<RawDifference> {
        let heavy = self.heavy(row)?;
        if top.kind != DifferenceKind::New || top.path == row.path {
            return None;
        }
        top.time_ns -= row.exclusive_ns;
        Some(heavy)
    }

    /// Returns the difference of calls along a path that took much longer than such calls do anywhere.
    fn heavy(&self, row: &PathPair) -> Option<RawDifference> {
        let odd = self.odd.get(&row.path)?;
        let is_heavy = odd.excess_ns.real() > self.min_difference_ns(row.count);
        is_heavy.then(|| RawDifference {
            usual_ns: row.exclusive_ns - odd.excess_ns,
            novelty: 1.0 - 0.5 / odd.ratio,
            ..row.found(DifferenceKind::Longer)
        })
    }

    /// Adds calls that lack a callee of nearly all calls of their function.
    fn lacking(&self, found: &mut Vec<RawDifference>) {
        for (&path, odd) in self.odd.iter().filter(|(_, odd)| odd.num_lacking > 0) {
            let novelty = odd.rarity.sqrt();
            if let Some(known) = found.iter_mut().find(|found| found.path == path) {
                if known.kind.is_less() {
                    known.novelty = known.novelty.max(novelty);
                }
                continue;
            }
            let row = self.both.binary_search_by_key(&path, |row| row.path);
            let (count, time_ns) = row.map_or((0, 0), |at| {
                (self.both[at].count, self.both[at].exclusive_ns)
            });
            let call_ns = self.usual.calls.median_ns(self.paths, path);
            let lacking_ns = DurationNs::nearest(call_ns * odd.num_lacking.real()).0;
            found.push(RawDifference {
                kind: if count == 0 {
                    DifferenceKind::Missing
                } else {
                    DifferenceKind::FewerCalls
                },
                path,
                count,
                usual_count: count + odd.num_lacking,
                time_ns,
                usual_ns: time_ns.saturating_add(lacking_ns),
                share: self.kind.path(path).map_or(0.0, |usual| usual.share),
                novelty,
                is_ordinary: true,
                importance: 0.0,
            });
        }
    }

    /// Returns the change along a path that both have.
    fn change(&self, row: &PathPair) -> Option<RawDifference> {
        if let Some(heavy) = self.heavy(row).filter(|_| !self.kind.is_kind) {
            return Some(heavy);
        }
        let usual_count = row.usual.count[1];
        let extra = row.count.real() - usual_count.real();
        let excess_ns = (row.exclusive_ns - row.usual.exclusive_ns[1]).real();
        let of_extra_ns = extra * row.usual.exclusive_ns[1].real() / usual_count.real();
        let is_from_calls =
            extra * excess_ns > 0.0 && excess_ns.abs() <= BEYOND_CALLS * of_extra_ns.abs();
        if excess_ns.abs() > self.min_difference_ns(row.count.max(usual_count)) {
            let kind = match (excess_ns > 0.0, is_from_calls) {
                (true, true) => DifferenceKind::MoreCalls,
                (true, false) => DifferenceKind::Longer,
                (false, true) => DifferenceKind::FewerCalls,
                (false, false) => DifferenceKind::Shorter,
            };
            let time_ns = row.exclusive_ns.real();
            return Some(RawDifference {
                is_ordinary: !self.kind.is_kind
                    || !is_outside(time_ns, row.usual.exclusive_ns.map(Real::real)),
                ..row.found(kind)
            });
        }
        if !self.is_count_unusual(row) {
            return None;
        }
        let kind = if extra > 0.0 {
            DifferenceKind::MoreCalls
        } else {
            DifferenceKind::FewerCalls
        };
        // Twice as often has some novelty; eight times as often has the maximum for a count.
        let doublings = (row.count.real() / usual_count.real()).log2().abs();
        Some(RawDifference {
            novelty: 0.5 * (doublings / 3.0).min(1.0),
            ..row.found(kind)
        })
    }

    /// Returns whether the number of calls is unusual, and not because the caller's is.
    fn is_count_unusual(&self, row: &PathPair) -> bool {
        let quartiles = row.usual.count.map(Real::real);
        let (count, middle) = (row.count.real(), quartiles[1]);
        if !is_outside(count, quartiles) {
            return false;
        }
        let follows = |caller: &PathPair| {
            let usual = caller.usual.count[1].real();
            let expected = middle * caller.count.real() / usual.max(1.0);
            usual > 0.0 && (count - expected).abs() <= 0.1 * expected
        };
        !row.caller.is_some_and(|caller| follows(&self.both[caller]))
    }
}

/// Returns whether a value is an outlier by Tukey's fences.
fn is_outside(value: f64, [low, _, high]: [f64; 3]) -> bool {
    let margin = FENCE * (high - low);
    value < low - margin || value > high + margin
}
