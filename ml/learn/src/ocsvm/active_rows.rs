//! The part of the problem that is solved in one round.

use super::expansion::Expansion;
use super::kernel::{Kernel, KernelRow, RowCache};
use super::problem::UpperBounds;

/// Rows whose α may move, in ascending order: all with α > 0 and some of small f. The others have α = 0 and are
/// checked against the optimum of the active ones.
pub(super) struct ActiveRows<'a> {
    kernel: Kernel<'a>,
    full_rows: &'a mut RowCache,
    parts: RowCache,
    /// Distinct rows of the problem.
    pub(super) indices: Vec<usize>,
    /// α of the active rows, and f = Kα there.
    pub(super) expansion: Expansion,
    /// Upper bounds of the active rows.
    pub(super) upper: Vec<f64>,
}

impl<'a> ActiveRows<'a> {
    pub(super) fn new(
        kernel: Kernel<'a>,
        full_rows: &'a mut RowCache,
        cache_bytes: usize,
        indices: Vec<usize>,
        expansion: &Expansion,
        bounds: &UpperBounds,
    ) -> Self {
        Self {
            kernel,
            full_rows,
            parts: RowCache::new(indices.len(), cache_bytes),
            expansion: expansion.select(&indices),
            upper: indices.iter().map(|&index| bounds.upper[index]).collect(),
            indices,
        }
    }

    /// Returns K(x_i, ·) over the active rows; `index` counts among them.
    pub(super) fn kernel_row(&mut self, index: usize) -> KernelRow {
        if let Some(row) = self.parts.get(index) {
            return row;
        }
        let whole = self.indices[index];
        let row = KernelRow::new(self.kernel.part(self.full_rows, whole, &self.indices));
        self.parts.insert(index, &row);
        row
    }

    pub(super) fn set(&mut self, index: usize, alpha: f64) {
        if alpha.to_bits() != self.expansion.alpha()[index].to_bits() {
            let row = self.kernel_row(index);
            self.expansion.set(index, alpha, &row);
        }
    }
}

/// Returns all rows with α > 0, and of the others below their bounds the `num_more` of smallest f.
pub(super) fn choose(expansion: &Expansion, bounds: &UpperBounds, num_more: usize) -> Vec<usize> {
    let alpha = expansion.alpha();
    let (mut chosen, mut others): (Vec<usize>, Vec<usize>) = (0..alpha.len())
        .filter(|&index| alpha[index] > 0.0 || bounds.upper[index] > 0.0)
        .partition(|&index| alpha[index] > 0.0);
    if num_more < others.len() {
        others.select_nth_unstable_by_key(num_more, |&index| (expansion.scaled_f(index), index));
        others.truncate(num_more);
    }
    chosen.extend(others);
    chosen.sort_unstable();
    chosen
}
