//! Work that grows or shrinks over the run on all lanes alike, as where a mesh is refined.
//!
//! Such a drift is no delay, and it must not hide one: three times the work of an early visit may be less than the usual
//! work of the whole run. It is seen in eighths of the run, so that what slows all lanes for a moment is no drift.

use callgrove_model::Real;

/// Number of windows of a lane's visits.
const WINDOWS: usize = 8;
/// Minimum number of visits of a lane in each window.
const MIN_VISITS: usize = 8;
/// Minimum number of lanes.
const MIN_LANES: usize = 4;
/// Minimum rank correlation of the drifts of two halves of the lanes: by chance, eight windows have it in one of a
/// hundred places.
const MIN_CORRELATION: f64 = 0.8;
/// Minimum ratio of the largest level to the smallest: a smaller drift changes little.
const MIN_RATIO: f64 = 1.1;

/// The level of a place in each window of the run, as a multiple of its usual duration.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct PlaceDrift {
    levels: [f64; WINDOWS],
}

impl PlaceDrift {
    /// Returns the drift of a place, from the durations of its lanes in order of time; `None` if they do not agree on one.
    pub(super) fn of(lanes: impl Iterator<Item = Vec<i64>>) -> Option<Self> {
        let of_lanes: Vec<[f64; WINDOWS]> = lanes.filter_map(|it| levels_of_lane(&it)).collect();
        if of_lanes.len() < MIN_LANES {
            return None;
        }
        let middle = |of: &[[f64; WINDOWS]]| -> [f64; WINDOWS] {
            std::array::from_fn(|at| {
                let mut levels: Vec<f64> = of.iter().map(|it| it[at]).collect();
                let half = (levels.len() - 1) / 2;
                *levels.select_nth_unstable_by(half, f64::total_cmp).1
            })
        };
        let levels = middle(&of_lanes);
        let largest = levels.iter().copied().fold(0.0, f64::max);
        let smallest = levels.iter().copied().fold(f64::INFINITY, f64::min);
        if largest < MIN_RATIO * smallest {
            return None;
        }
        let half = |parity: usize| {
            let lanes = of_lanes.iter().skip(parity).step_by(2);
            middle(&lanes.copied().collect::<Vec<_>>())
        };
        let is_shared = rank_correlation(&half(0), &half(1)) > MIN_CORRELATION;
        is_shared.then_some(Self { levels })
    }

    /// Returns the level at one of a lane's visits.
    pub(super) fn at(&self, visit: usize, num_visits: usize) -> f64 {
        // In windows, from the middle of the first one.
        let place = (visit.real() + 0.5) * WINDOWS.real() / num_visits.real() - 0.5;
        let place = place.clamp(0.0, (WINDOWS - 1).real());
        let before = (0..WINDOWS - 2)
            .take_while(|it| (it + 1).real() <= place)
            .count();
        let part = place - before.real();
        self.levels[before] + part * (self.levels[before + 1] - self.levels[before])
    }
}

/// Returns the median of each window over that of all, if there are enough visits.
fn levels_of_lane(durations: &[i64]) -> Option<[f64; WINDOWS]> {
    let count = durations.len();
    if count < WINDOWS * MIN_VISITS {
        return None;
    }
    let median = |of: &[i64]| {
        let mut of = of.to_vec();
        let half = (of.len() - 1) / 2;
        (*of.select_nth_unstable(half).1).real()
    };
    let whole = median(durations);
    let bound = |window: usize| window * count / WINDOWS;
    let levels = std::array::from_fn(|it| median(&durations[bound(it)..bound(it + 1)]) / whole);
    (whole > 0.0 && levels.iter().all(|it| *it > 0.0)).then_some(levels)
}

/// Returns Spearman's rank correlation.
fn rank_correlation(left: &[f64; WINDOWS], right: &[f64; WINDOWS]) -> f64 {
    let ranks = |of: &[f64; WINDOWS]| -> [f64; WINDOWS] {
        std::array::from_fn(|at| of.iter().filter(|it| **it < of[at]).count().real())
    };
    let (left, right) = (ranks(left), ranks(right));
    let squares = left
        .iter()
        .zip(right)
        .map(|(a, b)| (a - b) * (a - b))
        .sum::<f64>();
    let count = WINDOWS.real();
    1.0 - 6.0 * squares / (count * (count * count - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 80 visits of each of six lanes.
    fn drift(duration: impl Fn(usize, i64) -> i64) -> Option<PlaceDrift> {
        PlaceDrift::of((0..6).map(|lane| (0..80).map(|visit| duration(lane, visit)).collect()))
    }

    fn noise(lane: usize, visit: i64) -> i64 {
        (visit * 37 + i64::try_from(lane).unwrap() * 11) % 19
    }

    #[test]
    fn growth_of_all_lanes_is_a_drift() {
        let found = drift(|lane, visit| 500 + 10 * visit + noise(lane, visit)).unwrap();
        let level = |visit: usize| found.at(visit, 80);
        assert!(
            (level(75) / level(5) - 1250.0 / 550.0).abs() < 0.1,
            "{found:?}"
        );
        assert!(level(0) < level(20) && level(20) < level(21), "{found:?}");
    }

    #[test]
    fn what_one_lane_does_and_what_takes_a_moment_is_none() {
        assert_eq!(drift(noise_only), None);
        let one = |lane: usize, visit: i64| {
            let more = if lane == 2 { 10 * visit } else { 0 };
            500 + more + noise(lane, visit)
        };
        assert_eq!(drift(one), None);
        let hog = |lane: usize, visit: i64| {
            let factor = if (21..25).contains(&visit) { 4 } else { 1 };
            factor * (500 + noise(lane, visit))
        };
        assert_eq!(drift(hog), None);
    }

    fn noise_only(lane: usize, visit: i64) -> i64 {
        500 + noise(lane, visit)
    }
}
