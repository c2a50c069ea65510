//! Copula-based outlier detection as in PyOD; the variant for executions is in `core/detect`.

use callgrove_model::Progress;

use super::columns::sum_over_columns;
use super::tails::Tails;
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;

/// Returns the COPOD score of each row, shape `[num_rows]`; the larger, the more anomalous. It has no settings.
///
/// With L = −ln P(X ≤ x), R = −ln P(X ≥ x) by the empirical distribution of a column and S that of
/// the two to which the column's skewness points (L + R if it is 0), the score is the sum over columns
/// of max(S, (L + R) / 2). A constant column adds 0.
///
/// Z. Li et al.: COPOD, 2020 (doi:10.1109/ICDM50108.2020.00135). They sum each of the three over columns first and
/// use the largest sum; PyOD computes the formula above.
///
/// # Errors
/// [`callgrove_trees::MlError::Cancelled`].
pub fn pyod_copod(rows: &Rows, progress: Progress<'_>) -> Result<Vec<f64>> {
    let score_column = |column: &[f64]| {
        let tails = Tails::new(column);
        let score = |row: usize| {
            let both = f64::midpoint(tails.left[row], tails.right[row]);
            tails.by_skew(row).max(both)
        };
        (0..column.len()).map(score).collect()
    };
    sum_over_columns(rows, score_column, progress)
}
