//! Sums of kernels at all training rows.

use std::collections::BTreeMap;

use callgrove_model::Progress;

use super::expansion::from_scaled;
use super::kernel_sum::{FactorChange, change_sums};
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;

/// f(x) = Σ α_i exp(−γ |x − x_i|²) of all rows x, as multiples of 2⁻⁵⁰.
#[derive(Clone, Debug, Default)]
pub(super) struct RowSums {
    /// α by row.
    alpha: BTreeMap<usize, f64>,
    /// f in multiples of 2⁻⁵⁰, shape `[n_rows]`.
    scaled_f: Vec<i64>,
}

impl RowSums {
    /// Returns sums with α = 0 everywhere.
    pub(super) fn zero(num_rows: usize) -> Self {
        Self {
            alpha: BTreeMap::new(),
            scaled_f: vec![0; num_rows],
        }
    }

    /// Returns f of all rows in order.
    pub(super) fn all_f(&self) -> Vec<f64> {
        self.scaled_f.iter().map(|&f| from_scaled(f)).collect()
    }

    /// Returns rows and their α in ascending order.
    pub(super) fn factors(&self) -> impl Iterator<Item = (usize, f64)> {
        self.alpha.iter().map(|(&row, &alpha)| (row, alpha))
    }

    /// Replaces the α > 0 by row; updates f by those that differ.
    pub(super) fn change_to(
        &mut self,
        alpha: BTreeMap<usize, f64>,
        rows: &Rows,
        gamma: f64,
        progress: Progress<'_>,
    ) -> Result<()> {
        let gone = self.alpha.keys().filter(|row| !alpha.contains_key(row));
        let changes: Vec<FactorChange<'_>> = gone
            .map(|&row| (row, 0.0))
            .chain(alpha.iter().map(|(&row, &alpha)| (row, alpha)))
            .map(|(row, new)| FactorChange {
                row: rows.row(row),
                old: self.alpha.get(&row).copied().unwrap_or(0.0),
                new,
            })
            .filter(|change| change.old.to_bits() != change.new.to_bits())
            .collect();
        change_sums(&mut self.scaled_f, rows, gamma, &changes, progress)?;
        self.alpha = alpha;
        Ok(())
    }
}
