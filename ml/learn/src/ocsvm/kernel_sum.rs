//! Sums of kernels with support vectors, at rows of any run.

use std::sync::atomic::{AtomicUsize, Ordering};

use callgrove_model::Progress;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::exp::exp_of_negative;
use super::expansion::{AlphaMove, from_scaled};
use super::kernel::{Fill, KernelSources, LANES};
use callgrove_trees::dataset::{RowRef, Rows, SparseRow, SparseRows, check_norms};
use callgrove_trees::error::Result;
use callgrove_trees::real::fraction;

/// Maximum memory in bytes for the rows of the factors, column by column.
const MAX_SOURCE_BYTES: usize = 32 << 20;
/// Number of rows of one task; the result does not depend on it.
const ROWS_PER_TASK: usize = 1_024;

/// A row with its factor. In a one-class SVM that is α > 0; equal training rows are one support vector.
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
    /// [`callgrove_trees::MlError::BadNumber`] if a term is not finite, [`callgrove_trees::MlError::Cancelled`].
    pub fn add_to(&self, values: &mut [f64], rows: &Rows, progress: Progress<'_>) -> Result<()> {
        check_norms(&squared_norms(
            self.terms.iter().map(|term| term.row.as_ref()),
        ))?;
        for (group, terms) in self.terms.chunks(LANES).enumerate() {
            progress.at(fraction(group * LANES, self.terms.len()))?;
            let from = |lane: usize| terms[lane.min(terms.len() - 1)].row.as_ref();
            // One after the other, so that the sums equal those of a training bit by bit.
            let add = |value: &mut f64, distances: &[f64; LANES]| {
                for (term, distance) in terms.iter().zip(distances) {
                    *value += term.alpha * exp_of_negative(-self.gamma * distance);
                }
            };
            rows.fold_squared_distances(std::array::from_fn(from), values, add);
        }
        Ok(())
    }
}

/// Returns the kernels of the rows `from` with all `rows`: for each of `from` exp(−γ d²), shape `[n_rows]`.
pub fn kernel_columns(rows: &Rows, gamma: f64, from: &[usize]) -> Vec<Vec<f64>> {
    let column = |distances: &Vec<f64>| {
        let kernel = |&distance: &f64| exp_of_negative(-gamma * distance);
        distances.iter().map(kernel).collect()
    };
    // One more label needs one column.
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

/// The sum Σ α_i exp(−γ |x − x_i|²) at any row x, rounded as in training. Prepared once for rows that are scored in
/// small batches.
#[derive(Debug)]
pub(super) struct PreparedSum {
    gamma: f64,
    /// New number of each column; `None` for columns that no term has, which count in the norms only.
    place_of_column: Vec<Option<u32>>,
    groups: Vec<(KernelSources, Vec<f64>)>,
}

impl PreparedSum {
    pub(super) fn new(gamma: f64, terms: &[SupportVector], num_columns: usize) -> Result<Self> {
        let norms = squared_norms(terms.iter().map(|term| term.row.as_ref()));
        check_norms(&norms)?;
        let mut is_used = vec![false; num_columns];
        for column in terms.iter().flat_map(|term| &term.row.columns) {
            if let Some(is_used) = is_used.get_mut(*column as usize) {
                *is_used = true;
            }
        }
        let mut num_used = 0;
        let place_of_column: Vec<Option<u32>> = is_used
            .into_iter()
            .map(|is_used| {
                let index = num_used;
                num_used += u32::from(is_used);
                is_used.then_some(index)
            })
            .collect();
        let rows = terms.iter().map(|term| term.row.clone());
        let rows = Rows::Sparse(SparseRows::new(num_columns, rows)?).within(&place_of_column);
        let groups = terms.chunks(LANES).enumerate().map(|(group, terms)| {
            let first = group * LANES;
            let indices = first..first + terms.len();
            let sources = indices.map(|index| (rows.row(index), norms[index]));
            let alphas = terms.iter().map(|term| term.alpha).collect();
            (KernelSources::new(num_used as usize, sources), alphas)
        });
        Ok(Self {
            gamma,
            groups: groups.collect(),
            place_of_column,
        })
    }

    pub(super) fn at(&self, rows: &Rows, progress: Progress<'_>) -> Result<Vec<f64>> {
        let rows = &rows.within(&self.place_of_column);
        let mut sums = vec![0; rows.len()];
        let steps = self.groups.iter().map(|(sources, alphas)| {
            let moves = alphas.iter().map(|&alpha| (0.0, alpha)).collect();
            (sources, moves)
        });
        add_steps(
            &mut sums,
            rows,
            self.gamma,
            &steps.collect::<Vec<_>>(),
            progress,
        )?;
        Ok(sums.into_iter().map(from_scaled).collect())
    }
}

/// A change of a factor.
pub(super) struct FactorChange<'a> {
    pub(super) row: RowRef<'a>,
    pub(super) old: f64,
    pub(super) new: f64,
}

