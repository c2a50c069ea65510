//! Sums of kernels at support vectors, at rows of any run.

use callgrove_model::Progress;
use serde::{Deserialize, Serialize};

use super::exp::exp_of_negative;
use super::expansion::{from_scaled, to_scaled};
use super::kernel::LANES;
use crate::dataset::{RowRef, Rows, SparseRow, SparseRows};
use crate::error::Result;

/// A row with its factor. Of a one-class SVM that is α > 0; equal training rows are one support vector.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupportVector {
    /// α, the sum over equal rows.
    pub alpha: f64,
    /// The row.
    pub row: SparseRow,
}

/// The function x → Σ α_i exp(−γ |x − x_i|²).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSum {
    /// Kernel width γ.
    pub gamma: f64,
    /// x_i with α_i.
    pub terms: Vec<SupportVector>,
}

impl KernelSum {
    /// Adds the function at each of `rows` to `values`, shape `[n_rows]`.
    ///
    /// # Errors
    /// [`crate::MlError::BadNumber`] if a term is not finite, [`crate::MlError::Cancelled`].
    pub fn add_to(&self, values: &mut [f64], rows: &Rows, progress: Progress<'_>) -> Result<()> {
        // One after the other, so that the sums are those of a training bit by bit.
        for_each_row(&self.terms, rows, progress, |row, distances| {
            for (term, distance) in self.terms.iter().zip(distances) {
                values[row] += term.alpha * exp_of_negative(-self.gamma * distance);
            }
        })
    }
}

/// Kernels at the rows `from`, of all `rows`: for each of `from` exp(−γ d²), shape `[n_rows]`.
pub(crate) fn kernel_columns(rows: &Rows, gamma: f64, from: &[usize]) -> Vec<Vec<f64>> {
    let column = |distances: &Vec<f64>| {
        let kernel = |&distance: &f64| exp_of_negative(-gamma * distance);
        distances.iter().map(kernel).collect()
    };
    // One more label asks for one column.
    if let [from] = from {
        return vec![column(&rows.squared_distances(rows.row(*from)))];
    }
    let mut columns = Vec::with_capacity(from.len());
    for batch in from.chunks(LANES) {
        let last = batch[batch.len() - 1];
        let batch_rows: [RowRef<'_>; LANES] =
            std::array::from_fn(|lane| rows.row(batch.get(lane).copied().unwrap_or(last)));
        let distances = rows.squared_distances_from(batch_rows);
        columns.extend(distances.iter().take(batch.len()).map(column));
    }
    columns
}

/// Σ α_i exp(−γ |x − x_i|²) for each row x, rounded the way the training rounds.
pub(super) fn kernel_sums(
    gamma: f64,
    terms: &[SupportVector],
    rows: &Rows,
    progress: Progress<'_>,
) -> Result<Vec<f64>> {
    let mut sums = Vec::with_capacity(rows.len());
    for_each_row(terms, rows, progress, |_, distances| {
        let scaled: i64 = terms
            .iter()
            .zip(distances)
            .map(|(term, distance)| to_scaled(term.alpha * exp_of_negative(-gamma * distance)))
            .sum();
        sums.push(from_scaled(scaled));
    })?;
    Ok(sums)
}

/// Calls `take` for each row in order, with its squared distances from all `terms`.
fn for_each_row(
    terms: &[SupportVector],
    rows: &Rows,
    progress: Progress<'_>,
    mut take: impl FnMut(usize, &[f64]),
) -> Result<()> {
    let columns = |term: &SupportVector| term.row.columns.last().map_or(0, |&last| last + 1);
    let num_columns = terms.iter().map(columns).max().unwrap_or(0) as usize;
    let matrix = Rows::Sparse(SparseRows::new(
        num_columns,
        terms.iter().map(|term| term.row.clone()),
    )?);
    for first in (0..rows.len()).step_by(LANES) {
        if first % (LANES * 64) == 0 {
            progress.at(first as f32 / rows.len() as f32)?;
        }
        let last = rows.len() - 1;
        let batch: [RowRef<'_>; LANES] =
            std::array::from_fn(|lane| rows.row((first + lane).min(last)));
        let distances = matrix.squared_distances_from(batch);
        for (row, distances) in (first..rows.len()).zip(&distances) {
            take(row, distances);
        }
    }
    Ok(())
}
