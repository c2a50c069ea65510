//! Squared distances from some rows to all rows of a matrix.

#![expect(
    clippy::inline_always,
    reason = "loops get the wide vectors of their caller only if they become part of it"
)]

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use crate::dataset::{RowRef, Rows};

/// Number of rows of one task; the result does not depend on it.
const ROWS_PER_TASK: usize = 1024;
/// Number of rows that are processed together, column by column.
const ROWS_PER_STEP: usize = 8;

impl Rows {
    /// Returns the squared Euclidean distances from `from` to every row. Columns that only `from` has count.
    pub fn squared_distances(&self, from: RowRef<'_>) -> Vec<f64> {
        let [distances] = self.squared_distances_from([from]);
        distances
    }

    /// Returns [`Rows::squared_distances`] from several rows at once, which reads the matrix only once. The numbers
    /// are the same, bit by bit.
    pub fn squared_distances_from<const N: usize>(&self, from: [RowRef<'_>; N]) -> [Vec<f64>; N] {
        let mut distances = vec![[0.0; N]; self.len()];
        self.fold_squared_distances(from, &mut distances, |row, distances| *row = *distances);
        std::array::from_fn(|lane| distances.iter().map(|row| row[lane]).collect())
    }

    /// Computes [`Rows::squared_distances_from`] without storing all of them: `fold` takes the distances of each row,
    /// with the row's element of `folded`, shape `[n_rows]`.
    pub fn fold_squared_distances<T: Send, const N: usize>(
        &self,
        from: [RowRef<'_>; N],
        folded: &mut [T],
        fold: impl Fn(&mut T, &[f64; N]) + Sync,
    ) {
        // Column by column, with the N values next to each other.
        let mut by_column = vec![[0.0; N]; self.num_columns()];
        for (lane, row) in from.iter().enumerate() {
            for (column, value) in row.entries() {
                if let Some(values) = by_column.get_mut(column) {
                    values[lane] = value;
                }
            }
        }
        let norms = from.map(RowRef::squared_norm);
        let vectors = pulp::Arch::new();
        folded
            .par_chunks_mut(ROWS_PER_TASK)
            .enumerate()
            .for_each(|(task, folded)| {
                vectors.dispatch(FoldDistances {
                    rows: self,
                    first: task * ROWS_PER_TASK,
                    by_column: &by_column,
                    norms,
                    folded,
                    fold: &fold,
                });
            });
    }
}

/// Distances of some rows, compiled by pulp for each vector width; the numbers do not depend on it.
struct FoldDistances<'a, T, F, const N: usize> {
    rows: &'a Rows,
    first: usize,
    by_column: &'a [[f64; N]],
    norms: [f64; N],
    folded: &'a mut [T],
    fold: &'a F,
}

impl<T, F: Fn(&mut T, &[f64; N]), const N: usize> WithSimd for FoldDistances<'_, T, F, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for (step, folded) in self.folded.chunks_mut(ROWS_PER_STEP).enumerate() {
            let first = self.first + step * ROWS_PER_STEP;
            let last = first + folded.len() - 1;
            let row = |index: usize| (first + index).min(last);
            let products = match self.rows {
                Rows::Dense(rows) => products(
                    std::array::from_fn(|index| rows.row(row(index))),
                    self.by_column,
                ),
                Rows::Sparse(_) => {
                    let mut products = [[0.0; N]; ROWS_PER_STEP];
                    for (index, products) in products.iter_mut().enumerate().take(folded.len()) {
                        *products = sparse_products(self.rows.row(row(index)), self.by_column);
                    }
                    products
                }
            };
            let norms_of_rows = &self.rows.squared_norms()[first..];
            for ((folded, products), norm) in folded.iter_mut().zip(products).zip(norms_of_rows) {
                let mut distances = [0.0; N];
                for lane in 0..N {
                    distances[lane] = (norm + self.norms[lane] - 2.0 * products[lane]).max(0.0);
                }
                (self.fold)(folded, &distances);
            }
        }
    }
}

/// Returns N scalar products of each of some rows. Each is added up column by column, so the other rows do not change
/// it; the rows are processed together, so that their sums run in parallel.
#[inline(always)]
fn products<const N: usize>(
    rows: [&[f64]; ROWS_PER_STEP],
    by_column: &[[f64; N]],
) -> [[f64; N]; ROWS_PER_STEP] {
    let mut sums = [[0.0; N]; ROWS_PER_STEP];
    if N > 1 {
        for (sums, row) in sums.iter_mut().zip(rows) {
            for (&value, others) in row.iter().zip(by_column) {
                for lane in 0..N {
                    sums[lane] += value * others[lane];
                }
            }
        }
        return sums;
    }
    let rows = rows.map(|row| &row[..by_column.len()]);
    for (column, others) in by_column.iter().enumerate() {
        for (sums, row) in sums.iter_mut().zip(rows) {
            for lane in 0..N {
                sums[lane] += row[column] * others[lane];
            }
        }
    }
    sums
}

#[inline(always)]
fn sparse_products<const N: usize>(row: RowRef<'_>, by_column: &[[f64; N]]) -> [f64; N] {
    let mut sums = [0.0; N];
    let RowRef::Sparse(columns, values) = row else {
        return sums;
    };
    for (&column, &value) in columns.iter().zip(values) {
        // Rows of other runs may have columns that the matrix lacks; their numbers follow those of the matrix.
        let Some(others) = by_column.get(column as usize) else {
            break;
        };
        for lane in 0..N {
            sums[lane] += value * others[lane];
        }
    }
    sums
}
