//! Drift: a steady change of the durations of executions over a run.

use super::quantiles::{ascending, quantile};

/// Number of segments of a cell whose usual times are compared.
const NUM_SEGMENTS: usize = 6;
/// Minimum number of executions of a segment.
const MIN_IN_SEGMENT: usize = 6;
/// Quantile of a segment that is compared: two thirds of it may be late.
const LOWER_THIRD: f64 = 0.33;
/// Maximum spread with the drift, as a share of the spread without it.
const REDUCED: f64 = 0.6;

/// A steady change of a time over the executions of a lane; none by default.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Drift {
    /// Nanoseconds per execution.
    slope_ns: f64,
    /// Index at which the change is zero.
    middle: f64,
}

impl Drift {
    /// Fits the drift of the values of executions in their cells, of which there are `num_cells`; `index` is the
    /// index of each in its lane.
    ///
    /// The slope is the median over pairs of segments of a cell (Theil 1950, Sen 1968). It counts if the median
    /// absolute deviation about the medians of cells falls to 60 % or less.
    pub(super) fn of(values: &[f64], index: &[u32], cell_of: &[usize], num_cells: usize) -> Self {
        let mut cells: Vec<Vec<(f64, f64)>> = vec![Vec::new(); num_cells];
        for ((&value, &index), &cell) in values.iter().zip(index).zip(cell_of) {
            cells[cell].push((f64::from(index), value));
        }
        let mut slopes = Vec::new();
        for cell in &mut cells {
            cell.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            if cell.len() < NUM_SEGMENTS * MIN_IN_SEGMENT {
                continue;
            }
            let segments = cell.chunks(cell.len().div_ceil(NUM_SEGMENTS));
            let points: Vec<(f64, f64)> = segments
                .map(|segment| {
                    let times = ascending(segment.iter().map(|point| point.1).collect());
                    (segment[segment.len() / 2].0, quantile(&times, LOWER_THIRD))
                })
                .collect();
            for (at, a) in points.iter().enumerate() {
                let later = points[at + 1..].iter().filter(|b| b.0 > a.0);
                slopes.extend(later.map(|b| (b.1 - a.1) / (b.0 - a.0)));
            }
        }
        if slopes.is_empty() {
            return Self::default();
        }
        let places = ascending(index.iter().map(|&index| f64::from(index)).collect());
        let drift = Self {
            slope_ns: quantile(&ascending(slopes), 0.5),
            middle: quantile(&places, 0.5),
        };
        let spread = |drift: Self| {
            let mut deviations = Vec::with_capacity(values.len());
            for cell in &cells {
                let rest = cell.iter().map(|&(index, value)| value - drift.at(index));
                let rest = ascending(rest.collect());
                let middle = quantile(&rest, 0.5);
                deviations.extend(rest.iter().map(|value| (value - middle).abs()));
            }
            quantile(&ascending(deviations), 0.5)
        };
        if spread(drift) <= REDUCED * spread(Self::default()) {
            drift
        } else {
            Self::default()
        }
    }

    /// Returns how much longer than in the middle of the run executions at this index are, nanoseconds.
    pub(super) fn at(self, index: f64) -> f64 {
        self.slope_ns * (index - self.middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drift_of(value: impl Fn(u32) -> f64) -> Drift {
        let index: Vec<u32> = (0..4).flat_map(|_| 0..200).collect();
        let wobble = |at: u32| f64::from(at * 37 % 29);
        let values: Vec<f64> = index.iter().map(|&at| value(at) + wobble(at)).collect();
        let cell_of: Vec<usize> = (0..800).map(|tree| tree / 200).collect();
        Drift::of(&values, &index, &cell_of, 4)
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
}
