//! Usual times of like executions: the location and scale of each part of trees of one structure.

use serde::{Deserialize, Serialize};

use super::drift::{Drift, DriftSeries};
use super::quantiles::{ascending, lower_scale, quantile};
use callgrove_trees::real::Real;
use callgrove_trees::wl::SubtreeIdx;

/// Quantile by which a cell is compared with its class: two thirds of its trees may be late.
const LOWER_THIRD: f64 = 0.33;
/// Number of trees of a cell that weigh as much as its class for its location.
const LOCATION_PRIOR: f64 = 3.0;
/// Number of trees of a cell that weigh as much as its class for its scale.
const SCALE_PRIOR: f64 = 24.0;
/// Minimum number of trees of a cell with its own scale.
const MIN_IN_CELL: usize = 8;

/// Like executions within a structure class: one lane and one phase of the class's cycle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LikeCell {
    /// Number of the lane.
    pub(super) lane: usize,
    /// Index modulo the period.
    pub(super) phase: u32,
}

/// The usual time of a part, nanoseconds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartLocation {
    /// Median of the class.
    pub(super) location: f64,
    /// Scale of the deviations, whatever the lane; above 0.
    pub(super) scale: f64,
    /// Offset of each cell from the class, and its scale; shape `[n_cells]`.
    pub(super) cells: Vec<(f64, f64)>,
    /// Its change over the run; not stored in a model.
    #[serde(skip)]
    pub(super) drift: Drift,
}

/// The usual times of the trees of one structure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClassLocation {
    /// The structure.
    pub(super) root: SubtreeIdx,
    /// Median duration, at least 20 ticks of the clock; nanoseconds.
    pub(super) usual_ns: f64,
    /// Length of the cycle; 1 without a cycle.
    pub(super) period: u32,
    /// Cells, ascending.
    pub(super) cells: Vec<LikeCell>,
    /// Location of the complete tree.
    pub(super) whole: PartLocation,
    /// Locations of its subtrees, ascending.
    pub(super) parts: Vec<ClassPart>,
}

/// A subtree of the trees of a class.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClassPart {
    /// The subtree.
    pub(super) subtree: SubtreeIdx,
    /// Number of occurrences in the first of the trees.
    pub(super) count: u64,
    /// Its location; `None` if too few trees have it.
    pub(super) location: Option<PartLocation>,
}

impl PartLocation {
    /// Fits `values` of trees, with their indices in lanes, in the cells `cell_of`, of which there are `num_cells`. If
    /// `may_follow`, usual times may change from execution to execution.
    ///
    /// ```text
    /// location of a cell = median of the class + (q.33 of the cell − q.33 of the class) n / (n + 3)
    /// scale              = max(q.50 − q.159, (q.60 − q.50) / .253) of what is left, and floor
    /// scale of a cell    = √((n s_cell² + 24 s²) / (n + 24))
    /// ```
    ///
    /// A third of late trees moves neither the lower third nor the lower half; delays only increase times.
    pub(super) fn fit(
        (values, index): (&[f64], &[u32]),
        cell_of: &[usize],
        num_cells: usize,
        floor: f64,
        may_follow: bool,
    ) -> Self {
        let floor = floor.max(1.0);
        let series = DriftSeries {
            values,
            index,
            cell_of,
            num_cells,
        };
        let drift = Drift::of(&series, may_follow);
        let steady = values.iter().zip(index).enumerate();
        let values: Vec<f64> = steady
            .map(|(at, (value, &index))| value - drift.at(cell_of.get(at).copied(), index))
            .collect();
        let sorted = ascending(values.clone());
        let location = quantile(&sorted, 0.5);
        let third = quantile(&sorted, LOWER_THIRD);
        let mut by_cell: Vec<Vec<f64>> = vec![Vec::new(); num_cells];
        for (&value, &cell) in values.iter().zip(cell_of) {
            by_cell[cell].push(value - location);
        }
        let mut rest = Vec::with_capacity(values.len());
        let mut offsets = Vec::with_capacity(num_cells);
        for cell in &mut by_cell {
            cell.sort_unstable_by(f64::total_cmp);
            let num = cell.len().real();
            let offset = if cell.is_empty() {
                0.0
            } else {
                (quantile(cell, LOWER_THIRD) - (third - location)) * num / (num + LOCATION_PRIOR)
            };
            for value in cell.iter_mut() {
                *value -= offset;
            }
            rest.extend_from_slice(cell);
            offsets.push(offset);
        }
        let of_class = lower_scale(&ascending(rest), floor);
        let scale_of = |cell: &Vec<f64>| {
            let num = cell.len().real();
            if cell.len() < MIN_IN_CELL {
                return of_class;
            }
            let own = lower_scale(cell, floor);
            ((num * own * own + SCALE_PRIOR * of_class * of_class) / (num + SCALE_PRIOR)).sqrt()
        };
        // Whole nanoseconds: fractions are insignificant, and would make a model file three times as long.
        let cells = offsets.iter().zip(&by_cell);
        let cells = cells.map(|(offset, cell)| (offset.round(), scale_of(cell).round().max(1.0)));
        Self {
            location: location.round(),
            scale: lower_scale(&sorted, floor).round().max(1.0),
            cells: cells.collect(),
            drift,
        }
    }

