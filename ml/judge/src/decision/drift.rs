//! Drift: a change of the durations of executions over a run, steady or as the work moves between lanes.

use super::quantiles::{ascending, quantile};

/// Number of segments of a cell whose usual times are compared.
const NUM_SEGMENTS: usize = 6;
/// Minimum number of executions of a segment.
const MIN_IN_SEGMENT: usize = 6;
/// Quantile of a segment that is compared: two thirds of it may be late.
const LOWER_THIRD: f64 = 0.33;
/// Number of executions of a cell before one, and after it, whose level counts.
const NUM_NEIGHBOURS: usize = 8;
/// Maximum spread with the drift, as a share of the spread without it.
const MAX_SPREAD_RATIO: f64 = 0.6;

/// A change of a time over the executions of a lane; none by default.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Drift {
    /// Nanoseconds per execution.
    slope_ns: f64,
    /// Index at which the change is zero.
    middle: f64,
    /// The change at each execution of a cell, by index, nanoseconds; shape `[n_cells]`, empty without changes but
    /// the slope.
    levels: Vec<Vec<(u32, f64)>>,
}

/// The executions of a part, in cells of like ones.
pub(super) struct DriftSeries<'a> {
    /// Times, nanoseconds, shape `[n]`.
    pub(super) values: &'a [f64],
    /// Index of each in its lane, shape `[n]`.
    pub(super) index: &'a [u32],
    /// Cell of each, shape `[n]`.
    pub(super) cell_of: &'a [usize],
    pub(super) num_cells: usize,
}

impl DriftSeries<'_> {
    /// Returns index and value of the executions of each cell, in order.
    fn cells(&self) -> Vec<Vec<(u32, f64)>> {
        let mut cells = vec![Vec::new(); self.num_cells];
        for ((&value, &index), &cell) in self.values.iter().zip(self.index).zip(self.cell_of) {
            cells[cell].push((index, value));
        }
        for cell in &mut cells {
            cell.sort_unstable_by(|a, b| (a.0).cmp(&b.0).then(a.1.total_cmp(&b.1)));
        }
        cells
    }
}

impl Drift {
    /// Fits the drift of executions.
    ///
    /// The slope is the median over pairs of segments of a cell (Theil 1950, Sen 1968). It counts if the median
    /// absolute deviation about the medians of cells falls to 60 % or less.
    ///
    /// If `may_follow`, the level around each execution is an alternative: the larger one of the lower thirds of the
    /// eight before it and of the eight after it in its cell, so that an execution is usual if it is so for those
    /// before or for those after it, and two thirds of either may be late. With L and R the median distances below
    /// the median of a cell, of the levels and of the rest, it counts if R is 60 % or less of √(L² + R²), and of
    /// the median distance with a slope that counts. The lower halves do not change if a third is late in one part of
    /// the run, as when a core is shared for a while: levels only follow what changes for most executions.
    pub(super) fn of(series: &DriftSeries<'_>, may_follow: bool) -> Self {
        let cells = series.cells();
        let mut best = Self::default();
        if let Some(steady) = steady(&cells, series.index)
            && spread(&cells, &steady) <= MAX_SPREAD_RATIO * spread(&cells, &best)
        {
            best = steady;
        }
        if may_follow {
            let followed = Self {
                levels: cells.iter().map(|cell| levels(cell)).collect(),
                ..Self::default()
            };
            let lower = |value: &dyn Fn(usize, (u32, f64), f64) -> f64| {
                let mut below = Vec::new();
                for (number, (cell, levels)) in cells.iter().zip(&followed.levels).enumerate() {
                    let pairs = cell.iter().zip(levels);
                    let values = pairs.map(|(point, level)| value(number, *point, level.1));
                    below.extend(below_median(ascending(values.collect())));
                }
                quantile(&ascending(below), 0.5)
            };
            let around = lower(&|_, point, level| point.1 - level);
            let without = around.hypot(lower(&|_, _, level| level));
            let steady = lower(&|cell, point, _| point.1 - best.at(Some(cell), point.0));
            if around <= MAX_SPREAD_RATIO * without
                && (best == Self::default() || around <= MAX_SPREAD_RATIO * steady)
            {
                best = followed;
            }
        }
        best
    }

    /// Returns whether it follows the level around each execution.
    pub(super) fn is_followed(&self) -> bool {
        !self.levels.is_empty()
    }

    /// Returns how much longer than usual executions of a cell at this index are, nanoseconds.
    pub(super) fn at(&self, cell: Option<usize>, index: u32) -> f64 {
        let Some(levels) = cell.and_then(|cell| self.levels.get(cell)) else {
            return self.slope_ns * (f64::from(index) - self.middle);
        };
        let next = levels.partition_point(|level| level.0 < index);
        let near = levels.get(next).or(levels.last());
        near.map_or(0.0, |level| level.1)
    }
}

