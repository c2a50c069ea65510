//! Equal distances between the occurrences of a structure on a lane, and where such cycles coincide.

use super::placement::{Placement, TreePlace};
use callgrove_trees::real::{Real, whole};

/// Minimum number of occurrences.
const MIN_OCCURRENCES: usize = 3;
/// Minimum number of occurrences of which some may be missing, or that may be in one part of the run only.
const MIN_EXACT: usize = 5;
/// Minimum share of the occurrences that exist, if the distances are exact.
const MIN_EXISTING: f64 = 0.75;
/// Largest standard deviation of equal distances, in means.
const MAX_DEVIATION: f64 = 0.1;

/// Occurrences at equal distances, in executions of a lane.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct EqualDistances {
    /// Mean distance.
    pub(super) distance: f64,
    /// True if all distances are multiples of one number and there are too many for that to be chance.
    pub(super) is_exact: bool,
}

impl EqualDistances {
    /// Returns the distance of occurrences at these positions, which ascend; `None` if the distances differ.
    ///
    /// If they are exact, a quarter of the occurrences may be missing: where another structure by design coincides,
    /// the execution has a third structure.
    pub(super) fn of(positions: &[usize]) -> Option<Self> {
        if positions.len() < MIN_OCCURRENCES {
            return None;
        }
        let gaps: Vec<usize> = positions.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let span = (positions[positions.len() - 1] - positions[0]).real();
        let least = gaps.iter().copied().min().unwrap_or(1).max(1);
        let is_multiple = gaps.iter().all(|gap| gap.is_multiple_of(least));
        let is_exact = positions.len() >= MIN_EXACT
            && is_multiple
            && gaps.len().real() >= MIN_EXISTING * span / least.real();
        if is_exact {
            return Some(Self {
                distance: least.real(),
                is_exact,
            });
        }
        let mean = span / gaps.len().real();
        let squares = gaps.iter().map(|gap| (gap.real() - mean).powi(2));
        let variance = squares.sum::<f64>() / gaps.len().real();
        (variance.sqrt() <= MAX_DEVIATION * mean).then_some(Self {
            distance: mean,
            is_exact,
        })
    }

    /// Returns the distance as a number of executions.
    pub(super) fn period(self) -> u32 {
        u32::try_from(whole(self.distance.round())).unwrap_or(u32::MAX)
    }
}

/// The cycles of each lane: structures that come back at exactly equal distances.
pub(super) struct LaneCycles {
    /// Period and phase of each cycle by lane, shape `[n_lanes]`.
    of_lane: Vec<Vec<(usize, usize)>>,
}

impl LaneCycles {
    /// Finds the cycles of these classes, each the trees of one structure in order of lane and position.
    pub(super) fn new<'a>(
        classes: impl Iterator<Item = &'a Vec<usize>>,
        placement: &Placement,
    ) -> Self {
        let mut of_lane = vec![Vec::new(); placement.num_lanes()];
        let place = |tree: usize| placement.places[tree];
        for trees in classes {
            for trees in trees.chunk_by(|&a, &b| place(a).lane == place(b).lane) {
                let positions: Vec<usize> = trees.iter().map(|&it| place(it).position).collect();
                let found = EqualDistances::of(&positions).filter(|found| found.is_exact);
                let Some(period) = found.and_then(|found| usize::try_from(found.period()).ok())
                else {
                    continue;
                };
                if period > 1 {
                    of_lane[place(trees[0]).lane].push((period, positions[0] % period));
                }
            }
        }
        Self { of_lane }
    }

    /// Returns the number of executions until the cycles that coincide at a place do it again; `None` for a place
    /// without a coincidence.
    pub(super) fn coincidence(&self, place: TreePlace) -> Option<u32> {
        let cycles = self.of_lane[place.lane].iter();
        let here = cycles.filter(|(period, phase)| place.position % period == *phase);
        let mut periods = here.map(|cycle| cycle.0);
        let first = periods.next()?;
        let second = periods.next()?;
        let all = periods.fold(least_multiple(first, second), least_multiple);
        Some(u32::try_from(all).unwrap_or(u32::MAX))
    }
}

/// Returns the least common multiple of two numbers above 0.
fn least_multiple(a: usize, b: usize) -> usize {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).saturating_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_equal_with_tolerance_or_exact_with_gaps() {
        let check = |positions: &[usize], expected: Option<(f64, bool)>| {
            let found = EqualDistances::of(positions);
            let found = found.map(|found| (found.distance, found.is_exact));
            assert_eq!(found, expected, "{positions:?}");
        };
        check(&[20, 40, 60], Some((20.0, false)));
        check(&[20, 41, 60], Some((20.0, false)));
        check(&[20, 40, 80], None);
        check(&[6, 13, 27, 34], None);
        check(&[6, 13, 20, 34, 41, 48], Some((7.0, true)));
        check(&[6, 13, 20, 35, 41, 48], None);
        check(&[6, 13], None);
        check(&[5, 9, 100, 130, 180], None);
    }
}