/// Adds the effect of `changes` of factors to the sums of kernels at all rows, which are multiples of 2⁻⁵⁰ as in
/// [`super::expansion::Expansion`]: they depend on the factors alone, not on the order of changes. Shape `[n_rows]`.
pub(super) fn change_sums(
    sums: &mut [i64],
    rows: &Rows,
    gamma: f64,
    changes: &[FactorChange<'_>],
    progress: Progress<'_>,
) -> Result<()> {
    let source_bytes = LANES * size_of::<f64>() * rows.num_columns().max(1);
    let batch_len = LANES * (MAX_SOURCE_BYTES / source_bytes).max(1);
    let part = |batch: usize| fraction(batch * batch_len, changes.len()).min(1.0);
    for (batch, changes) in changes.chunks(batch_len).enumerate() {
        let progress = progress.part(part(batch), part(batch + 1));
        change_sums_by_batch(sums, rows, gamma, changes, progress)?;
    }
    Ok(())
}

fn change_sums_by_batch(
    sums: &mut [i64],
    rows: &Rows,
    gamma: f64,
    changes: &[FactorChange<'_>],
    progress: Progress<'_>,
) -> Result<()> {
    let norms = squared_norms(changes.iter().map(|change| change.row));
    check_norms(&norms)?;
    let sources = changes.chunks(LANES).zip(norms.chunks(LANES));
    let sources: Vec<KernelSources> = sources
        .map(|(changes, norms)| {
            let sources = changes.iter().map(|it| it.row).zip(norms.iter().copied());
            KernelSources::new(rows.num_columns(), sources)
        })
        .collect();
    let moves = |changes: &[FactorChange<'_>]| {
        let moves = changes.iter().map(|change| (change.old, change.new));
        moves.collect()
    };
    let steps: Vec<Step<'_>> = sources
        .iter()
        .zip(changes.chunks(LANES).map(moves))
        .collect();
    add_steps(sums, rows, gamma, &steps, progress)
}

/// Rows that kernels are computed from, and the old and new factor of each.
type Step<'a> = (&'a KernelSources, Vec<(f64, f64)>);

fn add_steps(
    sums: &mut [i64],
    rows: &Rows,
    gamma: f64,
    steps: &[Step<'_>],
    progress: Progress<'_>,
) -> Result<()> {
    let vectors = pulp::Arch::new();
    let num_done = AtomicUsize::new(0);
    let num_rows = rows.len();
    let run = |(task, sums): (usize, &mut [i64])| {
        let first = task * ROWS_PER_TASK;
        let mut kernel = vec![0.0; LANES * sums.len()];
        for (sources, moves) in steps {
            let mut chunks: Vec<&mut [f64]> =
                kernel.chunks_mut(sums.len()).take(moves.len()).collect();
            vectors.dispatch(Fill {
                rows,
                gamma,
                from: sources,
                row_of: |index: usize| first + index,
                chunks: &mut chunks,
            });
            for (&(old, new), chunk) in moves.iter().zip(&chunks) {
                vectors.dispatch(AlphaMove {
                    f: &mut *sums,
                    old,
                    new,
                    kernel_row: chunk,
                });
            }
        }
        let num_done = num_done.fetch_add(sums.len(), Ordering::Relaxed) + sums.len();
        progress.at(fraction(num_done, num_rows))
    };
    let tasks = sums.par_chunks_mut(ROWS_PER_TASK).enumerate();
    Ok(tasks.try_for_each(run)?)
}

fn squared_norms<'a>(rows: impl Iterator<Item = RowRef<'a>>) -> Vec<f64> {
    rows.map(RowRef::squared_norm).collect()
}
