//! Outlier detection by empirical cumulative distributions as in PyOD.

use callgrove_model::Progress;

use super::columns::sum_over_columns;
use super::tails::Tails;
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;

/// Returns the ECOD score of each row, shape `[num_rows]`; the larger, the more anomalous. It has no settings.
///
/// With L, R and S as in [`super::pyod_copod()`], the score is the sum over columns of max(L, R, S). A
/// constant column adds 0.
///
/// Z. Li et al.: ECOD, 2022 (doi:10.1109/TKDE.2022.3159580). They sum each of the three over columns first and use
/// the largest sum; PyOD computes the formula above.
///
/// # Errors
/// [`callgrove_trees::MlError::Cancelled`].
pub fn pyod_ecod(rows: &Rows, progress: Progress<'_>) -> Result<Vec<f64>> {
    let score_column = |column: &[f64]| {
        let tails = Tails::new(column);
        let score = |row: usize| {
            let larger = tails.left[row].max(tails.right[row]);
            tails.by_skew(row).max(larger)
        };
        (0..column.len()).map(score).collect()
    };
    sum_over_columns(rows, score_column, progress)
}
