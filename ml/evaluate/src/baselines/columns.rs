//! Scores that are sums over the columns of a matrix.

use callgrove_model::Progress;
use rayon::prelude::*;

use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;
use callgrove_trees::real::fraction;

/// Number of columns that are processed at once, which bounds the memory; the result does not depend on it.
const COLUMNS_PER_TASK: usize = 16;

/// Returns the sums of the results of `score_column` for each number of each column, in order of columns, shape
/// `[num_rows]`.
///
/// # Errors
/// [`callgrove_trees::MlError::Cancelled`].
pub(super) fn sum_over_columns(
    rows: &Rows,
    score_column: impl Fn(&[f64]) -> Vec<f64> + Sync,
    progress: Progress<'_>,
) -> Result<Vec<f64>> {
    let mut entries: Vec<Vec<(u32, f64)>> = vec![Vec::new(); rows.num_columns()];
    for (row, number) in (0..rows.len()).zip(0..) {
        for (column, value) in rows.row(row).entries() {
            entries[column].push((number, value));
        }
    }
    let mut sums = vec![0.0; rows.len()];
    for (task, columns) in entries.chunks(COLUMNS_PER_TASK).enumerate() {
        progress.at(fraction(task * COLUMNS_PER_TASK, entries.len()))?;
        let scores: Vec<Vec<f64>> = columns
            .par_iter()
            .map(|entries| {
                let mut column = vec![0.0; rows.len()];
                for &(row, value) in entries {
                    column[row as usize] = value;
                }
                score_column(&column)
            })
            .collect();
        for (sum, row) in sums.iter_mut().zip(0..) {
            for scores in &scores {
                let scores: &Vec<f64> = scores;
                *sum += scores[row];
            }
        }
    }
    Ok(sums)
}
