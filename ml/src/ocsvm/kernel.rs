//! Rows of the RBF kernel, computed when asked for and kept while there is room.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::exp::exp_of_negative;
use super::problem::Problem;
use crate::dataset::{RowRef, Rows};

/// Kernel rows that are computed side by side, one in each lane of a vector.
pub(super) const LANES: usize = 8;
/// Numbers of a kernel row that one task computes; the result does not depend on it.
const TARGETS_PER_TASK: usize = 2048;
/// Numbers whose products are found before their exponentials.
const TARGETS_PER_TILE: usize = 64;
/// Dense rows that go through the columns together, so that sums need not wait for each other.
const ROWS_PER_STEP: usize = 4;

/// One row of the kernel, or a part of one.
pub(super) type KernelRow = Arc<Vec<f64>>;

/// Kernel rows by index; the one that was used longest ago goes first. Clones share the rows.
#[derive(Clone, Debug)]
pub(super) struct RowCache {
    max_rows: usize,
    rows: BTreeMap<usize, (u64, KernelRow)>,
    num_uses: u64,
}

impl RowCache {
    /// Room for rows of `row_len` numbers in `max_bytes`, but for at least two.
    pub(super) fn new(row_len: usize, max_bytes: usize) -> Self {
        let row_bytes = row_len.max(1) * size_of::<f64>();
        Self {
            max_rows: (max_bytes / row_bytes).max(2),
            rows: BTreeMap::new(),
            num_uses: 0,
        }
    }

    pub(super) fn get(&mut self, index: usize) -> Option<KernelRow> {
        self.num_uses += 1;
        let (last_use, row) = self.rows.get_mut(&index)?;
        *last_use = self.num_uses;
        Some(Arc::clone(row))
    }

    pub(super) fn insert(&mut self, index: usize, row: &KernelRow) {
        if self.rows.len() >= self.max_rows {
            let oldest = self.rows.iter().min_by_key(|(_, entry)| entry.0);
            if let Some(oldest) = oldest.map(|(&index, _)| index) {
                self.rows.remove(&oldest);
            }
        }
        self.num_uses += 1;
        self.rows.insert(index, (self.num_uses, Arc::clone(row)));
    }
}

/// The kernel over the distinct rows of a problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel<'a> {
    pub(super) rows: &'a Rows,
    pub(super) problem: &'a Problem,
    pub(super) gamma: f64,
}

impl Kernel<'_> {
    /// K(x_i, ·) over all distinct rows for each of `indices`, in their order; those that `cache`
    /// lacks are computed together and kept there.
    pub(super) fn rows(&self, cache: &mut RowCache, indices: &[usize]) -> Vec<KernelRow> {
        let mut found: Vec<Option<KernelRow>> =
            indices.iter().map(|&index| cache.get(index)).collect();
        let missing: Vec<usize> = (0..indices.len())
            .filter(|&place| found[place].is_none())
            .collect();
        let num_distinct = self.problem.num_distinct();
        for places in missing.chunks(LANES) {
            let wanted: Vec<usize> = places.iter().map(|&place| indices[place]).collect();
            let rows = self.compute(&wanted, num_distinct, |place| place);
            for (&place, row) in places.iter().zip(rows) {
                let row = Arc::new(row);
                cache.insert(indices[place], &row);
                found[place] = Some(row);
            }
        }
        found.into_iter().flatten().collect()
    }

    /// K(x_i, ·) over the distinct rows `targets`, taken from the whole row if `cache` has it.
    pub(super) fn part(&self, cache: &mut RowCache, index: usize, targets: &[usize]) -> Vec<f64> {
        if let Some(row) = cache.get(index) {
            return targets.iter().map(|&target| row[target]).collect();
        }
        let [part] = self.compute_lanes([index], targets.len(), &|place| targets[place]);
        part
    }

    /// K of up to [`LANES`] rows against `len` distinct rows; `target` says which.
    fn compute(
        &self,
        indices: &[usize],
        len: usize,
        target: impl Fn(usize) -> usize + Sync,
    ) -> Vec<Vec<f64>> {
        let from = std::array::from_fn::<_, LANES, _>(|lane| indices[lane % indices.len()]);
        let mut rows: Vec<Vec<f64>> = if indices.len() == 1 {
            self.compute_lanes([from[0]], len, &target).into()
        } else {
            self.compute_lanes(from, len, &target).into()
        };
        rows.truncate(indices.len());
        rows
    }

    /// The numbers do not depend on the lanes: each is the same sum in order of columns.
    fn compute_lanes<const N: usize>(
        &self,
        indices: [usize; N],
        len: usize,
        target: &(impl Fn(usize) -> usize + Sync),
    ) -> [Vec<f64>; N] {
        let from = Sources::new(self, indices);
        let mut kernel: [Vec<f64>; N] = std::array::from_fn(|_| vec![0.0; len]);
        let mut tasks: Vec<Vec<&mut [f64]>> = Vec::new();
        tasks.resize_with(len.div_ceil(TARGETS_PER_TASK), || Vec::with_capacity(N));
        for row in &mut kernel {
            for (task, chunk) in tasks.iter_mut().zip(row.chunks_mut(TARGETS_PER_TASK)) {
                task.push(chunk);
            }
        }
        let vectors = pulp::Arch::new();
        let run = |(task, mut chunks): (usize, Vec<&mut [f64]>)| {
            let first = task * TARGETS_PER_TASK;
            let row_of = |place: usize| self.problem.row_of(target(first + place));
            vectors.dispatch(|| from.fill(self, &row_of, &mut chunks));
        };
        if tasks.len() > 1 {
            tasks.into_par_iter().enumerate().for_each(run);
        } else {
            tasks.into_iter().enumerate().for_each(run);
        }
        kernel
    }
}

