//! Rows of the RBF kernel, computed on demand and cached.

use std::collections::BTreeMap;
use std::sync::Arc;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::exp::exp_of_negative;
use super::problem::Problem;
use callgrove_trees::dataset::{DenseRows, RowRef, Rows};

/// Number of kernel rows that are computed at once, one in each lane of a vector.
pub(super) const LANES: usize = 8;
/// Number of values of a kernel row that one task computes; the result does not depend on it.
const TARGETS_PER_TASK: usize = 2048;
/// Number of values whose products are computed before their exponentials.
const TARGETS_PER_TILE: usize = 64;
/// Number of dense rows that are processed together, so that their sums run in parallel.
const ROWS_PER_STEP: usize = 8;
/// Number of columns that are processed together.
const COLUMNS_PER_CHUNK: usize = 4;

/// One row of the kernel, or a part of one.
pub(super) type KernelRow = Arc<Vec<f64>>;

/// A cache of kernel rows by index; evicts the least recently used one. Clones share the rows.
#[derive(Clone, Debug)]
pub(super) struct RowCache {
    max_rows: usize,
    rows: BTreeMap<usize, (u64, KernelRow)>,
    num_uses: u64,
}

impl RowCache {
    /// Returns a cache for rows of `row_len` numbers in `max_bytes`, but for at least two rows.
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
    /// Returns K(x_i, ·) over all distinct rows for each of `indices`, in their order; those that `cache` lacks are
    /// computed together and added to it.
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

    /// Returns K(x_i, ·) over the distinct rows `targets`, taken from the complete row if `cache` has it.
    pub(super) fn part(&self, cache: &mut RowCache, index: usize, targets: &[usize]) -> Vec<f64> {
        if let Some(row) = cache.get(index) {
            return targets.iter().map(|&target| row[target]).collect();
        }
        let mut rows = self.compute(&[index], targets.len(), |place| targets[place]);
        rows.swap_remove(0)
    }

    /// Returns K of one to [`LANES`] rows with `len` distinct rows; `target` maps an index to a row.
    fn compute(
        &self,
        indices: &[usize],
        len: usize,
        target: impl Fn(usize) -> usize + Sync,
    ) -> Vec<Vec<f64>> {
        let from = KernelSources::new(
            self.rows.num_columns(),
            indices.iter().map(|&index| {
                let row = self.problem.row_of(index);
                (self.rows.row(row), self.rows.squared_norms()[row])
            }),
        );
        let mut kernel = vec![vec![0.0; len]; indices.len()];
        let mut tasks: Vec<Vec<&mut [f64]>> = Vec::new();
        tasks.resize_with(len.div_ceil(TARGETS_PER_TASK), || Vec::with_capacity(LANES));
        for row in &mut kernel {
            for (task, chunk) in tasks.iter_mut().zip(row.chunks_mut(TARGETS_PER_TASK)) {
                task.push(chunk);
            }
        }
        let vectors = pulp::Arch::new();
        let run = |(task, mut chunks): (usize, Vec<&mut [f64]>)| {
            let first = task * TARGETS_PER_TASK;
            vectors.dispatch(Fill {
                rows: self.rows,
                gamma: self.gamma,
                from: &from,
                row_of: |place: usize| self.problem.row_of(target(first + place)),
                chunks: &mut chunks,
            });
        };
        if tasks.len() > 1 {
            tasks.into_par_iter().enumerate().for_each(run);
        } else {
            tasks.into_iter().enumerate().for_each(run);
        }
        kernel
    }
}

/// The rows that distances are measured from, at most [`LANES`]: column by column with their values adjacent.
#[derive(Debug)]
pub(super) struct KernelSources {
    by_column: Vec<f64>,
    norms: [f64; LANES],
}

impl KernelSources {
    /// Creates sources from rows and their squared norms. Columns beyond `num_columns` count in the norms only.
    pub(super) fn new<'a>(
        num_columns: usize,
        rows: impl Iterator<Item = (RowRef<'a>, f64)>,
    ) -> Self {
        let mut by_column = vec![0.0; LANES * num_columns];
        let mut norms = [0.0; LANES];
        for (lane, (row, norm)) in rows.enumerate() {
            norms[lane] = norm;
            for (column, value) in row.entries() {
                if let Some(place) = by_column.get_mut(LANES * column + lane) {
                    *place = value;
                }
            }
        }
        Self { by_column, norms }
    }
}

/// One chunk of some kernel rows, compiled by pulp for each vector width.
///
/// A value does not depend on the width or the lane: products are summed in order of columns, each rounded separately
/// (no fused multiply-add).
pub(super) struct Fill<'a, 'b, F> {
    pub(super) rows: &'a Rows,
    pub(super) gamma: f64,
    pub(super) from: &'a KernelSources,
    /// Returns the row of `rows` for each index of the chunks.
    pub(super) row_of: F,
    /// One chunk for each source.
    pub(super) chunks: &'a mut [&'b mut [f64]],
}

