//! A tree and the usual tree of its kind, path by path.

use super::found::{DifferenceKind, Found};
use super::merge::{Path, PathTotal};
use super::paths::CallPaths;
use super::usual::{UsualPath, UsualTree, UsualTrees};

/// Times that differ by less than this share of the usual duration of the tree are no difference.
const LEAST_SHARE: f64 = 0.01;
/// Nor are those that differ by this many ticks of the clock, times the root of the calls, or less.
const LEAST_TICKS: f64 = 2.0;
/// More time than this many times what the additional calls usually take is not only from them.
const BEYOND_CALLS: f64 = 2.0;
/// Counts outside the quartiles by this many times their distance differ.
const COUNT_FENCE: f64 = 1.5;
/// Within something new, a path that is that much rarer than what it is in is named too.
const RARER: f64 = 0.25;

/// A path of the tree, of the usual tree, or of both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Both {
    path: Path,
    count: u64,
    exclusive_ns: i64,
    usual: UsualPath,
    /// Place of the caller.
    caller: Option<usize>,
}

/// The paths of the tree and those that are usual, callers first.
pub(super) fn side_by_side(paths: &CallPaths, totals: &[PathTotal], kind: &UsualTree) -> Vec<Both> {
    let mut both: Vec<Both> = totals
        .iter()
        .map(|total| Both {
            path: total.path,
            count: total.count,
            exclusive_ns: total.exclusive_ns,
            usual: kind.path(total.path).copied().unwrap_or(UsualPath {
                path: total.path,
                share: 0.0,
                count: [0; 3],
                exclusive_ns: 0,
            }),
            caller: None,
        })
        .collect();
    let has = |path: Path| totals.binary_search_by_key(&path, |total| total.path).is_ok();
    let lacking = kind.paths.iter().filter(|usual| !has(usual.path));
    both.extend(lacking.map(|usual| Both {
        path: usual.path,
        count: 0,
        exclusive_ns: 0,
        usual: *usual,
        caller: None,
    }));
    both.sort_unstable_by_key(|row| row.path);
    for place in 0..both.len() {
        let caller = paths.caller(both[place].path);
        both[place].caller =
            caller.and_then(|caller| both.binary_search_by_key(&caller, |row| row.path).ok());
    }
    both
}

impl Both {
    fn is_new(&self) -> bool {
        self.count > 0 && self.usual.count[1] == 0
    }

    fn is_missing(&self) -> bool {
        self.count == 0 && self.usual.count[1] > 0
    }

    fn found(&self, kind: DifferenceKind) -> Found {
        Found {
            kind,
            path: self.path,
            count: self.count,
            usual_count: self.usual.count[1],
            time_ns: self.exclusive_ns,
            usual_ns: self.usual.exclusive_ns,
            share: self.usual.share,
            novelty: 0.0,
            importance: 0.0,
        }
    }
}

/// A tree beside the usual tree of its kind.
pub(super) struct Comparison<'a> {
    pub(super) paths: &'a CallPaths,
    pub(super) usual: &'a UsualTrees,
    pub(super) kind: &'a UsualTree,
    /// Callers first.
    pub(super) both: &'a [Both],
}