/// The rows that distances are measured from: per column their values side by side.
struct Sources<const N: usize> {
    by_column: Vec<[f64; N]>,
    norms: [f64; N],
}

impl<const N: usize> Sources<N> {
    fn new(kernel: &Kernel<'_>, indices: [usize; N]) -> Self {
        let mut by_column = vec![[0.0; N]; kernel.rows.num_columns()];
        let rows = indices.map(|index| kernel.problem.row_of(index));
        for (lane, &row) in rows.iter().enumerate() {
            for (column, value) in kernel.rows.row(row).entries() {
                by_column[column][lane] = value;
            }
        }
        Self {
            by_column,
            norms: rows.map(|row| kernel.rows.squared_norms()[row]),
        }
    }

    #[inline(always)]
    fn fill(
        &self,
        kernel: &Kernel<'_>,
        row_of: &impl Fn(usize) -> usize,
        chunks: &mut [&mut [f64]],
    ) {
        let len = chunks.first().map_or(0, |chunk| chunk.len());
        for first in (0..len).step_by(TARGETS_PER_TILE) {
            let end = len.min(first + TARGETS_PER_TILE);
            for place in (first..end).step_by(ROWS_PER_STEP) {
                let rows = std::array::from_fn(|step| row_of((place + step).min(end - 1)));
                let products = self.products(kernel.rows, rows);
                for (step, products) in products.iter().enumerate().take(end - place) {
                    let norm = kernel.rows.squared_norms()[rows[step]];
                    for lane in 0..N {
                        let distance = (norm + self.norms[lane] - 2.0 * products[lane]).max(0.0);
                        chunks[lane][place + step] = -kernel.gamma * distance;
                    }
                }
            }
            for chunk in &mut *chunks {
                for value in &mut chunk[first..end] {
                    *value = exp_of_negative(*value);
                }
            }
        }
    }

    #[inline(always)]
    fn products(&self, rows: &Rows, places: [usize; ROWS_PER_STEP]) -> [[f64; N]; ROWS_PER_STEP] {
        let mut sums = [[0.0; N]; ROWS_PER_STEP];
        if let Rows::Dense(rows) = rows {
            let num_columns = self.by_column.len();
            let values = places.map(|place| &rows.row(place)[..num_columns]);
            for (column, others) in self.by_column.iter().enumerate() {
                for step in 0..ROWS_PER_STEP {
                    for lane in 0..N {
                        sums[step][lane] += values[step][column] * others[lane];
                    }
                }
            }
            return sums;
        }
        for (sums, &place) in sums.iter_mut().zip(&places) {
            if let RowRef::Sparse(columns, values) = rows.row(place) {
                for (&column, &value) in columns.iter().zip(values) {
                    let others = &self.by_column[column as usize];
                    for lane in 0..N {
                        sums[lane] += value * others[lane];
                    }
                }
            }
        }
        sums
    }
}
