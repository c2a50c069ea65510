//! Rows of the RBF kernel, computed when asked for and kept while there is room.

use std::sync::Arc;

use super::exp::exp_of_negative;
use super::problem::Problem;
use crate::dataset::Rows;

/// Rows that are computed at once.
pub(super) const LANES: usize = 8;

/// Kernel rows of a problem; clones share the rows.
#[derive(Clone, Debug)]
pub(super) struct KernelCache {
    gamma: f64,
    max_rows: usize,
    rows: Vec<Option<Arc<[f64]>>>,
    last_used: Vec<u64>,
    num_uses: u64,
    num_rows: usize,
}

impl KernelCache {
    pub(super) fn new(num_distinct: usize, gamma: f64, cache_bytes: usize) -> Self {
        let row_bytes = num_distinct.max(1) * size_of::<f64>();
        Self {
            gamma,
            max_rows: (cache_bytes / row_bytes).max(2),
            rows: vec![None; num_distinct],
            last_used: vec![0; num_distinct],
            num_uses: 0,
            num_rows: 0,
        }
    }

    /// K(x_i, ·) over the distinct rows of the problem.
    pub(super) fn row(&mut self, rows: &Rows, problem: &Problem, index: usize) -> Arc<[f64]> {
        self.num_uses += 1;
        self.last_used[index] = self.num_uses;
        if let Some(row) = &self.rows[index] {
            return Arc::clone(row);
        }
        if self.num_rows == self.max_rows {
            self.forget_oldest();
        }
        let [row] = compute(rows, problem, [index], self.gamma);
        self.rows[index] = Some(Arc::clone(&row));
        self.num_rows += 1;
        row
    }

    /// Computes rows that will be asked for next, several at once. It changes no number, only time.
    pub(super) fn prepare(&mut self, rows: &Rows, problem: &Problem, indices: &[usize]) {
        let missing: Vec<usize> = indices
            .iter()
            .copied()
            .filter(|&index| self.rows[index].is_none())
            .collect();
        for indices in missing.chunks_exact(LANES) {
            let indices: [usize; LANES] = std::array::from_fn(|lane| indices[lane]);
            for (&index, row) in indices
                .iter()
                .zip(compute(rows, problem, indices, self.gamma))
            {
                if self.num_rows == self.max_rows {
                    self.forget_oldest();
                }
                self.num_uses += 1;
                self.last_used[index] = self.num_uses;
                self.rows[index] = Some(row);
                self.num_rows += 1;
            }
        }
    }

    fn forget_oldest(&mut self) {
        let oldest = (0..self.rows.len())
            .filter(|&index| self.rows[index].is_some())
            .min_by_key(|&index| self.last_used[index]);
        if let Some(oldest) = oldest {
            self.rows[oldest] = None;
            self.num_rows -= 1;
        }
    }
}

/// K of `N` rows at once.
fn compute<const N: usize>(
    rows: &Rows,
    problem: &Problem,
    indices: [usize; N],
    gamma: f64,
) -> [Arc<[f64]>; N] {
    let from = indices.map(|index| rows.row(problem.row_of(index)));
    rows.squared_distances_from(from).map(|distances| {
        let mut kernel: Vec<f64> = problem.pick(distances);
        for value in &mut kernel {
            *value = exp_of_negative(-gamma * *value);
        }
        kernel.into()
    })
}
