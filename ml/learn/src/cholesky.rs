//! Symmetric positive definite systems of equations.

use callgrove_trees::dataset::dot;

/// Pivots below this value mean that a free row is a combination of others, up to rounding.
const MIN_PIVOT: f64 = 1e-13;
/// Number of refinement steps of a solution.
const REFINEMENTS: usize = 2;

/// Lower triangular factor of a symmetric positive definite matrix, stored row by row.
pub(crate) struct Cholesky {
    factor: Vec<f64>,
    num_rows: usize,
}

impl Cholesky {
    /// Factorises a matrix. A pivot lost to rounding is replaced by a large one, which leaves that row unchanged.
    pub(crate) fn new(matrix: &[f64], num_rows: usize) -> Self {
        let mut factor = matrix.to_vec();
        for i in 0..num_rows {
            for j in 0..=i {
                let (head, tail) = factor.split_at(i * num_rows);
                let row_j = if i == j {
                    &tail[..j]
                } else {
                    &head[j * num_rows..j * num_rows + j]
                };
                let sum = dot(&tail[..j], row_j);
                let value = factor[i * num_rows + j] - sum;
                factor[i * num_rows + j] = if i != j {
                    value / factor[j * num_rows + j]
                } else if value > MIN_PIVOT {
                    value.sqrt()
                } else {
                    1.0 / MIN_PIVOT
                };
            }
        }
        Self { factor, num_rows }
    }

    pub(crate) fn solve(&self, rhs: &[f64]) -> Vec<f64> {
        let num_rows = self.num_rows;
        let mut x = rhs.to_vec();
        for i in 0..num_rows {
            let row = &self.factor[i * num_rows..i * num_rows + i];
            x[i] = (x[i] - dot(row, &x[..i])) / self.factor[i * num_rows + i];
        }
        for i in (0..num_rows).rev() {
            x[i] /= self.factor[i * num_rows + i];
            let value = x[i];
            let row = &self.factor[i * num_rows..i * num_rows + i];
            for (x, factor) in x.iter_mut().zip(row) {
                *x -= factor * value;
            }
        }
        x
    }

    /// Solves and corrects by the residual, which recovers digits on ill-conditioned kernels.
    pub(crate) fn solve_refined(&self, matrix: &[f64], rhs: &[f64]) -> Vec<f64> {
        let mut x = self.solve(rhs);
        for _ in 0..REFINEMENTS {
            let residual: Vec<f64> = rhs
                .iter()
                .enumerate()
                .map(|(i, rhs)| {
                    let row = &matrix[i * self.num_rows..(i + 1) * self.num_rows];
                    rhs - dot(row, &x)
                })
                .collect();
            for (x, correction) in x.iter_mut().zip(self.solve(&residual)) {
                *x += correction;
            }
        }
        x
    }
}
