//! Cycles of the structures of each lane, and where they coincide.

use super::equal_distances::EqualDistances;
use super::placement::{Placement, TreePlace};

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

    /// Returns after how many executions the cycles that coincide at a place do so again; `None` if there are none.
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