/// Returns the steady change of executions, if cells are long enough for one.
fn steady(cells: &[Vec<(u32, f64)>], index: &[u32]) -> Option<Drift> {
    let mut slopes = Vec::new();
    for cell in cells {
        if cell.len() < NUM_SEGMENTS * MIN_IN_SEGMENT {
            continue;
        }
        let segments = cell.chunks(cell.len().div_ceil(NUM_SEGMENTS));
        let points: Vec<(f64, f64)> = segments
            .map(|segment| {
                let times = ascending(segment.iter().map(|point| point.1).collect());
                let middle = f64::from(segment[segment.len() / 2].0);
                (middle, quantile(&times, LOWER_THIRD))
            })
            .collect();
        for (at, a) in points.iter().enumerate() {
            let later = points[at + 1..].iter().filter(|b| b.0 > a.0);
            slopes.extend(later.map(|b| (b.1 - a.1) / (b.0 - a.0)));
        }
    }
    if slopes.is_empty() {
        return None;
    }
    let places = ascending(index.iter().map(|&index| f64::from(index)).collect());
    Some(Drift {
        slope_ns: quantile(&ascending(slopes), 0.5),
        middle: quantile(&places, 0.5),
        levels: Vec::new(),
    })
}

/// Returns the level around each execution of a cell, less the lower third of the cell.
fn levels(cell: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let third = |range: &[(u32, f64)]| {
        let times = ascending(range.iter().map(|point| point.1).collect());
        quantile(&times, LOWER_THIRD)
    };
    let of_cell = third(cell);
    let level = |(at, point): (usize, &(u32, f64))| {
        let before = &cell[at.saturating_sub(NUM_NEIGHBOURS)..at];
        let after = &cell[at + 1..(at + 1 + NUM_NEIGHBOURS).min(cell.len())];
        let sides = [before, after].into_iter();
        let sides = sides.filter(|side| side.len() >= NUM_NEIGHBOURS.min(cell.len() - 1) / 2);
        let level = sides.map(third).reduce(f64::max);
        (point.0, level.map_or(0.0, |level| level - of_cell))
    };
    cell.iter().enumerate().map(level).collect()
}

/// Returns how far values in ascending order are below their median: those of the lower half.
fn below_median(sorted: Vec<f64>) -> Vec<f64> {
    let middle = quantile(&sorted, 0.5);
    let lower = sorted.len() / 2;
    sorted
        .into_iter()
        .take(lower)
        .map(|value| middle - value)
        .collect()
}

/// Returns the median absolute deviation of executions, less the drift, about the medians of their cells.
fn spread(cells: &[Vec<(u32, f64)>], drift: &Drift) -> f64 {
    let mut deviations = Vec::new();
    for (number, cell) in cells.iter().enumerate() {
        let rest = cell
            .iter()
            .map(|&(index, value)| value - drift.at(Some(number), index));
        let rest = ascending(rest.collect());
        let middle = quantile(&rest, 0.5);
        deviations.extend(rest.iter().map(|value| (value - middle).abs()));
    }
    quantile(&ascending(deviations), 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drift_of(value: impl Fn(u32) -> f64) -> Drift {
        let index: Vec<u32> = (0..4).flat_map(|_| 0..200).collect();
        let wobble = |at: u32| f64::from(at * 37 % 29);
        let values: Vec<f64> = index.iter().map(|&at| value(at) + wobble(at)).collect();
        let cell_of: Vec<usize> = (0..800).map(|tree| tree / 200).collect();
        let series = DriftSeries {
            values: &values,
            index: &index,
            cell_of: &cell_of,
            num_cells: 4,
        };
        Drift::of(&series, true)
    }

    #[test]
    fn finds_growth_but_not_noise_or_a_late_third() {
        let grown = drift_of(|at| 1_000.0 + 3.0 * f64::from(at));
        assert!((grown.slope_ns - 3.0).abs() < 0.2, "{grown:?}");
        assert_eq!(drift_of(|_| 1_000.0), Drift::default());
        let late = drift_of(|at| {
            if (80..146).contains(&at) {
                5_000.0
            } else {
                1_000.0
            }
        });
        assert_eq!(late, Drift::default());
    }

    #[test]
    fn follows_work_that_moves_and_is_set_back_but_no_late_execution() {
        let work = |at: u32| match at {
            0..90 => 1_000.0 + 20.0 * f64::from(at),
            90..150 => 1_000.0,
            _ => 1_000.0 + 30.0 * f64::from(at - 150),
        };
        let is_late = |at: u32| at % 17 == 3;
        let drift = drift_of(|at| work(at) + if is_late(at) { 3_000.0 } else { 0.0 });
        assert!(drift.is_followed());
        let usual = drift.at(Some(2), 120);
        for at in 1..199 {
            let error = drift.at(Some(2), at) - usual - (work(at) - 1_000.0);
            assert!(error > -250.0, "{at}: {error}");
            // Where work is set back, what was usual before is so for a few executions.
            assert!(error < 250.0 || (90..98).contains(&at), "{at}: {error}");
        }
    }
}
