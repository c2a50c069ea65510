//! Equal distances between the occurrences of a structure on a lane.

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
