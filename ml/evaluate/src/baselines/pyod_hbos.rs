//! Histogram-based outlier score as in PyOD; the variant for executions is in `core/detect`.

use callgrove_model::Progress;

use super::columns::sum_over_columns;
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;
use callgrove_trees::real::Real;

/// Term added to a density, so that its logarithm is finite; PyOD's default.
const ALPHA: f64 = 0.1;

/// Returns the HBOS score of each row, shape `[num_rows]`; the larger, the more anomalous.
///
/// The sum over columns of −log2(density + 0.1), where density is that of the column's histogram of
/// `num_bins` bins of equal width between its smallest and largest number. A constant column has bins
/// from ½ below to ½ above its value and adds the same to each row.
///
/// M. Goldstein, A. Dengel: Histogram-based outlier score, 2012. As in PyOD, densities depend on the unit of a
/// column, and a number on an edge counts in the bin above it but is scored by the bin below.
///
/// # Errors
/// [`callgrove_trees::MlError::Cancelled`].
pub fn pyod_hbos(rows: &Rows, num_bins: usize, progress: Progress<'_>) -> Result<Vec<f64>> {
    sum_over_columns(rows, |column| score_column(column, num_bins), progress)
}

fn score_column(column: &[f64], num_bins: usize) -> Vec<f64> {
    let edges = edges(column, num_bins);
    let mut counts = vec![0_usize; num_bins];
    for value in column {
        // Bins include their lower edge; the last one includes its upper edge too.
        let num_edges = edges.partition_point(|edge| edge <= value);
        counts[num_edges.clamp(1, num_bins) - 1] += 1;
    }
    let scores: Vec<f64> = counts
        .iter()
        .zip(edges.windows(2))
        .map(|(&count, edge)| {
            let density = count.real() / (edge[1] - edge[0]) / column.len().real();
            -(density + ALPHA).log2()
        })
        .collect();
    column
        .iter()
        .map(|value| {
            let num_edges = edges.partition_point(|edge| edge < value);
            scores[num_edges.clamp(1, num_bins) - 1]
        })
        .collect()
}

fn edges(column: &[f64], num_bins: usize) -> Vec<f64> {
    let smallest = column.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (first, last) = if smallest < largest {
        (smallest, largest)
    } else {
        (smallest - 0.5, largest + 0.5)
    };
    let step = (last - first) / num_bins.real();
    let inner = (0..num_bins).map(|edge| edge.real() * step + first);
    inner.chain([last]).collect()
}