    /// Returns location and scale in a cell, or in the class for an unknown cell, at an index in its lane.
    pub(super) fn at(&self, cell: Option<usize>, index: u32) -> (f64, f64) {
        let location = self.location + self.drift.at(cell, index);
        let known = cell.and_then(|cell| self.cells.get(cell));
        known.map_or((location, self.scale), |&(offset, scale)| {
            (location + offset, scale)
        })
    }

    /// Returns whether its numbers can be the result of a fit.
    fn is_valid(&self, num_cells: usize) -> bool {
        let scales = self.cells.iter().map(|cell| cell.1).chain([self.scale]);
        let offsets = self.cells.iter().map(|cell| cell.0).chain([self.location]);
        let cells_fit = self.cells.len() == num_cells;
        let mut numbers = scales.clone().chain(offsets);
        cells_fit && numbers.all(f64::is_finite) && scales.into_iter().all(|scale| scale > 0.0)
    }
}

impl ClassLocation {
    /// Returns the locations of the complete tree and of its parts.
    pub(super) fn locations(&mut self) -> impl Iterator<Item = &mut PartLocation> {
        let parts = self.parts.iter_mut();
        let parts = parts.filter_map(|part| part.location.as_mut());
        std::iter::once(&mut self.whole).chain(parts)
    }

    /// Returns the index of a cell among the known ones.
    pub(super) fn cell(&self, lane: Option<usize>, index: u32) -> Option<usize> {
        let phase = index % self.period;
        let lane = lane?;
        self.cells.binary_search(&LikeCell { lane, phase }).ok()
    }

    /// Returns the similarity of its trees and a bag: weighted Jaccard similarity over the counts of subtrees, 0..=1.
    pub(super) fn similarity(&self, bag: impl Iterator<Item = (SubtreeIdx, u64)>) -> f64 {
        let (mut shared, mut sum) = (0, 0);
        for (subtree, count) in bag {
            sum += count;
            let found = self
                .parts
                .binary_search_by_key(&subtree, |part| part.subtree);
            shared += found.map_or(0, |place| count.min(self.parts[place].count));
        }
        let own: u64 = self.parts.iter().map(|part| part.count).sum();
        shared.real() / (sum + own - shared).max(1).real()
    }

    /// Returns whether its numbers can be the result of a fit to a vocabulary of this length.
    pub(super) fn is_valid(&self, vocabulary_len: usize) -> bool {
        let num_cells = self.cells.len();
        let parts = self.parts.iter();
        let is_known = |subtree: SubtreeIdx| subtree.index() < vocabulary_len;
        self.period > 0
            && self.usual_ns.is_finite()
            && self.usual_ns > 0.0
            && is_known(self.root)
            && self.cells.is_sorted_by(|a, b| a < b)
            && self.whole.is_valid(num_cells)
            && self.parts.is_sorted_by(|a, b| a.subtree < b.subtree)
            && parts.clone().all(|part| is_known(part.subtree))
            && parts
                .filter_map(|part| part.location.as_ref())
                .all(|location| location.is_valid(num_cells))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_trees_up_to_a_third_do_not_move_a_cell() {
        let wobble = |at: u32| f64::from(at * 37 % 29);
        let values: Vec<f64> = (0..400)
            .map(|at| {
                let is_late = at % 4 == 1 && at / 4 % 3 == 0;
                1_000.0 + wobble(at) + if is_late { 5_000.0 } else { 0.0 }
            })
            .collect();
        let index: Vec<u32> = (0..400).map(|at| at / 4).collect();
        let cell_of: Vec<usize> = (0..400).map(|at| at % 4).collect();
        let fitted = PartLocation::fit((&values, &index), &cell_of, 4, 10.0, false);
        for &(offset, scale) in &fitted.cells {
            assert!(offset.abs() < 8.0, "{fitted:?}");
            assert!(scale < 60.0, "{fitted:?}");
        }
        assert!(fitted.cells[2].1 < 25.0, "{fitted:?}");
    }
}