impl Comparison<'_> {
    /// The least difference in time that is one, for so many calls.
    pub(super) fn least_ns(&self, count: u64) -> f64 {
        let by_clock = LEAST_TICKS * self.paths.tick_ns as f64 * (count.max(1) as f64).sqrt();
        by_clock.max(LEAST_SHARE * self.kind.duration_ns as f64)
    }

    /// All differences, in no order that means anything.
    pub(super) fn differences(&self) -> Vec<Found> {
        let mut found = Vec::new();
        self.new_and_missing(&mut found);
        for row in self.both {
            if row.count > 0 && row.usual.count[1] > 0 {
                found.extend(self.change(row));
            }
        }
        found
    }

    /// What is new or missing as a whole is one difference at its top.
    fn new_and_missing(&self, found: &mut Vec<Found>) {
        /// Place in `found` of what a row is part of.
        type Top = Option<usize>;
        let mut top_of_row: Vec<Top> = vec![None; self.both.len()];
        for (place, row) in self.both.iter().enumerate() {
            let above = row.caller.and_then(|caller| top_of_row[caller]);
            let (kind, rarity) = if row.is_new() {
                (DifferenceKind::New, self.usual.rarity(self.paths, row.path))
            } else if row.is_missing() {
                let rarity = self.usual.rarity_of_absence(self.paths, row.path);
                (DifferenceKind::Missing, rarity)
            } else {
                continue;
            };
            let novelty = rarity.sqrt();
            let is_part = |above: &usize| {
                kind == DifferenceKind::Missing || novelty <= found[*above].novelty + RARER
            };
            let top = above.filter(is_part).unwrap_or_else(|| {
                found.push(Found {
                    time_ns: 0,
                    usual_ns: 0,
                    novelty,
                    ..row.found(kind)
                });
                found.len() - 1
            });
            found[top].time_ns += row.exclusive_ns;
            found[top].usual_ns += row.usual.exclusive_ns;
            top_of_row[place] = Some(top);
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

    /// A path within something new that took most of its time, and far longer than such calls take
    /// elsewhere: the time is told there, and no longer at the top.
    fn heavy_in_new(&self, row: &Both, top: &mut Found) -> Option<Found> {
        let usual_ns = self.usual.call_ns(self.paths, row.path) * row.count as f64;
        let excess_ns = row.exclusive_ns as f64 - usual_ns;
        let is_heavy = top.kind == DifferenceKind::New
            && top.path != row.path
            && usual_ns > 0.0
            && 2.0 * excess_ns >= top.time_ns as f64
            && excess_ns > self.least_ns(row.count);
        if !is_heavy {
            return None;
        }
        let usual_ns = usual_ns.round() as i64;
        top.time_ns -= row.exclusive_ns;
        Some(Found {
            usual_ns,
            ..row.found(DifferenceKind::Longer)
        })
    }

    /// What differs along a path that both have.
    fn change(&self, row: &Both) -> Option<Found> {
        let usual_count = row.usual.count[1];
        let extra = row.count as f64 - usual_count as f64;
        let excess_ns = (row.exclusive_ns - row.usual.exclusive_ns) as f64;
        let of_extra_ns = extra * row.usual.exclusive_ns as f64 / usual_count as f64;
        let is_from_calls = extra * excess_ns > 0.0
            && excess_ns.abs() <= BEYOND_CALLS * of_extra_ns.abs();
        if excess_ns.abs() > self.least_ns(row.count.max(usual_count)) {
            let kind = match (excess_ns > 0.0, is_from_calls) {
                (true, true) => DifferenceKind::MoreCalls,
                (true, false) => DifferenceKind::Longer,
                (false, true) => DifferenceKind::FewerCalls,
                (false, false) => DifferenceKind::Shorter,
            };
            return Some(row.found(kind));
        }
        if !self.is_count_unusual(row) {
            return None;
        }
        let kind = if extra > 0.0 {
            DifferenceKind::MoreCalls
        } else {
            DifferenceKind::FewerCalls
        };
        // Twice as often says something, eight times as often as much as calls can say.
        let doublings = (row.count as f64 / usual_count as f64).log2().abs();
        Some(Found {
            novelty: 0.5 * (doublings / 3.0).min(1.0),
            ..row.found(kind)
        })
    }

    /// Whether the number of calls is outside what is usual, and not because the caller's is.
    fn is_count_unusual(&self, row: &Both) -> bool {
        let [low, middle, high] = row.usual.count.map(|count| count as f64);
        let (count, margin) = (row.count as f64, COUNT_FENCE * (high - low));
        if count >= low - margin && count <= high + margin {
            return false;
        }
        let follows = |caller: &Both| {
            let usual = caller.usual.count[1] as f64;
            let expected = middle * caller.count as f64 / usual.max(1.0);
            usual > 0.0 && (count - expected).abs() <= 0.1 * expected
        };
        !row.caller.is_some_and(|caller| follows(&self.both[caller]))
    }
}
