//! The ranking of differences.

use callgrove_model::DifferenceKind;

use super::raw_difference::RawDifference;
use crate::real::Real;

/// Maximum number of reported differences; the rest is noise to a user.
const MAX_DIFFERENCES: usize = 40;
/// Maximum importance of a decrease relative to the first increase, in a tree that is slow.
const DECREASE_LIMIT: f64 = 0.99;
/// Weight of the time of a difference that normal trees sometimes have, too.
const ORDINARY_WEIGHT: f64 = 0.4;
/// Weight of a missing path relative to a new one of equal rarity, which is more informative.
const MISSING_WEIGHT: f64 = 0.95;

/// Sorts differences by importance, the most important first.
///
/// The importance of a difference is the larger of two numbers: its share of all time above the usual (in a tree that
/// is not slower: of all time that differs), and its novelty, which for a new or missing path is √rarity (1 if no
/// normal tree has, or lacks, it). So at most one path ranks before a path as rare as one tree in √n by its time
/// alone. If no structure differs, the path with the largest excess comes first. In a tree that is slower than usual
/// no decrease is first. Equal ones are in order of excess, then of path.
pub(super) fn ranked(mut found: Vec<RawDifference>, is_slower: bool) -> Vec<RawDifference> {
    let total = |is_less: bool| -> f64 {
        let of_sign = found.iter().filter(|found| found.kind.is_less() == is_less);
        of_sign.map(|found| found.excess_ns().abs().real()).sum()
    };
    let more_ns = total(false);
    // If nothing took longer in total, increases and decreases weigh the same.
    let all_ns = if is_slower {
        more_ns
    } else {
        more_ns + total(true)
    }
    .max(1.0);
    for found in &mut found {
        let share = found.excess_ns().abs().real() / all_ns;
        let of_time = if found.is_ordinary {
            ORDINARY_WEIGHT
        } else {
            1.0
        };
        let of_kind = if found.kind == DifferenceKind::Missing {
            MISSING_WEIGHT
        } else {
            1.0
        };
        found.importance = (of_time * share).max(of_kind * found.novelty);
    }
    if is_slower {
        let more = found.iter().filter(|found| !found.kind.is_less());
        let largest = more.map(|found| found.importance).fold(0.0, f64::max);
        for found in found.iter_mut().filter(|found| found.kind.is_less()) {
            found.importance = found.importance.min(DECREASE_LIMIT * largest);
        }
    }
    let largest = found
        .iter()
        .map(|found| found.importance)
        .fold(0.0, f64::max);
    if largest > 0.0 {
        for found in &mut found {
            found.importance /= largest;
        }
    }
    found.sort_by(|a, b| {
        let by_importance = b.importance.total_cmp(&a.importance);
        let by_excess = b.excess_ns().abs().cmp(&a.excess_ns().abs());
        by_importance.then(by_excess).then(a.path.cmp(&b.path))
    });
    found.truncate(MAX_DIFFERENCES);
    found
}