impl<F: Fn(usize) -> usize> WithSimd for Fill<'_, '_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (rows, gamma) = (self.rows, self.gamma);
        let len = self.chunks.first().map_or(0, |chunk| chunk.len());
        for first in (0..len).step_by(TARGETS_PER_TILE) {
            let end = len.min(first + TARGETS_PER_TILE);
            for place in (first..end).step_by(ROWS_PER_STEP) {
                let targets =
                    std::array::from_fn(|step| (self.row_of)((place + step).min(end - 1)));
                let products = match rows {
                    Rows::Dense(rows) => dense_products(simd, rows, targets, &self.from.by_column),
                    Rows::Sparse(_) => sparse_products(simd, rows, targets, &self.from.by_column),
                };
                for (step, products) in products.iter().enumerate().take(end - place) {
                    let norm = rows.squared_norms()[targets[step]];
                    for (lane, chunk) in self.chunks.iter_mut().enumerate() {
                        let distance = norm + self.from.norms[lane] - 2.0 * products[lane];
                        chunk[place + step] = -gamma * distance.max(0.0);
                    }
                }
            }
            for chunk in &mut *self.chunks {
                for value in &mut chunk[first..end] {
                    *value = exp_of_negative(*value);
                }
            }
        }
    }
}

/// Products of some rows with all lanes.
///
/// The loops that compute them use indices: iterator and array adapters that are not inlined would pass wide vectors
/// through memory, which is five times slower.
type Products = [[f64; LANES]; ROWS_PER_STEP];

#[inline(always)]
fn dense_products<S: Simd>(
    simd: S,
    rows: &DenseRows,
    targets: [usize; ROWS_PER_STEP],
    by_column: &[f64],
) -> Products {
    let (by_column, _) = S::as_simd_f64s(by_column);
    let num_vectors = LANES / S::F64_LANES;
    let num_columns = by_column.len() / num_vectors;
    let chunks = targets.map(|target| rows.row(target).as_chunks::<COLUMNS_PER_CHUNK>());
    let mut products = [[0.0; LANES]; ROWS_PER_STEP];
    for vector in 0..num_vectors {
        let mut sums = [simd.splat_f64s(0.0); ROWS_PER_STEP];
        for chunk in 0..num_columns / COLUMNS_PER_CHUNK {
            let mut values = [&[0.0; COLUMNS_PER_CHUNK]; ROWS_PER_STEP];
            for step in 0..ROWS_PER_STEP {
                values[step] = &chunks[step].0[chunk];
            }
            let first = chunk * COLUMNS_PER_CHUNK;
            for column in first..first + COLUMNS_PER_CHUNK {
                let others = by_column[column * num_vectors + vector];
                for step in 0..ROWS_PER_STEP {
                    sums[step] =
                        add_product(simd, sums[step], values[step][column - first], others);
                }
            }
        }
        for step in 0..ROWS_PER_STEP {
            let rest = chunks[step].1;
            for place in 0..rest.len() {
                let column = num_columns - rest.len() + place;
                let others = by_column[column * num_vectors + vector];
                sums[step] = add_product(simd, sums[step], rest[place], others);
            }
        }
        for (products, sum) in products.iter_mut().zip(sums) {
            S::as_mut_simd_f64s(products).0[vector] = sum;
        }
    }
    products
}

#[inline(always)]
fn sparse_products<S: Simd>(
    simd: S,
    rows: &Rows,
    targets: [usize; ROWS_PER_STEP],
    by_column: &[f64],
) -> Products {
    let num_columns = by_column.len() / LANES;
    let (by_column, _) = S::as_simd_f64s(by_column);
    let num_vectors = LANES / S::F64_LANES;
    let mut products = [[0.0; LANES]; ROWS_PER_STEP];
    for (products, target) in products.iter_mut().zip(targets) {
        let RowRef::Sparse(columns, values) = rows.row(target) else {
            continue;
        };
        // Rows of other runs may have columns that no source has; their numbers follow those of the matrix.
        let known = match columns.last() {
            Some(&last) if last as usize >= num_columns => {
                columns.partition_point(|&column| (column as usize) < num_columns)
            }
            _ => columns.len(),
        };
        let (columns, values) = (&columns[..known], &values[..known]);
        for vector in 0..num_vectors {
            let mut sum = simd.splat_f64s(0.0);
            for (&column, &value) in columns.iter().zip(values) {
                let others = by_column[column as usize * num_vectors + vector];
                sum = add_product(simd, sum, value, others);
            }
            S::as_mut_simd_f64s(products).0[vector] = sum;
        }
    }
    products
}

#[inline(always)]
fn add_product<S: Simd>(simd: S, sum: S::f64s, value: f64, others: S::f64s) -> S::f64s {
    simd.add_f64s(sum, simd.mul_f64s(simd.splat_f64s(value), others))
}
