//! The order of differences.

use callgrove_model::DifferenceKind;

use super::found::Found;
use crate::real::Real;

/// Differences that are told; the rest is noise to a person.
const MAX_TOLD: usize = 40;
/// What is less than usual stands behind what is more by at least this factor in a tree that is slow.
const BEHIND: f64 = 0.99;
/// Weight of the time of what differs by no more than it does in normal trees now and then.
const ORDINARY: f64 = 0.4;
/// Weight of what is missing beside what is new and as rare: it says less.
const MISSING: f64 = 0.95;

/// Sorts differences by importance, the most important first.
///
/// The importance of a difference is the larger of two numbers: its share in all time above what is
/// usual (in a tree that is not slower: in all time that differs), and its novelty, which for something new or missing is √rarity (1 if no normal tree has, or
/// lacks, it). So at most one path is before something as rare as one tree in √n by its time alone, and
/// where no structure differs the path with the largest excess comes first. In a tree that is slower than
/// usual nothing that is less than usual is first. Equal ones in order of excess, then of path.
pub(super) fn in_order(mut found: Vec<Found>, is_slower: bool) -> Vec<Found> {
    let total = |is_less: bool| -> f64 {
        let of_sign = found.iter().filter(|found| found.kind.is_less() == is_less);
        of_sign.map(|found| found.excess_ns().abs().real()).sum()
    };
    let more_ns = total(false);
    // Where nothing took longer on the whole, more and less weigh the same.
    let all_ns = if is_slower {
        more_ns
    } else {
        more_ns + total(true)
    }
    .max(1.0);
    for found in &mut found {
        let share = found.excess_ns().abs().real() / all_ns;
        let of_time = if found.is_ordinary { ORDINARY } else { 1.0 };
        let of_kind = if found.kind == DifferenceKind::Missing {
            MISSING
        } else {
            1.0
        };
        found.importance = (of_time * share).max(of_kind * found.novelty);
    }
    if is_slower {
        let more = found.iter().filter(|found| !found.kind.is_less());
        let largest = more.map(|found| found.importance).fold(0.0, f64::max);
        for found in found.iter_mut().filter(|found| found.kind.is_less()) {
            found.importance = found.importance.min(BEHIND * largest);
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
    found.truncate(MAX_TOLD);
    found
}
