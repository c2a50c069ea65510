//! The dual problem over distinct rows.

use super::params::ValidOcsvmParams;
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::{MlError, Result};

/// Relative tolerance within which Σ u equals C: then every α is at its bound.
const EQUALITY_TOLERANCE: f64 = 1e-12;

/// The groups of equal rows; depends on the rows only.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    distinct_of: Vec<u32>,
    row_of: Vec<u32>,
}

/// The upper bounds u/C, summed over equal rows.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct UpperBounds {
    pub(super) upper: Vec<f64>,
    /// The bound of a row of weight 1.
    pub(super) unit: f64,
    /// True if the bounds determine all α.
    pub(super) is_tight: bool,
}

impl Problem {
    /// Merges equal rows. With γ = 0 the kernel is 1 everywhere: all rows are equal.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rows are counted in 32 bits"
    )]
    pub(super) fn new(rows: &Rows, gamma: f64) -> Self {
        let first_equal = if gamma > 0.0 {
            rows.first_equal()
        } else {
            vec![0; rows.len()]
        };
        let mut distinct_of: Vec<u32> = Vec::with_capacity(rows.len());
        let mut row_of = Vec::new();
        for (row, &first) in first_equal.iter().enumerate() {
            if first == row {
                distinct_of.push(row_of.len() as u32);
                row_of.push(row as u32);
            } else {
                distinct_of.push(distinct_of[first]);
            }
        }
        Self {
            distinct_of,
            row_of,
        }
    }

    pub(super) fn num_distinct(&self) -> usize {
        self.row_of.len()
    }

    /// Returns the first row of a distinct row.
    pub(super) fn row_of(&self, distinct: usize) -> usize {
        self.row_of[distinct] as usize
    }

    /// Returns the distinct row that a row equals.
    pub(super) fn distinct_of(&self, row: usize) -> usize {
        self.distinct_of[row] as usize
    }

    /// Checks the weights and sums their bounds.
    pub(super) fn bounds(&self, weights: &[f64], params: &ValidOcsvmParams) -> Result<UpperBounds> {
        check_weights(weights, self.distinct_of.len())?;
        let weight_sum: f64 = weights.iter().sum();
        if weight_sum <= 0.0 {
            return Err(MlError::NoPositiveWeight);
        }
        let c = params.c();
        if weight_sum < c * (1.0 - EQUALITY_TOLERANCE) {
            return Err(MlError::Infeasible { weight_sum, c });
        }
        let mut upper = vec![0.0; self.num_distinct()];
        for (row, weight) in weights.iter().enumerate() {
            upper[self.distinct_of(row)] += weight / c;
        }
        Ok(UpperBounds {
            upper,
            unit: 1.0 / c,
            is_tight: weight_sum <= c * (1.0 + EQUALITY_TOLERANCE),
        })
    }
}

/// Returns an error unless there is one finite weight from 0 on for each row.
pub(super) fn check_weights(weights: &[f64], num_rows: usize) -> Result<()> {
    if weights.len() != num_rows {
        return Err(MlError::LengthMismatch {
            what: "weights",
            expected: num_rows,
            found: weights.len(),
        });
    }
    let is_bad = |weight: &f64| !weight.is_finite() || *weight < 0.0;
    match weights.iter().position(is_bad) {
        Some(row) => Err(MlError::BadNumber {
            what: "the weight",
            row,
        }),
        None => Ok(()),
    }
}
